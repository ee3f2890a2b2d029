// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "pipeline/plan/plan.hpp"

namespace iqd {

/// Decides which ports of a plan lie in the result slot, and where. A slot holds the block, the positions and the count
/// of every port, then payloads, facts, tallies and levels; each begins at a multiple of kPortAlign bytes. One thread.
class SlotLayout {
 public:
  /// The plan's ports have their sizes. A device writes results of up to `mapped.out` of the target to the slot itself.
  SlotLayout(Plan& plan, const PlanTarget& target);
  /// Once: gives outputs and ports their places and their homes, and the plan its `slot_bytes`.
  void lay_out();

 private:
  std::size_t take(std::size_t bytes) noexcept;
  void keep(PortIndex port) noexcept;
  void place_output(PlanOutput& output);
  void gather_facts(PlanOutput& output);
  void gather_numbers();
  void place_kept();

  Plan& plan_;
  const PlanTarget target_;
  std::size_t end_;  // of what has been placed so far
};

}  // namespace iqd
