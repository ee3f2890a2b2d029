// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/publisher.hpp"

#include <utility>

#include "base/clock.hpp"
#include "pipeline/backend/prepare_thread.hpp"

namespace iqd {

void Publisher::start(int priority, std::function<bool()> first) {
  thread_ = std::thread([this, priority, first = std::move(first)] {
    prepare_thread({"iqd-publish", priority, {}});
    if (first()) run();
    ended_.store(true, std::memory_order_release);
  });
}

void Publisher::run() {
  while (next()) {
    InFlight taken;
    in_flight_.try_pop(taken);
    publish(taken);
  }
  over_.store(true, std::memory_order_release);
  if (!discarded_) delivery_.finish(has_successor_);
}

/// Returns when the first block in flight is ready to be published; false at the end.
bool Publisher::next() {
  const InFlight* found = nullptr;
  const auto ready = [&] {
    found = in_flight_.front();
    waits_for_others_.store(found && found->is_away, std::memory_order_relaxed);
    if (!found) return closed_.load(std::memory_order_acquire) && ledger_.all_computed();
    if (on_device_ && !found->is_away && wait_began_ns_.load(std::memory_order_relaxed) == 0)
      wait_began_ns_.store(steady_ns(), std::memory_order_relaxed);
    return !found->queue->announces() || found->work->done();
  };
  if (wait_ == Wait::block)
    results_.wait_until(ready);
  else
    spin_until(ready);
  return found != nullptr;
}

void Publisher::publish(const InFlight& block) {
  block.queue->wait(*block.work);
  wait_began_ns_.store(0, std::memory_order_relaxed);
  if (!dropped_ && !block.work->good()) dropped_ = Drop::device;
  if (!dropped_ && interrupted_) dropped_ = Drop::stopped;
  if (!dropped_) watching_.see_source(*block.work);
  // Space in the ring is released before anything is sent: a slow subscriber costs slots, not samples.
  ledger_.computed();
  if (dropped_) {
    delivery_.count_dropped(*block.work, *dropped_);
  } else {
    delivery_.publish(*block.work, block.slot);
    watching_.see_results(*block.work);
  }
  ledger_.sent();
  slots_.give_back(block.slot);
}

std::int64_t Publisher::waiting_ns() const noexcept {
  const std::int64_t began = wait_began_ns_.load(std::memory_order_relaxed);
  return began ? steady_ns() - began : 0;
}

void Publisher::close() noexcept {
  closed_.store(true, std::memory_order_release);
  results_.ring();
}

void Publisher::close_for_successor() noexcept {
  has_successor_ = true;
  close();
}

void Publisher::discard() noexcept {
  discarded_ = true;
  close();
}

void Publisher::join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace iqd
