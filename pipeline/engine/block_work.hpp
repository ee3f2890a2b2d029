// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "pipeline/engine/block_ports.hpp"
#include "pipeline/engine/carries.hpp"
#include "pipeline/plan/plan.hpp"

namespace iqd {

/// What a lane lends a block while it runs.
struct LaneMemory {
  Arenas arenas{};
  Queue* device = nullptr;  // of a mixed plan: where its device's parts go
  Backend* backend = nullptr;
  std::size_t device_index = 0;  // which of the plan's devices
};

/// One block's way through a plan, and its results. Belongs to a result slot; a lane lends it memory while it runs.
class BlockWork : public Work {
 public:
  using Output = BlockPorts::Output;

  /// The slot's memory comes from `shared`.
  BlockWork(const Plan& plan, Carries& carries, Backend& host, Backend& shared);
  ~BlockWork() override;
  void set(const SampleBlock& block, std::span<const SourceWindow> windows, const LaneMemory& lane) noexcept;
  void enqueue(StreamView stream, StepClock* clock = nullptr) noexcept override;
  std::uint64_t capture_key() const noexcept override { return key_; }
  /// From the next `set` on: computes with this plan of the same layout.
  void use(const Plan& plan) noexcept { plan_ = &plan; }
  /// After `set`: lets the lane's queue to its device get ready for blocks that lie like this one.
  void rehearse(Queue& lane);
  std::size_t timed_steps() const noexcept override { return plan_->timed_steps(); }
  void timed(std::span<const std::int64_t> steps_ns) noexcept override;
  void finished(bool good) noexcept override { mark_done(good && !failed_); }

  const SampleBlock& block() const noexcept { return ports_.block(); }
  const Plan& plan() const noexcept { return *plan_; }
  Output output(std::size_t index) const noexcept { return ports_.output(index); }
  const std::byte* fact(int port) const noexcept { return ports_.io(static_cast<std::size_t>(port)).data; }
  std::int64_t count(int port) const noexcept { return *ports_.io(static_cast<std::size_t>(port)).count; }
  Span span_of(int port) const noexcept { return ports_.span(static_cast<std::size_t>(port)); }
  /// Any thread: the step that a thread of the host is in, and since when; 0: in none.
  struct InStep {
    std::size_t step = 0;
    std::int64_t began_ns = 0;
  };
  InStep in_step() const noexcept {
    const std::int64_t began = running_.began_ns.load(std::memory_order_acquire);
    return {running_.step.load(std::memory_order_relaxed), began};
  }

 protected:
  /// How long steps took, from this one on; behind the last step: the copying of results.
  virtual void step_times(std::size_t /*first_step*/, std::span<const std::int64_t> /*ns*/) noexcept {}

 private:
  class DevicePart;
  void part_times(const PlanPart& part, std::span<const std::int64_t> steps_ns) noexcept;
  void run_part(const PlanPart& part, StreamView stream, StepClock* clock, std::size_t mark) noexcept;
  void run_on_device(const PlanPart& part) noexcept;
  void give_up_turns() noexcept;
  void run_step(std::size_t index, StreamView stream) noexcept;
  void run_in_turn(std::size_t index, StageIo& io, StreamView stream) noexcept;
  void run_stage(std::size_t index, const StageIo& io, StreamView stream) noexcept;
  void copy_out(const PlanPart& part, StreamView stream) noexcept;
  bool belongs(const PlanOutput& output, const PlanPart& part) const noexcept;
  Backend& backend_of(Side side) const noexcept { return side == Side::host ? *host_ : *lane_.backend; }

  const Plan* plan_;
  Carries* carries_;
  Backend* host_;
  BlockPorts ports_;
  LaneMemory lane_;
  std::uint64_t key_ = 0;
  bool failed_ = false;
  std::size_t next_step_ = 0;
  struct Running {
    std::atomic<std::size_t> step{0};
    std::atomic<std::int64_t> began_ns{0};
  };
  Running running_;
  std::unique_ptr<DevicePart> device_part_;  // of a mixed plan
  std::vector<PortIo> in_;                   // of the step that runs
  std::vector<PortIo> out_;
};

}  // namespace iqd
