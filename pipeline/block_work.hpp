// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "pipeline/plan.hpp"

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
  Carries(const Plan& plan, Backend& backend);
  std::byte* state(std::size_t step) const noexcept { return states_[step] ? states_[step]->memory.data() : nullptr; }
  History& history(std::size_t step, std::size_t output) noexcept { return states_[step]->histories[output]; }
  void wait_turn(std::size_t step, std::uint64_t seq) const noexcept;
  void pass_on(std::size_t step) noexcept;

 private:
  struct State {
    Buffer memory;
    std::vector<History> histories;  // one an output
    std::atomic<std::uint64_t> turn{0};
  };
  std::vector<std::unique_ptr<State>> states_;  // null where a step carries nothing
};

/// One block's way through a plan, and its results. Belongs to a result slot; a lane lends it an arena while it runs.
class BlockWork : public Work {
 public:
  /// What one output holds after the work is done.
  struct Output {
    const std::byte* data = nullptr;
    std::int64_t first = 0;   // position
    std::int64_t extent = 0;  // of the varying dimension; 0 or 1 where there is none
    std::int64_t pitch = 0;   // bytes from row to row
  };

  BlockWork(const Plan& plan, Carries& carries, Backend& backend);
  void set(const SampleBlock& block, std::span<const SourceWindow> windows, std::byte* arena) noexcept;
  void enqueue(StreamView stream) noexcept override;
  void finished() noexcept override { mark_done(); }

  const SampleBlock& block() const noexcept { return block_; }
  const Plan& plan() const noexcept { return *plan_; }
  Output output(std::size_t index) const noexcept;
  const std::byte* fact(int port) const noexcept { return ports_[static_cast<std::size_t>(port)].data; }
  Span span_of(int port) const noexcept { return spans_[static_cast<std::size_t>(port)]; }

 private:
  void run_step(std::size_t index, StreamView stream) noexcept;
  void run_in_turn(std::size_t index, StageIo& io, StreamView stream) noexcept;
  void open_output(std::size_t port, const Span& span) noexcept;
  void recall(std::size_t step, std::size_t output, StreamView stream) noexcept;
  void remember(std::size_t step, std::size_t output, StreamView stream) noexcept;
  Span span_after(const PlanStep& step, const PlanPort& out) const noexcept;
  void copy_out(StreamView stream) noexcept;

  const Plan* plan_;
  Carries* carries_;
  Backend* backend_;
  Buffer slot_;
  SampleBlock block_;
  std::byte* arena_ = nullptr;
  std::vector<PortIo> ports_;
  std::vector<Span> spans_;
  std::vector<PortIo> in_;  // of the step at work
  std::vector<PortIo> out_;
};

}  // namespace iqd
