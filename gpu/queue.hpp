// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "gpu/device.hpp"
#include "gpu/owned.hpp"

namespace iqd::gpu {

/// The times at which steps begin, by the device's own clock.
class EventClock final : public StepClock {
 public:
  EventClock(Device& device, std::size_t most_steps);
  void mark(std::size_t step, StreamView stream) noexcept override;
  /// Of the first so many steps, once all is done.
  std::span<const std::int64_t> steps_ns(std::size_t steps) noexcept;

 private:
  Device& device_;
  std::vector<Event> events_;
  std::vector<std::int64_t> steps_ns_;
};

/// A stream. What it was shown at the start is a graph for each way that a work may be laid out; anything else is put
/// on the stream step by step. The device says that a work is done by a word in the host's memory.
class CudaQueue final : public Queue {
 public:
  CudaQueue(Device& device, QueueOptions options);
  ~CudaQueue() override;

  void rehearse(Work& work) override;
  std::size_t rehearsed() const noexcept override { return graphs_.size(); }
  void submit(Work& work) noexcept override;
  void wait(Work& work) noexcept override;
  bool announces() const noexcept override { return false; }

 private:
  void launch(Work& work) noexcept;
  bool wait_spinning() noexcept;
  bool wait_blocked() noexcept;

  Device& device_;
  QueueOptions options_;
  std::uint32_t* flag_ = nullptr;  // pinned; a cache line to itself
  Stream stream_;
  Event done_;  // of a thread that sleeps
  std::unordered_map<std::uint64_t, GraphExec> graphs_;
  std::unique_ptr<EventClock> clock_;
  std::int64_t works_ = 0;
  bool timed_ = false;  // the work at hand
};

}  // namespace iqd::gpu
