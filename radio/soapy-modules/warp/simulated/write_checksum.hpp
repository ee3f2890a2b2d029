// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace iqd::warp_node {

/// The checksum of a write that may consist of several packets, as a node computes it. One thread.
class WriteChecksum {
 public:
  /// A write with this id begins.
  void begin(std::uint32_t id) noexcept {
    id_ = id;
    s1_ = s2_ = 0;
  }
  void add(std::uint32_t x) noexcept {
    s1_ = static_cast<std::uint32_t>((std::uint64_t{s1_} + x) % 65535);
    s2_ = (s2_ + s1_) % 65535;
  }
  std::uint32_t id() const noexcept { return id_; }
  std::uint32_t value() const noexcept { return s2_ << 16 | s1_; }

 private:
  std::uint32_t id_ = 0, s1_ = 0, s2_ = 0;
};

}  // namespace iqd::warp_node
