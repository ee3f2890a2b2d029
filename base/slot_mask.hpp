// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cassert>
#include <cstdint>

namespace iqd {

/// Up to 64 slots that any thread can acquire and release without a lock.
class SlotMask {
 public:
  static constexpr int kMost = 64;

  explicit SlotMask(int slots) noexcept : free_(slots >= kMost ? ~0ull : (1ull << slots) - 1), slots_(slots) {
    assert(slots > 0 && slots <= kMost);
  }

  /// A free slot, the first from `preferred` on, or -1.
  int try_acquire(int preferred = 0) noexcept {
    std::uint64_t mask = free_.load(std::memory_order_acquire);
    while (mask) {
      const std::uint64_t from_there = mask >> preferred << preferred;
      const int slot = std::countr_zero(from_there ? from_there : mask);
      if (free_.compare_exchange_weak(mask, mask & ~(1ull << slot), std::memory_order_acq_rel)) return slot;
    }
    return -1;
  }
  void release(int slot) noexcept {
    [[maybe_unused]] const auto before = free_.fetch_or(1ull << slot, std::memory_order_acq_rel);
    assert(!(before & (1ull << slot)) && "a slot was given back twice");
  }
  int available() const noexcept { return std::popcount(free_.load(std::memory_order_acquire)); }
  int slots() const noexcept { return slots_; }

 private:
  std::atomic<std::uint64_t> free_;
  int slots_;
};

}  // namespace iqd
