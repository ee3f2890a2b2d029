// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/slot_layout.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/block.hpp"
#include "base/integer.hpp"
#include "pipeline/plan/alignment.hpp"

namespace iqd {
namespace {

/// Marks the steps that a port depends on.
std::vector<bool> steps_behind(const Plan& plan, PortIndex port) {
  std::vector<bool> behind(plan.steps.size(), false);
  std::vector<PortIndex> left{port};
  while (!left.empty()) {
    const PlanPort& p = plan.ports[left.back()];
    left.pop_back();
    if (p.is_source() || behind[p.maker]) continue;
    behind[p.maker] = true;
    for (const PortIndex in : plan.steps[p.maker].in)
      if (in != kNoPort) left.push_back(in);
  }
  return behind;
}

}  // namespace

SlotLayout::SlotLayout(Plan& plan, const PlanTarget& target)
    : plan_(plan),
      target_(target),
      end_(port_aligned(sizeof(SampleBlock) + plan.ports.size() * (2 * sizeof(std::int64_t) + sizeof(std::int32_t)))) {}

void SlotLayout::lay_out() {
  for (PlanOutput& output : plan_.outputs) {
    place_output(output);
    gather_facts(output);
  }
  gather_numbers();
  place_kept();
  plan_.slot_bytes = end_;
}

/// Returns where the bytes begin.
std::size_t SlotLayout::take(std::size_t bytes) noexcept {
  const std::size_t at = end_;
  end_ = bounded_sum(end_, bytes);
  return at;
}

/// The port lies in the slot; it gets its place later.
void SlotLayout::keep(PortIndex port) noexcept {
  plan_.ports[port].home = Home::slot;
  plan_.ports[port].wanted = true;
}

void SlotLayout::place_output(PlanOutput& output) {
  PlanPort& port = plan_.ports[output.port];
  port.wanted = true;
  output.stays = target_.results_stay && on_device(port.side);
  if (output.stays) return;
  const std::size_t bytes = port.new_bytes();
  output.in_place = port.home != Home::window && port.home != Home::ring && port.reach.past == 0 &&
                    port.reach.future == 0 &&
                    (port.side == Side::host || (bytes <= target_.mapped.out && !port.is_read()));
  output.offset = take(port_aligned(bytes));
  if (output.in_place) port.home = Home::slot, port.offset = output.offset;
}

/// Collects the facts about the items of a counted port: every upstream output that is declared as a fact of the same
/// items. If two have the same key, the later stage's is used.
void SlotLayout::gather_facts(PlanOutput& output) {
  const PortShape& shape = plan_.ports[output.port].shape;
  if (shape.axis != Axis::counted) return;
  const std::vector<bool> behind = steps_behind(plan_, output.port);
  for (StepIndex s = 0; s < plan_.steps.size(); ++s) {
    const PlanStep& step = plan_.steps[s];
    for (std::size_t o = 0; behind[s] && o < step.out.size(); ++o) {
      const std::string_view key = step.entry->outputs[o].fact;
      if (key.empty() || plan_.ports[step.out[o]].shape.axis_name != shape.axis_name) continue;
      std::erase_if(output.facts, [&](const PlanOutput::Fact& f) { return f.key == key; });
      output.facts.push_back({std::string(key), step.out[o], plan_.ports[step.lead()].rate});
      keep(step.out[o]);
    }
  }
}

/// Collects the ports whose numbers are shown to the operator.
void SlotLayout::gather_numbers() {
  for (const PlanStep& step : plan_.steps)
    for (std::size_t o = 0; o < step.out.size(); ++o) {
      const OutputSpec& output = step.entry->outputs[o];
      if (output.tally.empty() && !output.levels) continue;
      keep(step.out[o]);
      (output.levels ? plan_.levels : plan_.tallies).push_back(step.out[o]);
    }
}

/// Places the ports in the slot that are no output themselves.
void SlotLayout::place_kept() {
  for (PortIndex p = 0; p < plan_.ports.size(); ++p) {
    PlanPort& port = plan_.ports[p];
    const bool is_placed =
        std::ranges::any_of(plan_.outputs, [p](const PlanOutput& o) { return o.port == p && o.in_place; });
    if (port.home == Home::slot && !is_placed) port.offset = take(port.bytes());
  }
}

}  // namespace iqd
