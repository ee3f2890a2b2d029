// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/plan_layout.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "pipeline/plan/alignment.hpp"
#include "pipeline/plan/arena_space.hpp"
#include "pipeline/plan/slot_layout.hpp"

namespace iqd {
namespace {

void size_ports(Plan& plan) {
  for (PlanPort& port : plan.ports) {
    const bool stream = port.shape.axis == Axis::stream;
    port.capacity = port.most_new + (stream ? port.reach.past + port.reach.future : 0);
    port.pitch = port_aligned(bounded_bytes(port.capacity, static_cast<std::size_t>(port.shape.item_bytes())));
    port.wanted = port.is_read();
  }
}

/// A window with past or future crosses to the device with each block, unless the device keeps it.
void keep_source(Plan& plan, const PlanTarget& target) {
  const PlanPort& source = plan.ports.front();
  // A device does not see the samples of blocks that other hosts compute.
  if (source.shape.axis != Axis::stream || target.pool) return;
  const auto copies = [](const PlanStep& step) {
    return step.is_transfer() && step.in.front() == 0 && on_device(step.side);
  };
  const auto step = std::ranges::find_if(plan.steps, copies);
  if (step == plan.steps.end()) return;
  const bool in_place = std::ranges::any_of(plan.steps, [&](const PlanStep& s) {
    return &s != &*step && s.side == step->side && std::ranges::find(s.in, PortIndex{0}) != s.in.end();
  });
  if (in_place) return;
  const PortIndex copied = step->out.front();
  PlanPort& copy = plan.ports[copied];
  // Between two blocks of a device, others take their turns, whose samples it may need as well.
  const auto others = static_cast<std::int64_t>(plan.group(step->side).devices.size()) - 1;
  const std::int64_t kept = copy.reach.past + copy.reach.future - others * copy.most_new;
  if (kept <= 0 || bounded_bytes(copy.shape.row_count() * kept, copy.shape.item_bytes()) < target.ring_saves) return;
  copy.home = Home::ring;
  copy.reach = plan.window();  // so that it begins at a boundary, too
  plan.ringed = copied;
}

/// A port lives from its maker to its last reader, or to the end if it is published.
void place_in_arena(Plan& plan, Side side) {
  ArenaSpace space;
  for (StepIndex s = 0; s < plan.steps.size(); ++s) {
    space.begin_step(s);
    PlanStep& step = plan.steps[s];
    if (step.scratch_bytes && step.side == Side::host && side == Side::host)
      step.scratch_offset = space.place(port_aligned(step.scratch_bytes), s);
    for (std::size_t o = 0; o < step.out.size(); ++o) {
      PlanPort& port = plan.ports[step.out[o]];
      if (port.side != side || port.home != Home::arena || (!port.wanted && step.entry->outputs[o].can_omit)) continue;
      const StepIndex last = port.is_read() ? std::max(port.last_reader, s) : s;
      port.offset = space.place(port.bytes(), plan.is_published(step.out[o]) ? plan.steps.size() : last);
    }
  }
  plan.arena_bytes[index_of(side)] = space.bytes();
}

}  // namespace

void lay_out(Plan& plan, const PlanTarget& target) {
  size_ports(plan);
  keep_source(plan, target);
  SlotLayout(plan, target).lay_out();
  place_in_arena(plan, Side::host);
  for (std::size_t g = 0; g < plan.groups.size(); ++g) place_in_arena(plan, device_side(g));
}

void find_parts(Plan& plan) {
  for (StepIndex s = 0; s < plan.steps.size(); ++s) {
    const Side side = plan.steps[s].side;
    if (plan.parts.empty() || plan.parts.back().side != side) plan.parts.push_back({side, s, s});
    plan.parts.back().end = s + 1;
  }
  if (plan.parts.empty()) plan.parts.push_back({});
}

PortFormat format_of(const Plan& plan, const PlanPort& port) {
  PortFormat f;
  f.pipeline = plan.pipeline;
  // A conversion or transfer before the output keeps the name of the port that it reads.
  f.port = port.name;
  while (f.port.front() == '~') f.port = f.port.substr(1, f.port.rfind('.') - 1);
  f.element = port.shape.element;
  f.dims = port.shape.rows;
  if (port.shape.axis != Axis::block) {
    f.varying = static_cast<int>(f.dims.size());
    f.dims.push_back({port.shape.axis_name, port.most_new});
  }
  f.dims.insert(f.dims.end(), port.shape.item.begin(), port.shape.item.end());
  f.rate_hz = port.shape.source_rate_hz;
  f.frequency_hz = port.shape.frequency_hz;
  f.span_hz = port.shape.span_hz;
  f.mirrored = port.shape.mirrored;
  f.llr_scale = port.shape.llr_scale;
  f.calibrated = std::ranges::find(port.shape.marks, kCalibratedMark) != port.shape.marks.end();
  f.item_rate_hz = port.shape.axis == Axis::stream ? port.shape.rate_hz : 0;
  return f;
}

void describe_outputs(Plan& plan) {
  for (PlanOutput& output : plan.outputs) {
    output.format = format_of(plan, plan.ports[output.port]);
    output.format.facts = static_cast<int>(output.facts.size());
  }
}

}  // namespace iqd
