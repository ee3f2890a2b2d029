// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace iqd {

/// Which of a pipeline's last blocks count as refused. Several outlets may lose the same block, at different times and
/// even after another engine has taken over; it counts once. Samples that were published and then lost are owed: as
/// many of later blocks count as refused in their place, so that no counter goes back. Any thread.
class RefusedBlocks {
 public:
  static constexpr std::uint64_t kMost = 65536;

  /// A new block takes the place of a much older one.
  void begin(std::uint64_t block) noexcept { word(block).fetch_and(~bit(block), std::memory_order_relaxed); }
  /// Returns false if it counts already.
  bool add(std::uint64_t block) noexcept {
    return (word(block).fetch_or(bit(block), std::memory_order_relaxed) & bit(block)) == 0;
  }

  /// Published samples of `block` are lost; they are owed unless the block counts already.
  void owe(std::uint64_t block, std::int64_t samples) noexcept {
    if (add(block)) owed_ += samples;
  }
  /// Settles up to `most` samples that are owed; returns how many.
  std::int64_t settle(std::int64_t most) noexcept {
    std::int64_t owed = owed_;
    while (!owed_.compare_exchange_weak(owed, owed - std::min(owed, most))) {
    }
    return std::min(owed, most);
  }
  /// No block will follow that could count in the place of others.
  void end() noexcept { has_ended_ = true; }
  bool has_ended() const noexcept { return has_ended_; }

 private:
  static std::uint64_t bit(std::uint64_t block) noexcept { return std::uint64_t{1} << block % 64; }
  std::atomic<std::uint64_t>& word(std::uint64_t block) noexcept {
    return words_[static_cast<std::size_t>(block % kMost / 64)];
  }

  std::array<std::atomic<std::uint64_t>, kMost / 64> words_{};
  std::atomic<std::int64_t> owed_{0};
  std::atomic<bool> has_ended_{false};
};

}  // namespace iqd
