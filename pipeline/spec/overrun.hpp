// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace iqd {

/// What happens when there is no room for samples: they are dropped, or the source waits.
enum class Overrun : std::uint8_t { drop, wait };
inline std::span<const std::string_view> enum_names(Overrun) {
  static constexpr std::string_view names[] = {"drop", "wait"};
  return names;
}

}  // namespace iqd
