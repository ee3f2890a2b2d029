// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "pipeline/plan/plan.hpp"
#include "pipeline/stage/element_code.hpp"

namespace iqd::fusion {

/// Steps that become one, in the order of the plan, and what goes in and out of them.
struct Group {
  std::vector<std::size_t> steps;
  std::vector<int> inputs;   // ports that others make
  std::vector<int> outputs;  // ports that others read, or that are published
};

/// Which steps of a plan become one. A group is on one side; all its ports have the same rows, positions and items; no
/// way leads out of it and back; and each output has the positions that it would have without the others.
class Grouping {
 public:
  Grouping(const Plan& plan, const std::array<bool, kSides>& sides);
  /// All steps, each in one group, every group behind those that it reads from.
  std::vector<Group> groups() const;
  /// How a step that is in a group computes.
  const std::shared_ptr<const ElementCode>& code_of(std::size_t step) const { return codes_[step]; }

 private:
  using Steps = std::vector<std::size_t>;
  const PlanPort& port(int p) const { return plan_.ports[static_cast<std::size_t>(p)]; }
  const PlanStep& step(std::size_t s) const { return plan_.steps[s]; }
  std::shared_ptr<const ElementCode> code_for(const PlanStep& step) const;
  void join_neighbours();
  bool join(std::size_t one, std::size_t other);
  bool may_be_one(const Steps& steps) const;
  bool leads_around(std::size_t from, std::size_t to) const;
  bool has_one_extent(Group& group) const;
  Steps read_alike(std::size_t step) const;
  Group group_of(Steps steps) const;
  bool reads_from(std::size_t one, std::size_t other) const;
  bool leaves(int p, const Steps& steps) const;
  int origin_of(int p) const { return origins_[static_cast<std::size_t>(p)]; }
  int find_origin(int p) const;
  bool needs_all(int output, const Group& group) const;
  int lead_of(int output, const Group& group) const;

  const Plan& plan_;
  std::array<bool, kSides> sides_;
  std::vector<std::shared_ptr<const ElementCode>> codes_;  // of each step; null: stays as it is
  std::vector<int> origins_;                               // of each port: one with the same positions
  std::vector<Steps> readers_;                             // of each port
  std::vector<bool> is_published_;                         // of each port
  std::vector<std::size_t> group_;                         // of each step: the first of its steps
  std::vector<Steps> members_;                             // of each group, by its first step
  std::vector<std::size_t> leaving_;                       // of each group: how many of its outputs leave it
  std::vector<std::size_t> changed_;                       // of each group: the pass that it last grew in
  std::size_t pass_ = 0;
  mutable std::vector<std::size_t> seen_;  // of each group: the search that found it
  mutable std::size_t search_ = 0;
};

}  // namespace iqd::fusion
