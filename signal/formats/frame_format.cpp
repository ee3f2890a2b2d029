// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/frame_format.hpp"

#include <cassert>

#include "signal/formats/bit_pattern.hpp"

namespace iqd {

std::vector<std::uint8_t> chips_of(const FrameFormat& format, std::span<const std::uint8_t> payload) {
  assert(std::ssize(payload) <= format.bytes && (format.has_length || std::ssize(payload) == format.bytes));
  std::vector<std::uint8_t> bytes;
  if (format.has_length) bytes.push_back(static_cast<std::uint8_t>(payload.size()));
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  std::uint32_t crc = format.crc.initial;
  for (const std::uint8_t byte : bytes) crc = format.crc.add(crc, byte);
  for (int i = 0; i < format.crc.bytes; ++i) bytes.push_back(format.crc.byte_of(crc, i));

  std::vector<std::uint8_t> chips = format.pattern;
  for (const std::uint8_t byte : bytes)
    for (int b = 0; b < 8; ++b) {
      const bool is_one = byte >> (format.lsb_first ? b : 7 - b) & 1;
      const auto& bit = is_one ? format.one : format.zero;
      chips.insert(chips.end(), bit.begin(), bit.end());
    }
  return chips;
}

std::vector<std::uint8_t> read_chips(std::string_view text) {
  return read_bits(text).value_or(std::vector<std::uint8_t>());
}

}  // namespace iqd
