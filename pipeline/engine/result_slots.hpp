// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <vector>

#include "base/outlet.hpp"
#include "base/slot_mask.hpp"

namespace iqd {

/// The slots for results. Each is held by the block that uses it, and by every message that a reader has not released.
/// When the last of them gives it back, it is free, and `freed` is called. Any thread may give back.
class ResultSlots {
 public:
  using Freed = void (*)(void* owner) noexcept;
  ResultSlots(int slots, Freed freed, void* owner)
      : free_(slots), holds_(static_cast<std::size_t>(slots)), freed_(freed), owner_(owner) {}

  /// A free slot, the first from `preferred` on, or -1. The caller gives it back.
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
    returning_.fetch_sub(1, std::memory_order_acq_rel);  // the last access
  }

  int slots() const noexcept { return free_.slots(); }
  int available() const noexcept { return free_.available(); }
  /// Few are left, so readers should not keep any.
  bool scarce() const noexcept { return available() * 4 < slots(); }
  /// Nothing holds a slot, and no thread still accesses this.
  bool all_back() const noexcept { return available() == slots() && returning_.load(std::memory_order_acquire) == 0; }

 private:
  std::atomic<int>& holds(int slot) noexcept { return holds_[static_cast<std::size_t>(slot)]; }

  SlotMask free_;
  std::vector<std::atomic<int>> holds_;
  std::atomic<int> returning_{0};  // threads that are giving back a slot
  Freed freed_;
  void* owner_;
};

}  // namespace iqd
