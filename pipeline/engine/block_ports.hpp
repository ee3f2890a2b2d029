// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "pipeline/engine/carries.hpp"
#include "pipeline/plan/plan.hpp"

namespace iqd {

/// A block's samples: memory from position `span.first` on, rows `pitch` bytes apart.
struct SourceWindow {
  std::byte* data = nullptr;
  std::int64_t pitch = 0;
  Span span;
};

/// The positions of a block's window.
inline Span window_of(const SampleBlock& block) noexcept {
  return {block.first - block.past, block.end() + block.future, block.first, block.end()};
}

using Arenas = std::array<std::byte*, kSides>;

/// The memory of all ports of a plan while one block runs: in the block's result slot, or in the lane's arenas.
class BlockPorts {
 public:
  /// What one output holds after the work is done, in the slot or, if it stays there, on the device.
  struct Output {
    const std::byte* data = nullptr;
    std::int64_t first = 0;   // position
    std::int64_t extent = 0;  // of the varying dimension; 0 or 1 if there is none
    std::int64_t pitch = 0;   // bytes from row to row
  };

  /// The slot's memory comes from `shared`.
  BlockPorts(const Plan& plan, Backend& shared);
  const Plan& plan() const noexcept { return *plan_; }
  /// From the next `set` on: this plan of the same layout.
  void use(const Plan& plan) noexcept { plan_ = &plan; }
  /// These windows become the sources' ports. `copied`: the same samples on a device, if the plan has a port for them.
  void set(const SampleBlock& block, std::span<const SourceWindow> windows, const SourceWindow& copied,
           const Arenas& arenas) noexcept;
  /// Gives a step's outputs their memory for this block.
  void open_step(const PlanStep& step) noexcept;
  /// A key of everything that the steps are enqueued with, except absolute positions, which shift together.
  std::uint64_t layout_key() const noexcept;

  const SampleBlock& block() const noexcept { return *block_; }
  const PortIo& io(PortIndex port) const noexcept { return ports_[port]; }
  const Span& span(PortIndex port) const noexcept { return spans_[port]; }
  std::byte* slot() const noexcept { return slot_.data(); }
  Output output(OutputIndex index) const noexcept;

  /// Fills the part of a sequential stage's output that lies before its new part, from earlier blocks. `made` becomes
  /// the part after it, where the stage writes.
  void recall(PortIndex port, Carries::History& history, PortIo& made, Backend& backend, StreamView stream) noexcept;
  /// Keeps the end of that output for later blocks.
  void remember(PortIndex port, Carries::History& history, Backend& backend, StreamView stream) const noexcept;

 private:
  Span span_after(const PlanStep& step, const PlanPort& out) const noexcept;
  void open_output(PortIndex port, const Span& span) noexcept;
  bool is_recalled(const PlanPort& port) const noexcept {
    return port.shape.axis == Axis::stream && port.reach.past > 0;
  }

  const Plan* plan_;
  Arenas arenas_{};
  SourceWindow copied_;
  Buffer slot_;
  SampleBlock* block_;              // in the slot, where a device reads it
  std::int64_t* firsts_ = nullptr;  // after it: one per port, then what sequential stages continue from
  std::vector<PortIo> ports_;
  std::vector<Span> spans_;
};

}  // namespace iqd
