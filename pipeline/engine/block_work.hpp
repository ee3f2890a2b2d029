// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "pipeline/plan/plan.hpp"

namespace iqd {

/// What a block's samples are: memory at position `span.first`, rows `pitch` bytes apart.
struct SourceWindow {
  std::byte* data = nullptr;
  std::int64_t pitch = 0;
  Span span;
};

/// The state that sequential stages hand from block to block, and whose turn it is.
class Carries {
 public:
  /// The end of what an output held, for readers that reach back: a sequential stage makes no position twice.
  struct History {
    Buffer memory;
    std::int64_t first = 0;
    std::int64_t end = 0;
  };
  /// `device` is the host where the plan has none.
  Carries(const Plan& plan, Backend& host, Backend& device);
  std::byte* state(std::size_t step) const noexcept { return states_[step] ? states_[step]->memory.data() : nullptr; }
  /// Goes on with what a step of another plan left, when nobody uses that any more.
  void adopt(std::size_t step, Carries& from, std::size_t from_step) noexcept;
  /// Whether nothing was handed on there yet; in turn.
  bool is_new(std::size_t step) const noexcept { return states_[step]->is_new; }
  History& history(std::size_t step, std::size_t output) noexcept { return states_[step]->histories[output]; }
  /// Returns in the order of blocks; the stream goes on when the block before has passed on there.
  void wait_turn(std::size_t step, std::uint64_t seq, StreamView stream) const noexcept;
  void pass_on(std::size_t step, StreamView stream) noexcept;
  /// Takes the turn of a block that failed before it came to this step, and passes it on.
  void skip(std::size_t step, std::uint64_t seq) noexcept;

 private:
  void wait_turn(std::size_t step, std::uint64_t seq) const noexcept;
  void pass_on(std::size_t step) noexcept;

  struct State {
    Buffer memory;
    std::unique_ptr<Fence> fence;
    std::vector<History> histories;  // one an output
    bool is_new = true;
    std::atomic<std::uint64_t> turn{0};
  };
  std::vector<std::unique_ptr<State>> states_;  // null where a step carries nothing
};

/// What a lane lends a block while it runs.
struct LaneMemory {
  std::array<std::byte*, kSides> arenas{};
  Queue* device = nullptr;  // of a mixed plan: where its device's parts go
  Backend* backend = nullptr;
  std::size_t device_index = 0;  // which of the plan's devices
};

/// One block's way through a plan, and its results. Belongs to a result slot; a lane lends it memory while it runs.
class BlockWork : public Work {
 public:
  /// What one output holds after the work is done.
  struct Output {
    const std::byte* data = nullptr;
    std::int64_t first = 0;   // position
    std::int64_t extent = 0;  // of the varying dimension; 0 or 1 where there is none
    std::int64_t pitch = 0;   // bytes from row to row
  };

  /// The slot's memory comes from `shared`.
  BlockWork(const Plan& plan, Carries& carries, Backend& host, Backend& shared);
  ~BlockWork() override;
  void set(const SampleBlock& block, std::span<const SourceWindow> windows, const LaneMemory& lane) noexcept;
  void enqueue(StreamView stream, StepClock* clock = nullptr) noexcept override;
  std::uint64_t capture_key() const noexcept override { return key_; }
  /// From the next `set` on: computes as this plan of the same layout says.
  void use(const Plan& plan) noexcept { plan_ = &plan; }
  /// After `set`: lets the lane's way to its device get ready for blocks that lie like this one.
  void rehearse(Queue& lane);
  std::size_t timed_steps() const noexcept override { return plan_->timed_steps(); }
  void timed(std::span<const std::int64_t> steps_ns) noexcept override;
  void finished(bool good) noexcept override { mark_done(good && !failed_); }

  const SampleBlock& block() const noexcept { return *block_; }
  const Plan& plan() const noexcept { return *plan_; }
  Output output(std::size_t index) const noexcept;
  const std::byte* fact(int port) const noexcept { return ports_[static_cast<std::size_t>(port)].data; }
  std::int64_t count(int port) const noexcept { return *ports_[static_cast<std::size_t>(port)].count; }
  Span span_of(int port) const noexcept { return spans_[static_cast<std::size_t>(port)]; }
  /// Any thread: the step that a thread of the host is in, and since when; 0: in none.
  struct AtWork {
    std::size_t step = 0;
    std::int64_t began_ns = 0;
  };
  AtWork at_work() const noexcept {
    const std::int64_t began = step_began_ns_.load(std::memory_order_acquire);
    return {step_at_work_.load(std::memory_order_relaxed), began};
  }

 protected:
  /// How long steps took, from this one on; behind the last step: the copying of results.
  virtual void step_times(std::size_t /*first_step*/, std::span<const std::int64_t> /*ns*/) noexcept {}

 private:
  class DevicePart;
  void part_times(const PlanPart& part, std::span<const std::int64_t> steps_ns) noexcept;
  void run_part(const PlanPart& part, StreamView stream, StepClock* clock, std::size_t mark) noexcept;
  void give_up_turns() noexcept;
  void run_on_device(const PlanPart& part) noexcept;
  void open_step(std::size_t index) noexcept;
  void run_step(std::size_t index, StreamView stream) noexcept;
  void run_in_turn(std::size_t index, StageIo& io, StreamView stream) noexcept;
  void run_stage(std::size_t index, const StageIo& io, StreamView stream) noexcept;
  void open_output(std::size_t port, const Span& span) noexcept;
  void recall(std::size_t step, std::size_t output, StreamView stream) noexcept;
  void remember(std::size_t step, std::size_t output, StreamView stream) noexcept;
  Span span_after(const PlanStep& step, const PlanPort& out) const noexcept;
  void copy_out(const PlanPart& part, StreamView stream) noexcept;
  bool belongs(const PlanOutput& output, const PlanPart& part) const noexcept;
  std::uint64_t layout_key(std::span<const SourceWindow> windows) const noexcept;
  const StageRun& run_of(const PlanStep& step) const noexcept;
  Backend& backend_of(Side side) const noexcept { return side == Side::host ? *host_ : *lane_.backend; }

  const Plan* plan_;
  Carries* carries_;
  Backend* host_;
  Buffer slot_;
  SampleBlock* block_;  // in the slot, where a device reads it
  LaneMemory lane_;
  std::uint64_t key_ = 0;
  bool failed_ = false;
  std::size_t next_step_ = 0;
  std::atomic<std::size_t> step_at_work_{0};
  std::atomic<std::int64_t> step_began_ns_{0};
  std::unique_ptr<DevicePart> device_part_;  // of a mixed plan
  std::int64_t* firsts_ = nullptr;           // behind it; one a port, then what sequential stages go on from
  std::vector<PortIo> ports_;
  std::vector<Span> spans_;
  std::vector<PortIo> in_;  // of the step at work
  std::vector<PortIo> out_;
};

}  // namespace iqd
