// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "gpu/device.hpp"
#include "gpu/owned.hpp"

namespace iqd::gpu {

/// The start times of steps, by the device's clock.
class EventClock final : public StepClock {
 public:
  EventClock(Device& device, std::size_t most_steps);
  void mark(std::size_t step, StreamView stream) noexcept override;
  /// Of the first `steps` steps, once all are done.
  std::span<const std::int64_t> steps_ns(std::size_t steps) noexcept;

 private:
  Device& device_;
  std::vector<Event> events_;
  std::vector<std::int64_t> steps_ns_;
};

/// A stream. For each layout of a work that was rehearsed there is a graph; other works are put on the stream step by
/// step. The device signals that a work is done through a word in host memory.
class CudaQueue final : public Queue {
 public:
  CudaQueue(Device& device, QueueOptions options);
  ~CudaQueue() override;

  void rehearse(Work& work) override;
  std::size_t rehearsed() const noexcept override { return graphs_.size(); }
  StreamView begin() noexcept override;
  void submit(Work& work) noexcept override;
  void wait(Work& work) noexcept override;
  bool announces() const noexcept override { return false; }

 private:
  bool times_next() noexcept;
  void launch(Work& work) noexcept;
  bool wait_spinning() noexcept;
  bool wait_blocked() noexcept;

  Device& device_;
  QueueOptions options_;
  std::uint32_t* flag_ = nullptr;  // pinned; has a cache line of its own
  Stream stream_;
  Event done_;  // for a sleeping thread
  std::unordered_map<std::uint64_t, GraphExec> graphs_;
  std::unique_ptr<EventClock> clock_;
  std::int64_t works_ = 0;
  bool timed_ = false;      // the current work
  bool has_begun_ = false;  // the next work
};

}  // namespace iqd::gpu
