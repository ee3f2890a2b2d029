// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "pipeline/plan/plan.hpp"

namespace iqd {

/// The state that sequential stages pass from block to block, and which block's turn it is.
class Carries {
 public:
  /// The end of an output, for readers that need its past: a sequential stage computes no position twice.
  struct History {
    Buffer memory;
    std::int64_t first = 0;
    std::int64_t end = 0;
  };
  /// State lies where its step runs.
  Carries(const Plan& plan, Backend& host, std::span<const std::shared_ptr<Backend>> devices);
  std::byte* state(StepIndex step) const noexcept { return states_[step] ? states_[step]->memory.data() : nullptr; }
  /// Takes over the state of a step of another plan, which must no longer use it.
  void adopt(StepIndex step, Carries& from, StepIndex from_step) noexcept;
  /// Whether no block has passed this step yet, or the last one spoilt the state; call it in turn.
  bool is_new(StepIndex step) const noexcept { return states_[step]->is_new; }
  History& history(StepIndex step, std::size_t output) noexcept { return states_[step]->histories[output]; }
  /// Returns in the order of blocks; the stream waits until the previous block has passed on the state.
  void wait_turn(StepIndex step, std::uint64_t seq, StreamView stream) const noexcept;
  /// `is_spoilt`: the next block restarts, as after a gap.
  void pass_on(StepIndex step, StreamView stream, bool is_spoilt = false) noexcept;
  /// Takes the turn of a block that failed before it reached this step, and passes it on.
  void skip(StepIndex step, std::uint64_t seq) noexcept;

 private:
  void wait_turn(StepIndex step, std::uint64_t seq) const noexcept;
  void pass_on(StepIndex step, bool is_spoilt) noexcept;

  struct State {
    Buffer memory;
    std::unique_ptr<Fence> fence;
    std::vector<History> histories;  // one per output
    bool is_new = true;
    std::atomic<std::uint64_t> turn{0};
  };
  std::vector<std::unique_ptr<State>> states_;  // null if a step carries nothing
};

}  // namespace iqd
