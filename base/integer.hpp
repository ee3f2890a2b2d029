// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

namespace iqd {

constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b - (a % b != 0 && (a ^ b) < 0);
}
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return -floor_div(-a, b);
}

/// Of numbers that come from outside: where the sum or the difference does not fit, the nearest that does.
constexpr std::int64_t saturated_add(std::int64_t a, std::int64_t b) noexcept {
  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t sum = 0;
  return !__builtin_add_overflow(a, b, &sum) ? sum : b > 0 ? Limits::max() : Limits::min();
}
constexpr std::int64_t saturated_sub(std::int64_t a, std::int64_t b) noexcept {
  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t difference = 0;
  return !__builtin_sub_overflow(a, b, &difference) ? difference : b < 0 ? Limits::max() : Limits::min();
}

}  // namespace iqd
