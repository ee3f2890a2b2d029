// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/fusion/port_graph.hpp"

#include <algorithm>
#include <set>

#include "pipeline/plan/fusion/element_program.hpp"

namespace iqd::fusion {
namespace {

template <class Range, class T> bool contains(const Range& range, const T& value) {
  return std::ranges::find(range, value) != range.end();
}

/// Whether output position p is made from input position p and its surroundings, at all inputs.
bool keeps_positions(const PlanStep& step) {
  return step.carry_bytes == 0 &&
         std::ranges::all_of(step.footprint, [](const Footprint& f) { return f.granule == 1 && f.yield == 1; });
}

std::shared_ptr<const ElementCode> code_for(const Plan& plan, const PlanStep& s) {
  if (!s.stage->is_elementwise() || !keeps_positions(s)) return nullptr;
  if (std::ranges::any_of(s.footprint, [](const Footprint& f) { return f.past > 0 || f.future > 0; })) return nullptr;
  if (s.in.size() > kMostOfCall || s.out.empty() || s.out.size() > kMostOfCall) return nullptr;
  if (contains(s.in, kNoPort)) return nullptr;
  for (const OutputSpec& o : s.entry->outputs)
    if (!o.fact.empty() || !o.tally.empty() || o.levels) return nullptr;
  for (const auto* ports : {&s.in, &s.out})
    for (const PortIndex p : *ports) {
      if (!is_alike(plan.ports[p], plan.ports[s.out.front()])) return nullptr;
      if (on_device(s.side) && device_type(plan.ports[p].shape.element).empty()) return nullptr;
    }
  std::shared_ptr<const ElementCode> code = s.stage->elements();
  return code && on_device(s.side) && !code->device_code() ? nullptr : code;
}

}  // namespace

bool is_alike(const PlanPort& a, const PlanPort& b) {
  return a.shape.axis == b.shape.axis && a.shape.axis_name == b.shape.axis_name && a.rate == b.rate &&
         a.most_new == b.most_new && a.shape.row_count() == b.shape.row_count() &&
         a.shape.item_size() == b.shape.item_size();
}

PortGraph::PortGraph(const Plan& plan, bool device_fuses)
    : plan_(plan), readers_(plan.ports.size()), is_published_(plan.ports.size(), false) {
  for (const PlanOutput& o : plan.outputs) is_published_[o.port] = true;
  for (StepIndex s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    codes_.push_back(device_fuses || !on_device(step.side) ? code_for(plan, step) : nullptr);
    for (const PortIndex p : step.in)
      if (p != kNoPort && !contains(readers_[p], s)) readers_[p].push_back(s);
  }
  // Ports come after those that they are made from.
  for (PortIndex p = 0; p < plan.ports.size(); ++p) origins_.push_back(find_origin(p));
}

Steps PortGraph::read_alike(StepIndex s) const {
  Steps others;
  for (const PortIndex p : step(s).in) {
    if (p == kNoPort) continue;
    const Steps& readers = readers_[p];
    others.insert(others.end(), readers.begin(), std::ranges::lower_bound(readers, s));
  }
  std::ranges::sort(others);
  others.erase(std::unique(others.begin(), others.end()), others.end());
  return others;
}

bool PortGraph::leaves(PortIndex p, const Steps& steps) const {
  return is_published_[p] || std::ranges::any_of(readers_[p], [&](StepIndex s) { return !contains(steps, s); });
}

Group PortGraph::group_of(Steps steps) const {
  Group group;
  for (const StepIndex s : steps) {
    for (const PortIndex p : step(s).in)
      if (!contains(group.inputs, p) && !contains(steps, maker_of(p))) group.inputs.push_back(p);
    for (const PortIndex p : step(s).out)
      if (leaves(p, steps)) group.outputs.push_back(p);
  }
  group.steps = std::move(steps);
  return group;
}

/// The earliest port known to have the same positions as this one in every block.
PortIndex PortGraph::find_origin(PortIndex p) const {
  const StepIndex s = port(p).maker;
  if (s == kNoStep) return p;
  const bool counted_again = port(p).shape.axis != Axis::stream && !codes_[s] && port(p).has_own_count();
  if (!keeps_positions(step(s)) || counted_again) return p;
  const PortIndex origin = origins_[step(s).lead()];
  const bool is_alone =
      std::ranges::all_of(step(s).in, [&](PortIndex in) { return in != kNoPort && origins_[in] == origin; });
  return is_alone ? origin : p;
}

/// Whether this output depends on all inputs of the group.
bool PortGraph::needs_all(PortIndex output, const Group& group) const {
  std::set<PortIndex> needed{output};
  for (auto s = group.steps.rbegin(); s != group.steps.rend(); ++s)
    if (std::ranges::any_of(step(*s).out, [&](PortIndex p) { return needed.contains(p); }))
      needed.insert(step(*s).in.begin(), step(*s).in.end());
  return std::ranges::all_of(group.inputs, [&](PortIndex p) { return needed.contains(p); });
}

/// The port whose positions a group's output has: a step takes those of its first input.
PortIndex PortGraph::lead_of(PortIndex output, const Group& group) const {
  PortIndex p = output;
  while (contains(group.steps, port(p).maker)) p = step(port(p).maker).lead();
  return origins_[p];
}

/// A step's outputs exist where all of its inputs do, reach as far back, and have the count of its first input. This
/// must hold for each output of the group by itself, or they cannot be outputs of one step.
bool PortGraph::has_one_extent(Group& group) const {
  const PortIndex lead = lead_of(group.outputs.front(), group);
  for (const PortIndex p : group.outputs)
    if (!needs_all(p, group) || lead_of(p, group) != lead) return false;
  if (group.inputs.empty()) return true;
  const auto first = std::ranges::find_if(group.inputs, [&](PortIndex p) { return origins_[p] == lead; });
  if (first == group.inputs.end()) return false;
  std::rotate(group.inputs.begin(), first, first + 1);
  return true;
}

}  // namespace iqd::fusion
