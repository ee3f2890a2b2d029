// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/pool.hpp"
#include "pipeline/engine/block_ports.hpp"
#include "pipeline/engine/carries.hpp"
#include "pipeline/engine/missing_ports.hpp"
#include "pipeline/plan/plan.hpp"

namespace iqd {

/// What a lane lends a block while it runs.
struct LaneMemory {
  struct Device {
    Backend* backend = nullptr;
    Queue* queue = nullptr;  // of a mixed plan: where its parts on this device go
    std::size_t turn = 0;    // its place in its group
  };
  const Device& on(Side side) const noexcept { return devices[index_of(side) - 1]; }

  Arenas arenas{};
  std::array<Device, kMostGroups> devices{};  // of each of the plan's groups
};

/// Runs one block through a plan, and holds its results. Belongs to a result slot; a lane lends it memory meanwhile.
class BlockWork : public Work {
 public:
  using Output = BlockPorts::Output;

  /// The slot's memory comes from `shared`.
  BlockWork(const Plan& plan, Carries& carries, Backend& host, Backend& shared);
  ~BlockWork() override;
  /// See BlockPorts. The lane is lent until the work is done.
  void set(const SampleBlock& block, std::span<const SourceWindow> windows, const LaneMemory& lane,
           const SourceWindow& copied = {}) noexcept;
  /// The same for a block that another host computes. What comes back is `brought` before the work is submitted, which
  /// then runs the other steps.
  void set_away(const SampleBlock& block, const SourceWindow& window, const LaneMemory& lane) noexcept;
  /// Whether these are the positions of the ports that come back.
  bool has_positions(std::span<const PoolPort> ports) const noexcept;
  void bring(std::unique_ptr<PoolResult> result) noexcept { result_ = std::move(result); }
  /// It does not come back: its results are missing.
  void bring(PoolLoss loss) noexcept { loss_ = loss; }
  std::optional<PoolLoss> loss() const noexcept { return loss_; }
  void enqueue(StreamView stream, StepClock* clock = nullptr) noexcept override;
  std::uint64_t capture_key() const noexcept override { return key_; }
  /// Uses this plan, which has the same layout, from the next `set` on.
  void use(const Plan& plan) noexcept { ports_.use(plan); }
  /// After `set`: lets the lane's device queue prepare for blocks with the same layout as this one.
  void rehearse(Queue& lane);
  std::size_t timed_steps() const noexcept override { return plan().timed_steps(); }
  void timed(std::span<const std::int64_t> steps_ns) noexcept override;
  void finished(bool good) noexcept override { mark_done(good && !failed_); }

  const SampleBlock& block() const noexcept { return ports_.block(); }
  const Plan& plan() const noexcept { return ports_.plan(); }
  Output output(OutputIndex index) const noexcept { return ports_.output(index); }
  const std::byte* fact(PortIndex port) const noexcept { return ports_.io(port).data; }
  std::int64_t count(PortIndex port) const noexcept { return *ports_.io(port).count; }
  const PortIo& io(PortIndex port) const noexcept { return ports_.io(port); }
  // After the work is done: what a stage could not compute.
  bool is_missing(PortIndex port) const noexcept { return missing_.has(port); }
  bool is_missing(const PlanOutput& output) const noexcept;
  bool has_missing() const noexcept { return missing_.any(); }
  Span span_of(PortIndex port) const noexcept { return ports_.span(port); }
  /// Any thread: the step that a host thread runs, and since when; 0: none.
  struct InStep {
    StepIndex step = 0;
    std::int64_t began_ns = 0;
  };
  InStep in_step() const noexcept {
    const std::int64_t began = running_.began_ns.load(std::memory_order_acquire);
    return {running_.step.load(std::memory_order_relaxed), began};
  }

 protected:
  /// How long steps took, from `first_step` on; after the last step: the copying of results.
  virtual void step_times(StepIndex /*first_step*/, std::span<const std::int64_t> /*ns*/) noexcept {}
  /// Whether the copies to a device's ring are a part of this work; else they are on its stream before it.
  virtual bool fills_ring() const noexcept { return false; }
  virtual void fill_ring(StreamView /*stream*/) noexcept {}
  /// After the last step of a part.
  virtual void copy_more(const PlanPart& /*part*/, StreamView /*stream*/) noexcept {}
  Backend& backend_of(Side side) const noexcept { return on_device(side) ? *lane_->on(side).backend : *host_; }

 private:
  class DevicePart;
  void take_returned() noexcept;
  void take_port(PortIndex port, const PoolPort* returned) noexcept;
  /// The first step that runs here.
  StepIndex first_step() const noexcept { return away_ ? plan().away.end : 0; }
  void part_times(const PlanPart& part, std::span<const std::int64_t> steps_ns) noexcept;
  void run_part(const PlanPart& part, StreamView stream, StepClock* clock, std::size_t mark) noexcept;
  void run_on_device(const PlanPart& part) noexcept;
  void give_up_turns() noexcept;
  void run_step(StepIndex index, StreamView stream) noexcept;
  void run_in_turn(StepIndex index, StageIo& io, StreamView stream) noexcept;
  void run_stage(StepIndex index, StageIo& io, StreamView stream) noexcept;
  void copy_out(const PlanPart& part, StreamView stream) noexcept;
  bool belongs(const PlanOutput& output, const PlanPart& part) const noexcept;

  Carries* carries_;
  Backend* host_;
  BlockPorts ports_;
  const LaneMemory* lane_ = nullptr;
  std::uint64_t key_ = 0;
  bool failed_ = false;
  bool away_ = false;  // another host computes the plan's first steps
  std::unique_ptr<PoolResult> result_;
  std::optional<PoolLoss> loss_;
  MissingPorts missing_;
  StepIndex next_step_ = 0;
  struct Running {
    std::atomic<StepIndex> step{0};
    std::atomic<std::int64_t> began_ns{0};
  };
  Running running_;
  std::unique_ptr<DevicePart> device_part_;  // of a mixed plan
  std::vector<PortIo> in_;                   // of the step that runs
  std::vector<PortIo> out_;
};

}  // namespace iqd
