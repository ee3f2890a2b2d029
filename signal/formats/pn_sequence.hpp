// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace iqd {

/// The pseudo-random bits for bit error rate measurements (ITU-T O.150, not inverted), of order 9, 15 or 23:
///
///   PN9  x^9 + x^5 + 1     PN15  x^15 + x^14 + 1     PN23  x^23 + x^18 + 1:   b(n) = b(n - 18) ^ b(n - 23)
///
/// They begin with `order` ones, and repeat after 2^order - 1 bits. The state before bit n is the bits n … n + order -
/// 1, the first of them the highest: a receiver of `order` correct bits has a state. State 0 is invalid: it yields only
/// zeros.
class PnSequence {
 public:
  static constexpr int kLargestOrder = 23;

  explicit constexpr PnSequence(int order) noexcept : order_(order), tap_(order == 9 ? 5 : order == 15 ? 14 : 18) {
    for (int b = 0; b < order_; ++b) power(0, b) = next(1u << b);
    for (int i = 1; i < order_; ++i)
      for (int b = 0; b < order_; ++b) power(i, b) = after_power(i - 1, power(i - 1, b));
  }

  constexpr int order() const noexcept { return order_; }
  /// b(n) = b(n - tap) ^ b(n - order)
  constexpr int tap() const noexcept { return tap_; }
  constexpr std::int64_t period() const noexcept { return (std::int64_t{1} << order_) - 1; }
  /// All bits of a state; also the state before bit 0.
  constexpr std::uint32_t mask() const noexcept { return (1u << order_) - 1; }

  /// Bit n, from the state before it.
  constexpr std::uint32_t bit(std::uint32_t state) const noexcept { return state >> (order_ - 1) & 1; }
  /// The state one bit later.
  constexpr std::uint32_t next(std::uint32_t state) const noexcept {
    return (state << 1 | ((state >> (order_ - 1) ^ state >> (tap_ - 1)) & 1)) & mask();
  }
  /// The state n bits later, or earlier if n is negative; at most some 300 operations.
  constexpr std::uint32_t advance(std::uint32_t state, std::int64_t n) const noexcept {
    n %= period();
    if (n < 0) n += period();
    for (int i = 0; n != 0; ++i, n >>= 1)
      if (n & 1) state = after_power(i, state);
    return state;
  }
  constexpr std::uint32_t state_at(std::int64_t n) const noexcept { return advance(mask(), n); }

 private:
  /// A step is linear: powers_[i][b] is the result of 2^i steps from the state 1 << b.
  constexpr std::uint32_t& power(int i, int b) noexcept {
    return powers_[static_cast<std::size_t>(i)][static_cast<std::size_t>(b)];
  }
  constexpr std::uint32_t after_power(int i, std::uint32_t state) const noexcept {
    std::uint32_t sum = 0;
    for (; state != 0; state &= state - 1)
      sum ^= powers_[static_cast<std::size_t>(i)][static_cast<std::size_t>(std::countr_zero(state))];
    return sum;
  }

  int order_;
  int tap_;
  std::array<std::array<std::uint32_t, kLargestOrder>, kLargestOrder> powers_{};
};

/// The available sequences, as keys name them.
enum class PnName : std::uint8_t { pn9, pn15, pn23 };
inline std::span<const std::string_view> enum_names(PnName) {
  static constexpr std::string_view names[] = {"pn9", "pn15", "pn23"};
  return names;
}
constexpr int order_of(PnName name) noexcept {
  return name == PnName::pn9 ? 9 : name == PnName::pn15 ? 15 : 23;
}

}  // namespace iqd
