// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace iqd {

constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b - (a % b != 0 && (a ^ b) < 0);
}
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return -floor_div(-a, b);
}

/// For numbers from outside: a sum or difference that does not fit becomes the nearest number that does.
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

/// Sums and products of numbers that are not negative, limited to the largest integer.
template <std::integral T> constexpr T bounded_sum(T a, T b) noexcept {
  T sum{};
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<T>::max() : sum;
}
template <std::integral T> constexpr T bounded_product(T a, T b) noexcept {
  T product{};
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<T>::max() : product;
}
/// The bytes of `count` elements of size `each`.
constexpr std::size_t bounded_bytes(std::int64_t count, std::size_t each) noexcept {
  return count <= 0 ? 0 : bounded_product(static_cast<std::size_t>(count), each);
}

/// a b / c rounded down, for numbers that are not negative; a b may be of any size, the result has to fit.
constexpr std::int64_t mul_div(std::int64_t a, std::int64_t b, std::int64_t c) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::int64_t>(static_cast<Wide>(a) * static_cast<Wide>(b) / static_cast<Wide>(c));
}
/// The same, rounded up.
constexpr std::int64_t mul_div_up(std::int64_t a, std::int64_t b, std::int64_t c) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::int64_t>((static_cast<Wide>(a) * static_cast<Wide>(b) + static_cast<Wide>(c - 1)) /
                                   static_cast<Wide>(c));
}

}  // namespace iqd
