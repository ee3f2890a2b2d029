// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/views.hpp"

namespace iqd {

/// Positions first … end-1; none if the end is not behind the first.
struct Positions {
  std::int64_t first = 0;
  std::int64_t end = 0;

  IQD_HOST_DEVICE constexpr std::int64_t length() const noexcept { return end > first ? end - first : 0; }
  IQD_HOST_DEVICE constexpr bool has(std::int64_t n) const noexcept { return n >= first && n < end; }
  /// How many of the positions from … to-1 are among them.
  IQD_HOST_DEVICE constexpr std::int64_t common(std::int64_t from, std::int64_t to) const noexcept {
    return Positions{from > first ? from : first, to < end ? to : end}.length();
  }
};

}  // namespace iqd
