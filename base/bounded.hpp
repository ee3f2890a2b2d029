// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace iqd {

/// Sums and products of numbers that are not negative; what an integer does not hold is the largest that it holds.
template <std::integral T> constexpr T bounded_sum(T a, T b) noexcept {
  T sum{};
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<T>::max() : sum;
}
template <std::integral T> constexpr T bounded_product(T a, T b) noexcept {
  T product{};
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<T>::max() : product;
}
/// The bytes of so many of that size.
constexpr std::size_t bounded_bytes(std::int64_t count, std::size_t each) noexcept {
  return count <= 0 ? 0 : bounded_product(static_cast<std::size_t>(count), each);
}

}  // namespace iqd
