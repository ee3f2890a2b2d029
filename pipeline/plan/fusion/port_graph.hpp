// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "pipeline/plan/plan.hpp"
#include "pipeline/stage/element_code.hpp"

namespace iqd::fusion {

/// Steps in the order of the plan.
using Steps = std::vector<StepIndex>;

/// Steps that are fused, and their inputs and outputs.
struct Group {
  Steps steps;
  std::vector<PortIndex> inputs;   // ports that others make
  std::vector<PortIndex> outputs;  // ports that others read, or that are published
};

/// What fusion needs to know about a plan: which steps are element-wise, who reads a port, and which ports have the same
/// positions. Does not change while groups are formed. One thread.
class PortGraph {
 public:
  /// Steps on devices are only fused if they can compile kernels. The plan outlives the graph.
  PortGraph(const Plan& plan, bool device_fuses);

  std::size_t steps() const noexcept { return plan_.steps.size(); }
  const PlanStep& step(StepIndex s) const noexcept { return plan_.steps[s]; }
  const PlanPort& port(PortIndex p) const noexcept { return plan_.ports[p]; }
  /// The step that makes a step's input; kNoStep if none does.
  StepIndex maker_of(PortIndex p) const noexcept { return p == kNoPort ? kNoStep : plan_.ports[p].maker; }
  /// How a step computes; null if it cannot be fused.
  const std::shared_ptr<const ElementCode>& code_of(StepIndex s) const noexcept { return codes_[s]; }
  /// The earlier steps that read a port that this one reads.
  Steps read_alike(StepIndex s) const;

  Group group_of(Steps steps) const;
  /// Whether all outputs of the group have the positions that they would have without the others. Moves the input with
  /// the count to the front.
  bool has_one_extent(Group& group) const;

 private:
  bool leaves(PortIndex p, const Steps& steps) const;
  PortIndex find_origin(PortIndex p) const;
  bool needs_all(PortIndex output, const Group& group) const;
  PortIndex lead_of(PortIndex output, const Group& group) const;

  const Plan& plan_;
  std::vector<std::shared_ptr<const ElementCode>> codes_;  // of each step; null: not fused
  std::vector<PortIndex> origins_;                         // of each port: one with the same positions
  std::vector<Steps> readers_;                             // of each port
  std::vector<bool> is_published_;                         // of each port
};

/// Whether two ports have the same rows, positions and items.
bool is_alike(const PlanPort& a, const PlanPort& b);

}  // namespace iqd::fusion
