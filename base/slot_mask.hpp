// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace iqd {

/// Slots that any thread can acquire and release without a lock.
class SlotMask {
 public:
  static constexpr int kMost = 512;

  explicit SlotMask(int slots) noexcept : slots_(slots) {
    assert(slots >= 0 && slots <= kMost);
    for (int s = 0; s < slots; ++s) word(s).fetch_or(bit(s), std::memory_order_relaxed);
  }

  /// A free slot, the first from `preferred` on, or -1.
  int try_acquire(int preferred = 0) noexcept {
    const int first = preferred / kBits;
    for (int w = first; w < words(); ++w)
      if (const int slot = try_word(w, w == first ? preferred % kBits : 0); slot >= 0) return slot;
    for (int w = 0; w <= first && w < words(); ++w)
      if (const int slot = try_word(w, 0); slot >= 0) return slot;
    return -1;
  }
  void release(int slot) noexcept {
    [[maybe_unused]] const auto before = word(slot).fetch_or(bit(slot), std::memory_order_acq_rel);
    assert(!(before & bit(slot)) && "a slot was given back twice");
  }
  int available() const noexcept {
    int free = 0;
    for (int w = 0; w < words(); ++w)
      free += std::popcount(free_[static_cast<std::size_t>(w)].load(std::memory_order_acquire));
    return free;
  }
  int slots() const noexcept { return slots_; }

 private:
  static constexpr int kBits = 64;

  static std::uint64_t bit(int slot) noexcept { return 1ull << (slot % kBits); }
  std::atomic<std::uint64_t>& word(int slot) noexcept { return free_[static_cast<std::size_t>(slot / kBits)]; }
  int words() const noexcept { return (slots_ + kBits - 1) / kBits; }
  /// A free slot of one word, the first from `from` on.
  int try_word(int w, int from) noexcept {
    std::atomic<std::uint64_t>& free = free_[static_cast<std::size_t>(w)];
    std::uint64_t mask = free.load(std::memory_order_acquire);
    while (const std::uint64_t candidates = mask >> from << from) {
      const int slot = std::countr_zero(candidates);
      if (free.compare_exchange_weak(mask, mask & ~(1ull << slot), std::memory_order_acq_rel)) return w * kBits + slot;
    }
    return -1;
  }

  std::array<std::atomic<std::uint64_t>, kMost / kBits> free_{};
  int slots_;
};

}  // namespace iqd
