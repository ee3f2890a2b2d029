// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/crc.hpp"

#include <ranges>

namespace iqd {
namespace {

struct Polynomial {
  int bits;
  std::uint32_t taps;  // without the highest power
};

Polynomial polynomial_of(Crc crc) noexcept {
  switch (crc) {
    case Crc::crc16: return {16, 0x1021};
    case Crc::crc24a: return {24, 0x864cfb};
    case Crc::crc24b: return {24, 0x800063};
    case Crc::none: break;
  }
  return {0, 0};
}

/// The remainder times x.
std::uint32_t shifted(const Polynomial& p, std::uint32_t remainder) noexcept {
  const bool carry = (remainder >> (p.bits - 1) & 1) != 0;
  return ((remainder << 1) & ((1u << p.bits) - 1)) ^ (carry ? p.taps : 0);
}

}  // namespace

std::span<const std::string_view> enum_names(Crc) {
  static constexpr std::string_view kNames[] = {"none", "16", "24a", "24b"};
  return kNames;
}

int bits_of(Crc crc) noexcept {
  return polynomial_of(crc).bits;
}

std::uint32_t crc_of(Crc crc, std::span<const std::uint8_t> bits) noexcept {
  const Polynomial p = polynomial_of(crc);
  if (p.bits == 0) return 0;
  std::uint32_t remainder = 0;
  for (const std::uint8_t bit : bits) remainder = shifted(p, remainder ^ (std::uint32_t{bit & 1u} << (p.bits - 1)));
  return remainder;
}

std::vector<std::uint32_t> crc_weights(Crc crc, int bits) {
  const Polynomial p = polynomial_of(crc);
  if (p.bits == 0) return {};
  std::vector<std::uint32_t> weights(static_cast<std::size_t>(bits));
  std::uint32_t weight = 1;  // x^0, of the last bit
  for (std::uint32_t& w : std::views::reverse(weights)) {
    w = weight;
    weight = shifted(p, weight);
  }
  return weights;
}

}  // namespace iqd
