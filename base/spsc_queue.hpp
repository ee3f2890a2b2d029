// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace iqd {

/// A bounded queue between one thread that pushes and one that pops. Never allocates after construction.
template <class T> class SpscQueue {
 public:
  explicit SpscQueue(std::size_t capacity)
      : mask_(std::bit_ceil(capacity) - 1), items_(std::make_unique<T[]>(mask_ + 1)) {}

  bool try_push(T item) noexcept {
    const auto tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) > mask_) return false;
    items_[tail & mask_] = std::move(item);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }
  bool try_pop(T& item) noexcept {
    const auto head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return false;
    item = std::move(items_[head & mask_]);
    head_.store(head + 1, std::memory_order_release);
    return true;
  }
  /// The oldest item, left in place, or nothing. Only for the thread that pops.
  T* front() noexcept {
    const auto head = head_.load(std::memory_order_relaxed);
    return head == tail_.load(std::memory_order_acquire) ? nullptr : &items_[head & mask_];
  }
  std::size_t size() const noexcept {
    return tail_.load(std::memory_order_acquire) - head_.load(std::memory_order_acquire);
  }
  std::size_t capacity() const noexcept { return mask_ + 1; }

 private:
  std::size_t mask_;
  std::unique_ptr<T[]> items_;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

}  // namespace iqd
