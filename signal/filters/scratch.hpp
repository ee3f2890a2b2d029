// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace iqd {

/// Allocates a lane's scratch memory in pieces at 64-byte boundaries. On a null pointer it only counts, so the code
/// that takes the pieces also computes the size needed.
class Scratch {
 public:
  static constexpr std::size_t kAlignment = 64;

  explicit Scratch(std::byte* memory) : at_(reinterpret_cast<std::uintptr_t>(memory)), start_(at_) {}

  template <class T> T* take(std::int64_t count) noexcept {
    at_ = (at_ + kAlignment - 1) / kAlignment * kAlignment;
    T* const piece = reinterpret_cast<T*>(at_);
    at_ += static_cast<std::size_t>(count) * sizeof(T);
    return piece;
  }
  template <class T> std::span<T> take_span(std::int64_t count) noexcept {
    return {take<T>(count), static_cast<std::size_t>(count)};
  }
  std::byte* take_bytes(std::size_t count) noexcept { return take<std::byte>(static_cast<std::int64_t>(count)); }
  /// Bytes taken, plus room for an unaligned start.
  std::size_t bytes() const noexcept { return at_ - start_ + kAlignment; }

 private:
  std::uintptr_t at_;
  std::uintptr_t start_;
};

}  // namespace iqd
