// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/planner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/integer.hpp"
#include "pipeline/plan/away_part.hpp"
#include "pipeline/plan/fusion/fuse.hpp"
#include "pipeline/plan/key_judge.hpp"
#include "pipeline/plan/plan_layout.hpp"
#include "pipeline/plan/reach.hpp"
#include "pipeline/plan/shape_check.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {
namespace {

/// What holds for the place of every stream of samples in the spectrum.
void settle_place(const PortShape& in, PortShape& out) {
  if (out.axis != Axis::stream || !out.item.empty()) return;
  if (traits(in.element).complex && !traits(out.element).complex) out.leave_air();
  if (out.span_hz >= out.rate_hz) out.span_hz = 0;
}

}  // namespace

Planner::Planner(std::string pipeline, std::int64_t block, std::span<const StageEntry> stages, PlanTarget target)
    : stages_(stages), target_(std::move(target)) {
  plan_.pipeline = std::move(pipeline);
  plan_.groups = target_.groups;
  plan_.block = plan_.grid = block;
}

void Planner::add_source(std::string name, PortShape shape, Rate rate) {
  PlanPort port;
  port.name = std::move(name);
  port.most_new = shape.axis == Axis::stream    ? mul_div_up(plan_.block, rate.num, rate.den)
                  : shape.axis == Axis::counted ? shape.most
                                                : 1;
  port.shape = std::move(shape);
  port.rate = rate;
  port.home = Home::window;
  add_port(std::move(port));
  ++plan_.sources;
}

PortIndex Planner::add_port(PlanPort port) {
  const PortIndex index = plan_.ports.size();
  names_.add_port(port.name, index);
  plan_.ports.push_back(std::move(port));
  return index;
}

/// Names the last port, which the planner inserted, so that it can be found.
PortIndex Planner::rename_last_port(const std::string& name) {
  const PortIndex index = plan_.ports.size() - 1;
  names_.rename_port(plan_.ports.back().name, name, index);
  plan_.ports.back().name = name;
  return index;
}

bool Planner::add_step(PlanStep step, const Section& section) {
  if (!shape_step(step, section)) return false;
  const StepIndex index = plan_.steps.size();
  for (const PortIndex in : step.in)
    if (in != kNoPort) plan_.ports[in].last_reader = index;
  names_.add_step(step.name, index);
  plan_.steps.push_back(std::move(step));
  return true;
}

/// Asks the stage for its outputs, and adds them as ports if they are accepted.
bool Planner::shape_step(PlanStep& step, const Section& section) {
  // Without rates, a complaint may be a consequence of that, unless it comes at any rate. A conversion does not depend
  // on them.
  Problems unsaid;
  const Section silent = section.with(unsaid);
  const Section& to = rates_are_known_ || step.entry->make_converter ? section : silent;
  std::vector<PortShape> in, out;
  for (const PortIndex p : step.in) in.push_back(p != kNoPort ? plan_.ports[p].shape : PortShape{});
  out.assign(step.entry->outputs.size(), in.empty() ? PortShape{} : in.front());
  step.footprint.assign(std::max<std::size_t>(in.size(), 1), Footprint{});
  ShapeContext context{
      .in = in, .out = out, .footprint = step.footprint, .most_new = plan_.ports[step.lead()].most_new, .section = to};
  const std::size_t problems = to.problems().size();
  ask_for_shape(*step.stage, context);
  if (!in.empty())
    for (PortShape& port : out) settle_place(in.front(), port);
  if (to.problems().size() > problems) {
    if (&to == &silent) judge_keys(*step.stage, *step.entry, section);
    return false;
  }
  const std::size_t faults = section.problems().size();
  step.stage->compile(on_device(step.side), section);
  if (section.problems().size() > faults || !accept_declared(step, out, plan_, to)) return false;
  step.scratch_bytes = context.scratch_bytes;
  step.carry_bytes = context.carry_bytes;
  step.chunk_exempt = context.chunk_exempt;
  std::vector<PlanPort> ports;
  for (std::size_t o = 0; o < out.size(); ++o) ports.push_back(output_port(step, o, std::move(out[o])));
  if (!std::ranges::all_of(ports, [&](const PlanPort& port) { return accept_output(port, to); })) return false;
  for (PlanPort& port : ports) step.out.push_back(add_port(std::move(port)));
  return true;
}

PlanPort Planner::output_port(const PlanStep& step, std::size_t output, PortShape shape) const {
  const PlanPort& first = plan_.ports[step.lead()];
  const Footprint& footprint = step.footprint.front();
  PlanPort port;
  port.name = fmt::format("{}.{}", step.name, step.entry->outputs[output].name);
  port.maker = plan_.steps.size();
  port.side = step.side;
  if (shape.axis == Axis::stream) {
    // Without `whole`, each output has its own place in its granule.
    const std::int64_t apart = footprint.whole ? footprint.granule : ceil_div(footprint.granule, footprint.yield);
    const std::int64_t lag = first.lag + (starts_at_granule(plan_.grid, first, footprint) ? 0 : apart - 1);
    port.rate = first.rate.times(footprint.yield, footprint.granule);
    port.most_new = most_from(footprint, first.most_new);
    port.lag = scale_up(lag, footprint.yield, footprint.granule);
  } else {
    port.most_new = shape.axis == Axis::counted ? shape.most : 1;
  }
  port.shape = std::move(shape);
  return port;
}

OutputIndex Planner::publish(std::string_view name, const Section& section, std::string_view key,
                             std::string_view dtype) {
  PortIndex port = find_port(name, section, key);
  if (port == kUnknownPort) return kNoOutput;
  // With a device, even the source's port goes through it, since the lane's queue is the device's.
  if (port < plan_.sources && on_device(target_.side)) port = transferred(port, target_.side, section);
  if (port == kUnknownPort) return kNoOutput;
  const PlanPort& source = plan_.ports[port];
  if (port < plan_.sources && !accept_output(source, section)) return kNoOutput;
  const auto element = element_named(dtype);
  if (element && *element != source.shape.element) port = converted(port, *element, section, source.side);
  if (port == kUnknownPort) return kNoOutput;
  for (OutputIndex o = 0; o < plan_.outputs.size(); ++o)
    if (plan_.outputs[o].port == port) return o;
  plan_.outputs.emplace_back().port = port;
  return plan_.outputs.size() - 1;
}

Plan Planner::finish(const Section& section, bool whole_granules) {
  if (whole_granules) check_granules(plan_, section);
  find_unread();
  if (target_.fuse) fusion::fuse_neighbours(plan_, target_.device_fuses);
  if (target_.pool) put_away_first(plan_);
  find_reach(plan_);
  if (std::ranges::all_of(plan_.ports, [&](const PlanPort& port) { return accept_reach(port, section); }))
    lay_out(plan_, target_);
  if (target_.pool) find_returned(plan_);
  find_parts(plan_);
  describe_outputs(plan_);
  // What becomes a fact in other ports' headers is read, too.
  std::erase_if(plan_.unread, [this](const std::string& step) {
    return std::ranges::any_of(plan_.ports,
                               [&](const PlanPort& p) { return p.wanted && p.name.starts_with(step + '.'); });
  });
  return std::move(plan_);
}

/// Lists the stages that could be left out. Before fusion, since that leaves out ports.
void Planner::find_unread() {
  for (const PlanStep& step : plan_.steps) {
    const auto is_read = [&](PortIndex p) { return plan_.ports[p].is_read() || plan_.is_published(p); };
    if (!step.out.empty() && std::ranges::none_of(step.out, is_read)) plan_.unread.push_back(step.name);
  }
}

}  // namespace iqd
