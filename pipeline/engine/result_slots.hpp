// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <vector>

#include "base/outlet.hpp"
#include "base/slot_mask.hpp"

namespace iqd {

/// The slots that results lie in. Each is held by the block at work in it, and by every message that a reader has not
/// let go of; when the last of them gives it back it is free, and `freed` is called. Any thread may give back.
class ResultSlots {
 public:
  using Freed = void (*)(void* owner) noexcept;
  ResultSlots(int slots, Freed freed, void* owner)
      : free_(slots), holds_(static_cast<std::size_t>(slots)), freed_(freed), owner_(owner) {}

  /// A free slot, the first from `preferred` on, to be given back; or -1.
  int try_acquire(int preferred) noexcept {
    const int slot = free_.try_acquire(preferred);
    if (slot >= 0) holds(slot).store(1, std::memory_order_relaxed);
    return slot;
  }
  /// One more hold on a slot that is held.
  Lease lend(int slot) noexcept {
    holds(slot).fetch_add(1, std::memory_order_relaxed);
    return {[](void* slots, int s) noexcept { static_cast<ResultSlots*>(slots)->give_back(s); }, this, slot};
  }
  void give_back(int slot) noexcept {
    returning_.fetch_add(1, std::memory_order_acq_rel);
    if (holds(slot).fetch_sub(1, std::memory_order_acq_rel) == 1) {
      free_.release(slot);
      freed_(owner_);
    }
    returning_.fetch_sub(1, std::memory_order_acq_rel);  // the last touch
  }

  int slots() const noexcept { return free_.slots(); }
  int available() const noexcept { return free_.available(); }
  /// So few are left that readers had better not keep any.
  bool scarce() const noexcept { return available() * 4 < slots(); }
  /// Nobody holds one, nor is about to touch this.
  bool all_back() const noexcept { return available() == slots() && returning_.load(std::memory_order_acquire) == 0; }

 private:
  std::atomic<int>& holds(int slot) noexcept { return holds_[static_cast<std::size_t>(slot)]; }

  SlotMask free_;
  std::vector<std::atomic<int>> holds_;
  std::atomic<int> returning_{0};  // threads that give back a slot just now
  Freed freed_;
  void* owner_;
};

}  // namespace iqd
