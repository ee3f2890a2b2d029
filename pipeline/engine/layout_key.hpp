// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace iqd {

/// A key of the addresses, lengths and distances that a work is enqueued with.
class LayoutKey {
 public:
  void mix(std::uint64_t v) noexcept {
    key_ = (key_ ^ v) * 0xff51afd7ed558ccd;
    key_ ^= key_ >> 32;
  }
  void mix(std::int64_t v) noexcept { mix(static_cast<std::uint64_t>(v)); }
  void mix(const void* v) noexcept { mix(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(v))); }
  /// Never 0.
  std::uint64_t value() const noexcept { return key_ | 1; }

 private:
  std::uint64_t key_ = 0x9e3779b97f4a7c15;
};

}  // namespace iqd
