// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "pipeline/plan/fusion/port_graph.hpp"

namespace iqd::fusion {

/// Decides which steps of a plan are fused. A group is on one side; all its ports have the same rows, positions and
/// items; no path leads out of it and back; and each output has the positions that it would have without the others.
class Grouping {
 public:
  /// The graph outlives the grouping.
  explicit Grouping(const PortGraph& graph);
  /// All steps, each in one group, every group after those that it reads from.
  std::vector<Group> groups() const;

 private:
  void join_neighbours();
  bool join(StepIndex one, StepIndex other);
  bool may_be_one(const Steps& steps) const;
  bool leads_around(StepIndex from, StepIndex to) const;
  bool reads_from(StepIndex one, StepIndex other) const;

  const PortGraph& graph_;
  std::vector<StepIndex> group_;      // of each step: the first of its steps
  std::vector<Steps> members_;        // of each group, by its first step
  std::vector<std::size_t> leaving_;  // of each group: the number of its outputs
  std::vector<std::size_t> changed_;  // of each group: the pass in which it last grew
  std::size_t pass_ = 0;
  mutable std::vector<std::size_t> seen_;  // of each group: the search that found it
  mutable std::size_t search_ = 0;
};

}  // namespace iqd::fusion
