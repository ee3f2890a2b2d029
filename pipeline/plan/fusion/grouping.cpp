// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/fusion/grouping.hpp"

#include <algorithm>
#include <cassert>
#include <set>

#include "pipeline/plan/fusion/element_program.hpp"

namespace iqd::fusion {

Grouping::Grouping(const PortGraph& graph)
    : graph_(graph),
      group_(graph.steps()),
      members_(graph.steps()),
      changed_(graph.steps(), 0),
      seen_(graph.steps(), 0) {
  for (StepIndex s = 0; s < graph.steps(); ++s) {
    group_[s] = s;
    members_[s] = {s};
    leaving_.push_back(graph.group_of({s}).outputs.size());
  }
  join_neighbours();
}

/// Repeats until nothing more can be joined: two groups that cannot be joined may be once a third has joined.
void Grouping::join_neighbours() {
  constexpr std::size_t kMostPasses = 32;
  for (bool is_joining = true; is_joining && pass_ < kMostPasses;) {
    is_joining = false;
    ++pass_;
    for (StepIndex s = 0; s < graph_.steps(); ++s)
      for (const PortIndex p : graph_.step(s).in)
        if (const StepIndex maker = graph_.maker_of(p); maker != kNoStep) is_joining = join(maker, s) || is_joining;
    // Steps that read the same port: it is loaded once for all of them.
    for (StepIndex s = 0; s < graph_.steps(); ++s)
      for (const StepIndex t : graph_.read_alike(s)) is_joining = join(t, s) || is_joining;
  }
}

/// Joins the groups of two steps; false if that is not possible.
bool Grouping::join(StepIndex one, StepIndex other) {
  const StepIndex a = std::min(group_[one], group_[other]), b = std::max(group_[one], group_[other]);
  if (a == b || !graph_.code_of(one) || !graph_.code_of(other)) return false;
  // If neither has changed since the last try, they cannot be joined now either.
  if (std::max(changed_[a], changed_[b]) + 1 < pass_) return false;
  if (members_[a].size() + members_[b].size() > kMostCalls) return false;
  // A quick check first, since all pairs of possibly thousands of readers are tried.
  const std::size_t outputs = leaving_[a] + leaving_[b];
  if ((outputs == 0 || outputs > kMostOutputs) && !reads_from(a, b) && !reads_from(b, a)) return false;
  Steps both = members_[a];
  both.insert(both.end(), members_[b].begin(), members_[b].end());
  std::ranges::sort(both);
  if (!may_be_one(both) || leads_around(a, b) || leads_around(b, a)) return false;
  for (const StepIndex s : both) group_[s] = a;
  members_[a] = std::move(both);
  members_[b].clear();
  leaving_[a] = graph_.group_of(members_[a]).outputs.size();
  changed_[a] = pass_;
  return true;
}

bool Grouping::may_be_one(const Steps& steps) const {
  const PlanStep& first = graph_.step(steps.front());
  const bool alike = std::ranges::all_of(steps, [&](StepIndex s) {
    const PlanStep& step = graph_.step(s);
    return step.side == first.side && is_alike(graph_.port(step.out.front()), graph_.port(first.out.front()));
  });
  Group group = graph_.group_of(steps);
  return alike && steps.size() <= kMostCalls && group.inputs.size() <= kMostInputs && !group.outputs.empty() &&
         group.outputs.size() <= kMostOutputs && graph_.has_one_extent(group);
}

/// Whether a path from one group to the other goes through a third. Searched from its end; steps before the first of
/// `from` need no search.
bool Grouping::leads_around(StepIndex from, StepIndex to) const {
  ++search_;
  Steps left{to};
  while (!left.empty()) {
    const StepIndex at = left.back();
    left.pop_back();
    for (const StepIndex s : members_[at])
      for (const PortIndex p : graph_.step(s).in) {
        const StepIndex maker = graph_.maker_of(p);
        if (maker == kNoStep) continue;
        const StepIndex by = group_[maker];
        if (by == from && at != to) return true;
        if (by == from || by == to || seen_[by] == search_ || members_[by].back() < members_[from].front()) continue;
        seen_[by] = search_;
        left.push_back(by);
      }
  }
  return false;
}

bool Grouping::reads_from(StepIndex one, StepIndex other) const {
  return std::ranges::any_of(members_[one], [&](StepIndex s) {
    return std::ranges::any_of(graph_.step(s).in, [&](PortIndex p) {
      const StepIndex maker = graph_.maker_of(p);
      return maker != kNoStep && group_[maker] == other;
    });
  });
}

std::vector<Group> Grouping::groups() const {
  std::vector<Group> all(graph_.steps());
  std::vector<std::size_t> waits_for(graph_.steps(), 0);  // groups that it reads from and that are not sorted yet
  std::vector<std::set<StepIndex>> readers(graph_.steps());
  for (StepIndex s = 0; s < graph_.steps(); ++s) {
    if (group_[s] != s) continue;
    all[s] = graph_.group_of(members_[s]);
    for (const PortIndex p : all[s].inputs)
      if (const StepIndex maker = graph_.maker_of(p); maker != kNoStep && readers[group_[maker]].insert(s).second)
        ++waits_for[s];
  }
  // Always takes the first group that is ready, so that unfused steps keep their order.
  std::set<StepIndex> ready;
  for (StepIndex s = 0; s < graph_.steps(); ++s)
    if (group_[s] == s && waits_for[s] == 0) ready.insert(s);
  std::vector<Group> sorted;
  while (!ready.empty()) {
    const StepIndex first = *ready.begin();
    ready.erase(ready.begin());
    if (all[first].steps.size() > 1) graph_.has_one_extent(all[first]);
    sorted.push_back(std::move(all[first]));
    for (const StepIndex r : readers[first])
      if (--waits_for[r] == 0) ready.insert(r);
  }
  assert(std::ssize(sorted) == std::ranges::count_if(members_, [](const Steps& m) { return !m.empty(); }));
  return sorted;
}

}  // namespace iqd::fusion
