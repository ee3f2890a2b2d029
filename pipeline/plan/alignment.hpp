// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "base/integer.hpp"

namespace iqd {

/// Windows, ports and outputs begin at multiples of this many bytes.
inline constexpr std::size_t kPortAlign = 128;

constexpr std::size_t port_aligned(std::size_t bytes) noexcept {
  return bounded_sum(bytes, kPortAlign - 1) / kPortAlign * kPortAlign;
}

}  // namespace iqd
