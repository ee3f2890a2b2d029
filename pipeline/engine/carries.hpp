// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "pipeline/plan/plan.hpp"

namespace iqd {

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
  /// Continues with the state of a step of another plan, when nobody uses that any more.
  void adopt(std::size_t step, Carries& from, std::size_t from_step) noexcept;
  /// Whether no block has passed here yet; in turn.
  bool is_new(std::size_t step) const noexcept { return states_[step]->is_new; }
  History& history(std::size_t step, std::size_t output) noexcept { return states_[step]->histories[output]; }
  /// Returns in the order of blocks; the stream waits until the block before has passed on there.
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
    std::vector<History> histories;  // one per output
    bool is_new = true;
    std::atomic<std::uint64_t> turn{0};
  };
  std::vector<std::unique_ptr<State>> states_;  // null where a step carries nothing
};

}  // namespace iqd
