// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/word_crc.hpp"

namespace iqd {

std::span<const std::string_view> enum_names(WordCrc) {
  static constexpr std::string_view kNames[] = {"none", "16", "24a", "24b"};
  return kNames;
}

std::uint32_t crc_of(WordCrc crc, std::span<const std::uint8_t> bits) noexcept {
  const CrcPolynomial polynomial = polynomial_of(crc);
  if (polynomial.bits == 0) return 0;
  std::uint32_t remainder = 0;
  for (const std::uint8_t bit : bits)
    remainder = polynomial.shifted(remainder ^ (std::uint32_t{bit & 1u} << (polynomial.bits - 1)));
  return remainder;
}

}  // namespace iqd
