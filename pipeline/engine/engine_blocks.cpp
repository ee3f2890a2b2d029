// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>

#include "base/clock.hpp"
#include "pipeline/engine/slot_work.hpp"

// A block's way through the engine, from `offer` to the outlets.

namespace iqd {

SampleIndex Engine::tail(SampleIndex otherwise) const noexcept {
  const std::uint64_t done = done_.load(std::memory_order_acquire);
  if (done == offered_.load(std::memory_order_relaxed)) return otherwise;
  return std::min(otherwise, window_begin_[done % kMostOutstanding]);
}

void Engine::offer(SampleBlock block) noexcept {
  block.seq = offered_.load(std::memory_order_relaxed);
  window_begin_[block.seq % kMostOutstanding] = block.place() - block.past;
  if (block.seq == done_.load(std::memory_order_relaxed)) moved_ns_.store(block.received_ns, std::memory_order_relaxed);
  offered_.store(block.seq + 1, std::memory_order_release);
  [[maybe_unused]] const bool pushed = ready_.try_push(block);
  assert(pushed && "offer with none left");
  dispatch();
}

/// Any thread may ask; one at a time carries out, for the others too.
void Engine::dispatch() noexcept {
  if (dispatch_requests_.fetch_add(1, std::memory_order_acq_rel) != 0) return;
  std::uint32_t seen = 1;
  do start_ready();
  while (!dispatch_requests_.compare_exchange_strong(seen, 0, std::memory_order_acq_rel));
}

void Engine::start_ready() noexcept {
  if (!open_.load(std::memory_order_acquire)) return;
  while (const SampleBlock* block = ready_.front()) {
    // Devices know the block by its place, see `rehearse`; on the host a lane that is still warm is the better one.
    const std::int64_t turn = plan_.uses(Side::device) ? block->place() / plan_.block : 0;
    const int lane = free_lanes_.try_acquire(static_cast<int>(turn % free_lanes_.slots()));
    if (lane < 0) return;
    const int slot = slots_.try_acquire(static_cast<int>(turn % slots_.slots()));
    if (slot < 0) {
      free_lanes_.release(lane);
      return;
    }
    start(*block, lane, slot);
  }
}

void Engine::set(SlotWork& work, const SampleBlock& block, int lane) noexcept {
  SourceWindow window;
  window.span = {block.first - block.past, block.end() + block.future, block.first, block.end()};
  window.data = ring_at(0, block.place() - block.past);
  window.pitch = static_cast<std::int64_t>(ring_.row_pitch());
  work.lane_ = lane;
  work.use(*at_work_.load(std::memory_order_acquire));
  work.set(block, {&window, 1}, lanes_[static_cast<std::size_t>(lane)].memory);
}

void Engine::start(const SampleBlock& block, int lane, int slot) noexcept {
  SlotWork& work = *works_[static_cast<std::size_t>(slot)];
  Lane& at = lanes_[static_cast<std::size_t>(lane)];
  set(work, block, lane);

  SampleBlock taken;
  ready_.try_pop(taken);
  if (at.queue->announces()) {
    in_flight_.try_push({&work, at.queue.get()});
    at.queue->submit(work);
  } else {
    // Who sees it there waits for the device at once.
    at.queue->submit(work);
    in_flight_.try_push({&work, at.queue.get()});
    results_.ring();
  }
}

void Engine::lane_finished(int lane) noexcept {
  free_lanes_.release(lane);
  results_.ring();
  dispatch();
}

void Engine::publish_all() {
  bool failed = false;
  for (;;) {
    InFlight* next = nullptr;
    const auto ready = [&] {
      next = in_flight_.front();
      if (next) note_waiting();
      if (next) return !next->queue->announces() || next->work->done();
      return closed_.load(std::memory_order_acquire) && done_.load() == offered_.load(std::memory_order_acquire);
    };
    if (wait_ == Wait::spin)
      spin_until(ready);
    else
      results_.wait_until(ready);
    if (!next) break;
    InFlight taken;
    in_flight_.try_pop(taken);
    taken.queue->wait(*taken.work);
    wait_began_ns_.store(0, std::memory_order_relaxed);
    // The ring is free before anything is sent: a slow reader costs slots, not samples.
    moved_ns_.store(steady_ns(), std::memory_order_relaxed);
    done_.fetch_add(1, std::memory_order_acq_rel);
    room_.ring();
    failed = failed || !taken.work->good();
    if (failed)
      delivery_.count_failed(*taken.work);
    else
      delivery_.publish(*taken.work, taken.work->slot());
    sent_.fetch_add(1, std::memory_order_release);
    slots_.give_back(taken.work->slot());
  }
  over_.store(true, std::memory_order_release);
  if (!discarded_) delivery_.finish(has_successor_);
}

}  // namespace iqd
