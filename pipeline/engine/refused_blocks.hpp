// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace iqd {

/// Which of a pipeline's last blocks count as refused. Several outlets may lose the same block, at different times and
/// even after another engine has taken over; it counts once. Any thread.
class RefusedBlocks {
 public:
  static constexpr std::uint64_t kMost = 65536;

  /// A new block takes the place of a much older one.
  void begin(std::uint64_t block) noexcept { word(block).fetch_and(~bit(block), std::memory_order_relaxed); }
  /// Returns false if it counts already.
  bool add(std::uint64_t block) noexcept {
    return (word(block).fetch_or(bit(block), std::memory_order_relaxed) & bit(block)) == 0;
  }

 private:
  static std::uint64_t bit(std::uint64_t block) noexcept { return std::uint64_t{1} << block % 64; }
  std::atomic<std::uint64_t>& word(std::uint64_t block) noexcept {
    return words_[static_cast<std::size_t>(block % kMost / 64)];
  }

  std::array<std::atomic<std::uint64_t>, kMost / 64> words_{};
};

}  // namespace iqd
