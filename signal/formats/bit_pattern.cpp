// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/bit_pattern.hpp"

namespace iqd {
namespace {

/// -1 if it is no hexadecimal digit.
int value_of(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<std::vector<std::uint8_t>> read_bits(std::string_view text) {
  const BitDigits digits = digits_of(text);
  std::vector<std::uint8_t> bits;
  for (const char digit : digits.text) {
    const int value = value_of(digit);
    if (value < 0 || value >= 1 << digits.bits_each) return std::nullopt;
    for (int bit = digits.bits_each - 1; bit >= 0; --bit) bits.push_back(static_cast<std::uint8_t>(value >> bit & 1));
  }
  return bits;
}

}  // namespace iqd
