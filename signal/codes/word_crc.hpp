// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// Cyclic redundancy checks of TS 38.212, 5.1: the remainder of the bits as a polynomial, the first bit its highest
/// power; no initial value, no final xor.
namespace iqd {

enum class WordCrc : std::uint8_t { none, crc16, crc24a, crc24b };
std::span<const std::string_view> enum_names(WordCrc);

/// The polynomial without its highest power, x^bits; no bits for none.
struct CrcPolynomial {
  int bits;
  std::uint32_t taps;

  /// The remainder times x.
  constexpr std::uint32_t shifted(std::uint32_t remainder) const noexcept {
    const bool carry = (remainder >> (bits - 1) & 1) != 0;
    return ((remainder << 1) & ((1u << bits) - 1)) ^ (carry ? taps : 0);
  }
};
constexpr CrcPolynomial polynomial_of(WordCrc crc) noexcept {
  switch (crc) {
    case WordCrc::crc16: return {16, 0x1021};
    case WordCrc::crc24a: return {24, 0x864cfb};
    case WordCrc::crc24b: return {24, 0x800063};
    case WordCrc::none: break;
  }
  return {0, 0};
}
constexpr int bits_of(WordCrc crc) noexcept {
  return polynomial_of(crc).bits;
}

std::uint32_t crc_of(WordCrc crc, std::span<const std::uint8_t> bits) noexcept;
/// What each bit of a word contributes, of `bits` bits, CRC included; empty for none. The CRC holds if the sum (xor)
/// over the bits that are 1 is 0; the contribution of the CRC's own bits is the bit itself. Inline for CUDA halves.
inline std::vector<std::uint32_t> crc_weights(WordCrc crc, int bits) {
  const CrcPolynomial polynomial = polynomial_of(crc);
  if (polynomial.bits == 0) return {};
  std::vector<std::uint32_t> weights(static_cast<std::size_t>(bits));
  std::uint32_t weight = 1;  // x^0, of the last bit
  for (auto w = weights.rbegin(); w != weights.rend(); ++w) {
    *w = weight;
    weight = polynomial.shifted(weight);
  }
  return weights;
}

}  // namespace iqd
