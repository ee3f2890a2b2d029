// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "gpu/device.hpp"
#include "gpu/owned.hpp"
#include "gpu/scheduler.hpp"

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
/// step. The device signals that a work is done through a word in host memory. With Wait::resident a scheduler on the
/// device launches the graphs.
class CudaQueue final : public Queue {
 public:
  CudaQueue(Device& device, QueueOptions options);
  ~CudaQueue() override;

  void rehearse(Work& work) override;
  std::size_t rehearsed() const noexcept override { return graphs_.size(); }
  std::size_t resident() const noexcept override { return resident_; }
  /// Whether the device launches, or has launched, the current work by itself.
  bool scheduled() const noexcept { return scheduled_; }
  StreamView begin() noexcept override;
  void submit(Work& work) noexcept override;
  void wait(Work& work) noexcept override;
  bool announces() const noexcept override { return false; }

 private:
  /// Who can launch it, and whether its last kernel may start before the one before it has ended.
  enum class Launch : std::uint8_t { from_host, from_device, from_device_early };
  struct Rehearsed {
    GraphExec exec;
    bool from_device = false;
  };
  std::optional<Rehearsed> try_capture(Work& work, Launch launch);
  Rehearsed capture(Work& work, Launch launch);
  bool times_next() noexcept;
  void launch(Work& work) noexcept;
  bool may_load(std::uint64_t key) noexcept;
  void enqueue(Work& work) noexcept;
  /// Of what runs the current work: cudaErrorNotReady, or its result.
  cudaError_t state() noexcept;
  bool wait_spinning() noexcept;
  bool wait_blocked() noexcept;

  Device& device_;
  QueueOptions options_;
  struct alignas(128) Flag {
    std::uint32_t raised = 0;
  };
  Pinned<Flag> flag_;  // has a cache line of its own
  Stream stream_;
  Event done_;  // for a sleeping thread
  std::unique_ptr<Scheduler> scheduler_;
  std::unordered_map<std::uint64_t, Rehearsed> graphs_;
  std::size_t resident_ = 0;  // of these
  std::unique_ptr<EventClock> clock_;
  std::int64_t works_ = 0;
  std::int64_t unkeyed_ = 0;
  std::vector<std::uint64_t> seen_;  // keys of works that were not rehearsed, sorted
  bool timed_ = false;               // the current work
  bool scheduled_ = false;           // the current work: launched by the scheduler
  bool has_begun_ = false;           // the next work
};

}  // namespace iqd::gpu
