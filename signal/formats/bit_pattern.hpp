// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace iqd {

/// What is behind a prefix, and how many bits each digit writes.
struct BitDigits {
  std::string_view text;
  int bits_each;
};
inline BitDigits digits_of(std::string_view text) noexcept {
  if (text.starts_with("0b")) return {text.substr(2), 1};
  return {text.starts_with("0x") || text.starts_with("0X") ? text.substr(2) : text, 4};
}

/// The bits that a text writes, first bit first: hexadecimal digits, `2dd4` or `0x2dd4`, or bits, `0b0110`. A leading
/// `0b` always means bits; nothing for any other text.
std::optional<std::vector<std::uint8_t>> read_bits(std::string_view text);

/// How many bits such a text writes.
inline std::int64_t bit_count(std::string_view text) noexcept {
  const BitDigits digits = digits_of(text);
  return digits.bits_each * static_cast<std::int64_t>(digits.text.size());
}

}  // namespace iqd
