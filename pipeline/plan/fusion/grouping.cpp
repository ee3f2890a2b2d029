// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/fusion/grouping.hpp"

#include <algorithm>
#include <cassert>
#include <set>

#include "pipeline/plan/fusion/element_program.hpp"

namespace iqd::fusion {
namespace {

template <class Range, class T> bool contains(const Range& range, const T& value) {
  return std::ranges::find(range, value) != range.end();
}

/// Output position p comes of input position p, and what is around it, at all of the inputs.
bool keeps_positions(const PlanStep& step) {
  return step.carry_bytes == 0 &&
         std::ranges::all_of(step.footprint, [](const Footprint& f) { return f.granule == 1 && f.yield == 1; });
}

bool is_alike(const PlanPort& a, const PlanPort& b) {
  return a.shape.axis == b.shape.axis && a.shape.axis_name == b.shape.axis_name && a.rate == b.rate &&
         a.most_new == b.most_new && a.shape.row_count() == b.shape.row_count() &&
         a.shape.item_size() == b.shape.item_size();
}

}  // namespace

Grouping::Grouping(const Plan& plan, const std::array<bool, kSides>& sides)
    : plan_(plan),
      sides_(sides),
      readers_(plan.ports.size()),
      is_published_(plan.ports.size(), false),
      group_(plan.steps.size()),
      members_(plan.steps.size()),
      changed_(plan.steps.size(), 0),
      seen_(plan.steps.size(), 0) {
  for (const PlanOutput& o : plan.outputs) is_published_[static_cast<std::size_t>(o.port)] = true;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    codes_.push_back(code_for(plan.steps[s]));
    group_[s] = s;
    members_[s] = {s};
    for (const int p : plan.steps[s].in)
      if (p >= 0 && !contains(readers_[static_cast<std::size_t>(p)], s))
        readers_[static_cast<std::size_t>(p)].push_back(s);
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s) leaving_.push_back(group_of({s}).outputs.size());
  // Ports come behind those that they are made of.
  for (std::size_t p = 0; p < plan.ports.size(); ++p) origins_.push_back(find_origin(static_cast<int>(p)));
  join_neighbours();
}

std::shared_ptr<const ElementCode> Grouping::code_for(const PlanStep& s) const {
  const auto* stage = dynamic_cast<const ElementStage*>(s.stage.get());
  if (!stage || !sides_[index_of(s.side)] || !keeps_positions(s)) return nullptr;
  if (std::ranges::any_of(s.footprint, [](const Footprint& f) { return f.past > 0 || f.future > 0; })) return nullptr;
  if (s.in.size() > kMostOfCall || s.out.empty() || s.out.size() > kMostOfCall || contains(s.in, -1)) return nullptr;
  for (const OutputSpec& o : s.entry->outputs)
    if (!o.fact.empty() || !o.tally.empty() || o.levels) return nullptr;
  for (const auto* ports : {&s.in, &s.out})
    for (const int p : *ports) {
      if (!is_alike(port(p), port(s.out.front()))) return nullptr;
      if (s.side == Side::device && device_type(port(p).shape.element).empty()) return nullptr;
    }
  std::shared_ptr<const ElementCode> code = stage->elements();
  return code && s.side == Side::device && !code->device_code() ? nullptr : code;
}

/// Until nothing more can be joined: two that may not be one may be when a third is with them.
void Grouping::join_neighbours() {
  constexpr std::size_t kMostPasses = 32;
  for (bool is_joining = true; is_joining && pass_ < kMostPasses;) {
    is_joining = false;
    ++pass_;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s)
      for (const int p : step(s).in)
        if (p >= 0 && port(p).maker >= 0) is_joining = join(static_cast<std::size_t>(port(p).maker), s) || is_joining;
    // Those that read the same: it is loaded once for all of them.
    for (std::size_t s = 0; s < plan_.steps.size(); ++s)
      for (const std::size_t t : read_alike(s)) is_joining = join(t, s) || is_joining;
  }
}

/// The steps before that read what this one reads.
Grouping::Steps Grouping::read_alike(std::size_t s) const {
  Steps others;
  for (const int p : step(s).in) {
    if (p < 0) continue;
    const Steps& readers = readers_[static_cast<std::size_t>(p)];
    others.insert(others.end(), readers.begin(), std::ranges::lower_bound(readers, s));
  }
  std::ranges::sort(others);
  others.erase(std::unique(others.begin(), others.end()), others.end());
  return others;
}

/// Whether two steps, and all that are one with them, could be joined.
bool Grouping::join(std::size_t one, std::size_t other) {
  const std::size_t a = std::min(group_[one], group_[other]), b = std::max(group_[one], group_[other]);
  if (a == b || !codes_[one] || !codes_[other]) return false;
  // Where neither has changed since they were tried last they cannot be joined now.
  if (std::max(changed_[a], changed_[b]) + 1 < pass_) return false;
  if (members_[a].size() + members_[b].size() > kMostCalls) return false;
  // Seen at once, since of thousands that read the same every two are tried.
  const std::size_t outputs = leaving_[a] + leaving_[b];
  if ((outputs == 0 || outputs > kMostOutputs) && !reads_from(a, b) && !reads_from(b, a)) return false;
  Steps both = members_[a];
  both.insert(both.end(), members_[b].begin(), members_[b].end());
  std::ranges::sort(both);
  if (!may_be_one(both) || leads_around(a, b) || leads_around(b, a)) return false;
  for (const std::size_t s : both) group_[s] = a;
  members_[a] = std::move(both);
  members_[b].clear();
  leaving_[a] = group_of(members_[a]).outputs.size();
  changed_[a] = pass_;
  return true;
}

bool Grouping::may_be_one(const Steps& steps) const {
  const PlanStep& first = step(steps.front());
  const bool alike = std::ranges::all_of(steps, [&](std::size_t s) {
    return step(s).side == first.side && is_alike(port(step(s).out.front()), port(first.out.front()));
  });
  Group group = group_of(steps);
  return alike && steps.size() <= kMostCalls && group.inputs.size() <= kMostInputs && !group.outputs.empty() &&
         group.outputs.size() <= kMostOutputs && has_one_extent(group);
}

/// Whether a way from one group to the other goes through a third. Looked for from its end: what stands before the
/// first of `from` does not lead there.
bool Grouping::leads_around(std::size_t from, std::size_t to) const {
  ++search_;
  Steps left{to};
  while (!left.empty()) {
    const std::size_t at = left.back();
    left.pop_back();
    for (const std::size_t s : members_[at])
      for (const int p : step(s).in) {
        if (p < 0 || port(p).maker < 0) continue;
        const std::size_t by = group_[static_cast<std::size_t>(port(p).maker)];
        if (by == from && at != to) return true;
        if (by == from || by == to || seen_[by] == search_ || members_[by].back() < members_[from].front()) continue;
        seen_[by] = search_;
        left.push_back(by);
      }
  }
  return false;
}

bool Grouping::reads_from(std::size_t one, std::size_t other) const {
  return std::ranges::any_of(members_[one], [&](std::size_t s) {
    return std::ranges::any_of(step(s).in, [&](int p) {
      return p >= 0 && port(p).maker >= 0 && group_[static_cast<std::size_t>(port(p).maker)] == other;
    });
  });
}

bool Grouping::leaves(int p, const Steps& steps) const {
  const auto at = static_cast<std::size_t>(p);
  return is_published_[at] || std::ranges::any_of(readers_[at], [&](std::size_t s) { return !contains(steps, s); });
}

Group Grouping::group_of(Steps steps) const {
  Group group;
  for (const std::size_t s : steps) {
    for (const int p : step(s).in)
      if (!contains(group.inputs, p) && !(p >= 0 && contains(steps, static_cast<std::size_t>(port(p).maker))))
        group.inputs.push_back(p);
    for (const int p : step(s).out)
      if (leaves(p, steps)) group.outputs.push_back(p);
  }
  group.steps = std::move(steps);
  return group;
}

/// A port that has this one's positions in every block, as far back as can be told.
int Grouping::find_origin(int p) const {
  if (port(p).maker < 0) return p;
  const auto s = static_cast<std::size_t>(port(p).maker);
  const bool counted_anew = port(p).shape.axis != Axis::stream && !codes_[s] && port(p).count_of < 0;
  if (!keeps_positions(step(s)) || counted_anew) return p;
  const int origin = origin_of(static_cast<int>(step(s).lead()));
  const bool is_alone = std::ranges::all_of(step(s).in, [&](int in) { return in >= 0 && origin_of(in) == origin; });
  return is_alone ? origin : p;
}

/// Whether this output is made of all that goes into the group.
bool Grouping::needs_all(int output, const Group& group) const {
  std::set<int> needed{output};
  for (auto s = group.steps.rbegin(); s != group.steps.rend(); ++s)
    if (std::ranges::any_of(step(*s).out, [&](int p) { return needed.contains(p); }))
      needed.insert(step(*s).in.begin(), step(*s).in.end());
  return std::ranges::all_of(group.inputs, [&](int p) { return needed.contains(p); });
}

/// Where the positions of a group's output come from: a step counts by its first input.
int Grouping::lead_of(int output, const Group& group) const {
  int p = output;
  while (port(p).maker >= 0 && contains(group.steps, static_cast<std::size_t>(port(p).maker)))
    p = static_cast<int>(step(static_cast<std::size_t>(port(p).maker)).lead());
  return origin_of(p);
}

/// A step's outputs exist where all of its inputs do, reach as far back, and are counted by its first input. So has
/// each output of the group to do by itself, or they cannot be one step's. Puts the input first that they are counted
/// by.
bool Grouping::has_one_extent(Group& group) const {
  const int lead = lead_of(group.outputs.front(), group);
  for (const int p : group.outputs)
    if (!needs_all(p, group) || lead_of(p, group) != lead) return false;
  if (group.inputs.empty()) return true;
  const auto first = std::ranges::find_if(group.inputs, [&](int p) { return origin_of(p) == lead; });
  if (first == group.inputs.end()) return false;
  std::rotate(group.inputs.begin(), first, first + 1);
  return true;
}

std::vector<Group> Grouping::groups() const {
  std::vector<Group> all(plan_.steps.size());
  std::vector<std::size_t> waits_for(plan_.steps.size(), 0);  // groups that it reads from, and that are not yet sorted
  std::vector<std::set<std::size_t>> readers(plan_.steps.size());
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    if (group_[s] != s) continue;
    all[s] = group_of(members_[s]);
    for (const int p : all[s].inputs)
      if (p >= 0 && port(p).maker >= 0 && readers[group_[static_cast<std::size_t>(port(p).maker)]].insert(s).second)
        ++waits_for[s];
  }
  // The first that can be: what stays as it is keeps its order.
  std::set<std::size_t> ready;
  for (std::size_t s = 0; s < plan_.steps.size(); ++s)
    if (group_[s] == s && waits_for[s] == 0) ready.insert(s);
  std::vector<Group> sorted;
  while (!ready.empty()) {
    const std::size_t first = *ready.begin();
    ready.erase(ready.begin());
    if (all[first].steps.size() > 1) has_one_extent(all[first]);
    sorted.push_back(std::move(all[first]));
    for (const std::size_t r : readers[first])
      if (--waits_for[r] == 0) ready.insert(r);
  }
  assert(std::ssize(sorted) == std::ranges::count_if(members_, [](const Steps& m) { return !m.empty(); }));
  return sorted;
}

}  // namespace iqd::fusion
