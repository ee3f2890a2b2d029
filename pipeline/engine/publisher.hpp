// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "base/bell.hpp"
#include "base/slot_mask.hpp"
#include "base/spsc_queue.hpp"
#include "pipeline/engine/block_ledger.hpp"
#include "pipeline/engine/delivery.hpp"
#include "pipeline/engine/engine_options.hpp"
#include "pipeline/engine/watching.hpp"

namespace iqd {

/// The thread that waits for blocks in the order in which they were started, and sends their results.
class Publisher {
 public:
  struct InFlight {
    BlockWork* work = nullptr;
    Queue* queue = nullptr;
    int slot = -1;
    bool is_away = false;  // at another host, so no device hangs
  };
  /// `on_device`: a block may take long without a host thread that shows it.
  Publisher(Delivery delivery, Watching watching, ResultSlots& slots, BlockLedger& ledger, Wait wait, bool on_device)
      : delivery_(std::move(delivery)),
        watching_(std::move(watching)),
        slots_(slots),
        ledger_(ledger),
        wait_(wait),
        on_device_(on_device) {}
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  /// `first` runs in the thread before anything is published; if it returns false, nothing is published.
  void start(int priority, std::function<bool()> first);
  /// A block has been started, or is about to be.
  void push(const InFlight& block) noexcept { in_flight_.try_push(block); }
  /// Results may be ready.
  void notify() noexcept { results_.ring(); }
  /// No more blocks will be offered; the rest is still published.
  void close() noexcept;
  /// The same; the next blocks go to a successor, with the routes that continue there.
  void close_for_successor() noexcept;
  /// The same; this engine will not replace the previous one after all.
  void discard() noexcept;
  void join();
  /// Drops all blocks that are not published yet.
  void interrupt() noexcept { interrupted_ = true; }

  bool is_interrupted() const noexcept { return interrupted_; }
  bool is_discarded() const noexcept { return discarded_; }
  /// Everything has been published.
  bool is_over() const noexcept { return over_.load(std::memory_order_acquire); }
  /// The thread does nothing more.
  bool has_ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  /// How long the publisher has waited for the oldest block, if a device runs it.
  std::int64_t waiting_ns() const noexcept;
  /// Whether the oldest block is at another host.
  bool waits_for_others() const noexcept { return waits_for_others_.load(std::memory_order_relaxed); }
  Delivery& delivery() noexcept { return delivery_; }
  const Delivery& delivery() const noexcept { return delivery_; }
  const Watching& watching() const noexcept { return watching_; }

 private:
  void run();
  bool next();
  void publish(const InFlight& block);

  Delivery delivery_;
  Watching watching_;
  ResultSlots& slots_;
  BlockLedger& ledger_;
  Wait wait_;
  bool on_device_;
  std::optional<Drop> dropped_;  // why nothing more is published
  SpscQueue<InFlight> in_flight_{SlotMask::kMost};
  Bell results_;
  std::atomic<std::int64_t> wait_began_ns_{0};
  std::atomic<bool> waits_for_others_{false};
  std::atomic<bool> closed_{false};
  std::atomic<bool> discarded_{false};
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> has_successor_{false};
  std::atomic<bool> over_{false};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace iqd
