// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace iqd::warp_node {

using Datagram = std::vector<std::uint8_t>;

inline constexpr std::size_t kArguments = 22;  // they begin here in a packet

/// Reads big-endian fields at any offset; beyond the end it reads zeros.
class Fields {
 public:
  explicit Fields(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::uint32_t u8(std::size_t at) const { return at < bytes_.size() ? bytes_[at] : 0; }
  std::uint32_t u16(std::size_t at) const { return u8(at) << 8 | u8(at + 1); }
  std::uint32_t u32(std::size_t at) const { return u16(at) << 16 | u16(at + 2); }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// Appends big-endian fields.
class Writer {
 public:
  Writer& u8(std::uint32_t v) {
    bytes.push_back(static_cast<std::uint8_t>(v));
    return *this;
  }
  Writer& u16(std::uint32_t v) { return u8(v >> 8).u8(v); }
  Writer& u32(std::uint32_t v) { return u16(v >> 16).u16(v); }

  Datagram bytes;
};

}  // namespace iqd::warp_node
