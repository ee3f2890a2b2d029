// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/views.hpp"

/// Square constellations with the Gray maps of 3GPP TS 38.211: bits 0, 2, 4 … of a symbol choose the real part, bits 1,
/// 3, 5 … the imaginary part, both in the same way. A symbol's number is its bits, the first the highest.
namespace iqd {

enum class Modulation : std::uint8_t { qpsk, qam16, qam64, qam256 };
inline std::span<const std::string_view> enum_names(Modulation) {
  static constexpr std::string_view names[] = {"qpsk", "16qam", "64qam", "256qam"};
  return names;
}
IQD_HOST_DEVICE constexpr int bits_of(Modulation m) noexcept {
  return 2 * (static_cast<int>(m) + 1);
}

namespace qam {

/// The odd number -(2^bits - 1) … 2^bits - 1 for the bits of one axis, the first of them the highest.
IQD_HOST_DEVICE constexpr int amplitude(int bits, unsigned label) noexcept {
  int a = 0;
  for (int b = 0; b < bits; ++b) {
    const int sign = (label >> b & 1) != 0 ? -1 : 1;
    a = sign * ((1 << b) - a);
  }
  return a;
}
/// The bits for place p = 0 … 2^bits - 1 in the order of amplitudes, 2 p - (2^bits - 1).
IQD_HOST_DEVICE constexpr unsigned label(int bits, int place) noexcept {
  unsigned found = 0;
  int a = 2 * place - ((1 << bits) - 1);
  for (int b = bits - 1; b >= 0; --b) {
    const bool negative = a < 0;
    found |= static_cast<unsigned>(negative) << b;
    a = (1 << b) - (negative ? -a : a);
  }
  return found;
}
/// Interleaves the bits of both axes to a symbol's number.
IQD_HOST_DEVICE constexpr unsigned weave(int bits, unsigned real, unsigned imag) noexcept {
  unsigned symbol = 0;
  for (int b = bits - 1; b >= 0; --b) symbol = symbol << 2 | (real >> b & 1) << 1 | (imag >> b & 1);
  return symbol;
}
/// The mean power of a symbol with odd numbers on both axes: a symbol of power 1 is (re, im) / sqrt(power).
IQD_HOST_DEVICE constexpr int power(int bits) noexcept {
  return 2 * ((1 << 2 * bits) - 1) / 3;
}

}  // namespace qam
}  // namespace iqd
