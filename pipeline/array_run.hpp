// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "pipeline/array_plan.hpp"
#include "pipeline/engine/block_work.hpp"

namespace iqd {

/// An input of a run: positions from `there.first` on, in memory that the plan's backend can read.
struct ArrayMemory {
  const std::byte* data = nullptr;
  std::int64_t pitch = 0;  // bytes from row to row
  Positions there;
};

/// What a block of an ArrayPlan needs while it is computed: one block at a time.
class ArrayLane {
 public:
  explicit ArrayLane(const ArrayPlan& plan);
  const LaneMemory& memory() const noexcept { return memory_; }
  Queue* queue() const noexcept { return queue_.get(); }

 private:
  Buffer host_arena_;
  Buffer device_arena_;
  std::unique_ptr<Queue> queue_;  // of a device
  LaneMemory memory_;
};

/// The results of one block of an ArrayPlan, and what sequential stages carry to the next. The plan must live longer.
class ArrayRun {
 public:
  explicit ArrayRun(const ArrayPlan& plan);
  ~ArrayRun();

  /// Sets up a block on these inputs, which `lane` computes. A block at 0 begins a new stream.
  void set_block(SampleBlock block, std::span<const ArrayMemory> inputs, ArrayLane& lane);
  /// Computes the block that was set up last, possibly again. Throws SetupError if a device fails, or a stage could not
  /// compute the block.
  void run_block() {
    start_block();
    finish_block();
  }
  /// The two halves of `run_block`; between them a device computes.
  void start_block();
  void finish_block();
  /// Captures a block with this layout so that blocks like it are replayed, if the backend can.
  void rehearse(SampleBlock block, std::span<const ArrayMemory> inputs, ArrayLane& lane);

  const ArrayPlan& plan() const noexcept { return plan_; }
  /// The results of the last block: valid until the next one.
  const BlockWork& work() const noexcept;
  /// How long the stages of the last block took, without transfers, by the clock of their backend. Needs `timed`.
  std::int64_t step_ns() const noexcept;

 private:
  class TimedWork;
  const ArrayPlan& plan_;
  std::unique_ptr<Carries> carries_;
  std::unique_ptr<TimedWork> work_;
  std::vector<SourceWindow> windows_;
  Queue* queue_ = nullptr;  // of the lane
  std::uint64_t seq_ = 0;
};

}  // namespace iqd
