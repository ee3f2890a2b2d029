// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/bell.hpp"
#include "base/block.hpp"
#include "base/clock.hpp"

namespace iqd {

/// Counts an engine's blocks: offered, computed, sent. One thread offers, one thread computes and sends; any may read.
class BlockLedger {
 public:
  explicit BlockLedger(std::uint64_t most_outstanding) : window_begin_(most_outstanding) {}

  /// How many blocks may be outstanding: as many as a ring of so many samples holds, within limits; those that wait for
  /// their `future`, which are all complete when a gap ends it; and as many of those that follow.
  static std::uint64_t most_outstanding(std::int64_t block, std::int64_t future, std::int64_t ring_samples) noexcept {
    constexpr std::int64_t kFewest = 256, kMany = 4096;
    const std::int64_t waiting = (future + block - 1) / block;
    return static_cast<std::uint64_t>(std::clamp(ring_samples / block, kFewest, kMany) + 2 * waiting);
  }

  /// Gives the block its number.
  void offer(SampleBlock& block) noexcept {
    block.seq = offered_.load(std::memory_order_relaxed);
    window_begin_[block.seq % window_begin_.size()] = block.place() - block.past;
    if (block.seq == computed_.load(std::memory_order_relaxed))
      moved_ns_.store(block.received_ns, std::memory_order_relaxed);
    offered_.store(block.seq + 1, std::memory_order_release);
  }
  /// The samples of the oldest block are no longer needed.
  void computed() noexcept {
    moved_ns_.store(steady_ns(), std::memory_order_relaxed);
    computed_.fetch_add(1, std::memory_order_acq_rel);
    room_.ring();
  }
  void sent() noexcept { sent_.fetch_add(1, std::memory_order_release); }

  std::int64_t offers_left() const noexcept {
    return static_cast<std::int64_t>(window_begin_.size() -
                                     (offered_.load() - computed_.load(std::memory_order_acquire)));
  }
  /// For the thread that offers: the place of the first sample that an outstanding block still needs, or `idle` if that
  /// comes first or no block is outstanding.
  SampleIndex tail(SampleIndex idle) const noexcept {
    const std::uint64_t computed = computed_.load(std::memory_order_acquire);
    if (computed == offered_.load(std::memory_order_relaxed)) return idle;
    return std::min(idle, window_begin_[computed % window_begin_.size()]);
  }
  /// Rings whenever `tail` or `offers_left` may have changed.
  Bell& room() noexcept { return room_; }
  std::uint64_t offers() const noexcept { return offered_.load(std::memory_order_relaxed); }
  std::uint64_t sends() const noexcept { return sent_.load(std::memory_order_acquire); }
  bool all_computed() const noexcept { return computed_.load() == offered_.load(std::memory_order_acquire); }
  /// Nanoseconds since a block was last computed, at least one, while some are outstanding; else 0.
  std::int64_t unfinished_ns() const noexcept {
    if (all_computed()) return 0;
    // Another block may be computed now, so the clock is read last.
    const std::int64_t moved_ns = moved_ns_.load(std::memory_order_acquire);
    return std::max<std::int64_t>(steady_ns() - moved_ns, 1);
  }

 private:
  std::vector<SampleIndex> window_begin_;  // where each block's window begins, by seq
  std::atomic<std::uint64_t> offered_{0};
  std::atomic<std::uint64_t> computed_{0};
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::int64_t> moved_ns_{0};
  Bell room_;
};

}  // namespace iqd
