// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/views.hpp"

/// The frames of simple radios, remote controls and sensors: a known pattern of chips, then bytes whose bits are a few
/// chips each, the last bytes a checksum. A chip is the shortest element sent: carrier on or off, or one of two
/// frequencies.
namespace iqd {

enum class CrcName : std::uint8_t { none, crc8, crc8_31, crc16_ccitt, crc16_cc1101, crc32 };
inline std::span<const std::string_view> enum_names(CrcName) {
  static constexpr std::string_view names[] = {"none", "crc8", "crc8_31", "crc16_ccitt", "crc16_cc1101", "crc32"};
  return names;
}

/// A checksum, computed byte by byte. Reflected ones take the lowest bit first and are sent lowest byte first; the
/// others the other way round.
struct Crc {
  int bytes = 0;  // 0: there is none
  std::uint32_t polynomial = 0;
  std::uint32_t initial = 0;
  std::uint32_t final_xor = 0;
  bool reflected = false;

  IQD_HOST_DEVICE constexpr std::uint32_t add(std::uint32_t state, std::uint8_t byte) const noexcept {
    const std::uint32_t top = bytes == 0 ? 0 : 1u << (8 * bytes - 1);
    state ^= reflected || bytes == 0 ? byte : static_cast<std::uint32_t>(byte) << (8 * (bytes - 1));
    for (int b = 0; b < 8; ++b)
      if (reflected)
        state = state >> 1 ^ ((state & 1) != 0 ? polynomial : 0);
      else
        state = state << 1 ^ ((state & top) != 0 ? polynomial : 0);
    return state & (top | (top - 1));
  }
  /// Byte i of the checksum in transmission order.
  IQD_HOST_DEVICE constexpr std::uint8_t byte_of(std::uint32_t state, int i) const noexcept {
    return static_cast<std::uint8_t>((state ^ final_xor) >> 8 * (reflected ? i : bytes - 1 - i));
  }
};
constexpr Crc crc_of(CrcName name) noexcept {
  switch (name) {
    case CrcName::crc8: return {1, 0x07, 0, 0, false};
    case CrcName::crc8_31: return {1, 0x31, 0, 0, false};
    case CrcName::crc16_ccitt: return {2, 0x1021, 0xffff, 0, false};
    case CrcName::crc16_cc1101: return {2, 0x8005, 0xffff, 0, false};
    case CrcName::crc32: return {4, 0xedb88320, 0xffffffff, 0xffffffff, true};
    case CrcName::none: break;
  }
  return {};
}

/// The structure of a frame. Chips are 0 or 1, one byte each.
struct FrameFormat {
  std::vector<std::uint8_t> pattern;     // preamble and sync word
  std::vector<std::uint8_t> zero = {0};  // the chips of a bit; zero and one have the same length
  std::vector<std::uint8_t> one = {1};
  bool has_length = true;   // the first byte after the pattern is the number of payload bytes
  bool lsb_first = false;   // in each byte
  std::int64_t bytes = 64;  // of payload; with has_length the maximum
  Crc crc;                  // of length and payload

  /// Including length and checksum.
  std::int64_t most_bytes() const noexcept { return (has_length ? 1 : 0) + bytes + crc.bytes; }
  std::int64_t chips(std::int64_t of_bytes) const noexcept {
    return std::ssize(pattern) + 8 * of_bytes * std::ssize(one);
  }
};

/// A frame as sent. `payload` has `format.bytes` bytes, with has_length 1 … `format.bytes`.
std::vector<std::uint8_t> chips_of(const FrameFormat& format, std::span<const std::uint8_t> payload);

/// Chips from `2dd4` or `0x2dd4`, four per digit, or from `0b0110`, one per digit; empty for any other text.
std::vector<std::uint8_t> read_chips(std::string_view text);

}  // namespace iqd
