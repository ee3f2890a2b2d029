// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "base/integer.hpp"
#include "pipeline/plan/plan.hpp"
#include "pipeline/plan/shape_check.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kScratchAlign = 256;  // NVIDIA's libraries want that of their working memory

void ask_for_shape(Stage& stage, ShapeContext& context) {
  try {
    stage.shape(context);
  } catch (const std::bad_alloc&) {
    context.section.problem("", "its keys ask for more memory than there is");
  } catch (const std::length_error&) {
    context.section.problem("", "its keys ask for more memory than any machine has");
  }
}

}  // namespace

std::size_t PlanPort::bytes() const noexcept {
  return bounded_bytes(shape.row_count(), pitch);
}

bool Plan::sequential() const noexcept {
  return std::any_of(steps.begin(), steps.end(), [](const PlanStep& s) { return s.carry_bytes > 0; });
}

bool Plan::uses(Side side) const noexcept {
  return std::any_of(parts.begin(), parts.end(), [side](const PlanPart& p) { return p.side == side; });
}

void Plan::prepare(Backend& host, std::span<const std::shared_ptr<Backend>> devices) {
  std::size_t scratch = 0;
  for (PlanStep& s : steps) {
    s.runs.clear();
    if (s.side == Side::host) s.runs.push_back(s.stage->make(host));
    for (const auto& device : devices)
      if (s.side == Side::device) {
        device->use();
        s.runs.push_back(s.stage->make(*device));
        scratch = std::max(scratch, s.runs.back()->device_scratch_bytes());
      }
  }
  // One step is at work at a time, so one piece serves all.
  std::size_t& arena = arena_bytes[index_of(Side::device)];
  device_scratch_offset = ceil_div(static_cast<std::int64_t>(arena), kScratchAlign) * kScratchAlign;
  arena = device_scratch_offset + scratch;
}

Planner::Planner(std::string pipeline, std::int64_t block, std::span<const StageEntry> stages, PlanTarget target)
    : stages_(stages), target_(target) {
  plan_.pipeline = std::move(pipeline);
  plan_.block = block;
}

int Planner::add_source(std::string name, PortShape shape, Rate rate) {
  PlanPort port;
  port.name = std::move(name);
  port.most_new = shape.axis == Axis::stream    ? mul_div_up(plan_.block, rate.num, rate.den)
                  : shape.axis == Axis::counted ? shape.most
                                                : 1;
  port.shape = std::move(shape);
  port.rate = rate;
  port.home = Home::window;
  add_port(std::move(port));
  return plan_.sources++;
}

/// Of two with one name the first is found by it.
int Planner::add_port(PlanPort port) {
  const auto number = static_cast<int>(plan_.ports.size());
  const auto dot = port.name.rfind('.');
  port_named_.emplace(port.name, number);
  if (dot != port.name.npos && port.name.front() != '~') ports_called_[port.name.substr(dot + 1)].push_back(number);
  plan_.ports.push_back(std::move(port));
  return number;
}

/// Gives what the planner put in the name that it is looked for by.
int Planner::call_last_port(const std::string& name) {
  const auto number = static_cast<int>(plan_.ports.size()) - 1;
  port_named_.erase(plan_.ports.back().name);
  port_named_.emplace(name, number);
  plan_.ports.back().name = name;
  return number;
}

bool Planner::add_step(PlanStep step, const Section& section) {
  if (!shape_step(step, section)) return false;
  const auto index = static_cast<int>(plan_.steps.size());
  for (const int in : step.in)
    if (in >= 0) plan_.ports[static_cast<std::size_t>(in)].last_reader = index;
  step_named_.emplace(step.name, index);
  plan_.steps.push_back(std::move(step));
  return true;
}

/// Asks the stage for its outputs, and adds them as ports where they can be.
bool Planner::shape_step(PlanStep& step, const Section& section) {
  std::vector<PortShape> in, out;
  for (const int p : step.in) in.push_back(p >= 0 ? plan_.ports[static_cast<std::size_t>(p)].shape : PortShape{});
  out.assign(step.entry->outputs.size(), in.empty() ? PortShape{} : in.front());
  step.footprint.assign(std::max<std::size_t>(in.size(), 1), Footprint{});
  ShapeContext context{.in = in,
                       .out = out,
                       .footprint = step.footprint,
                       .most_new = plan_.ports[step.lead()].most_new,
                       .section = section};
  const std::size_t problems = section.problems().size();
  ask_for_shape(*step.stage, context);
  if (section.problems().size() == problems) step.stage->compile(step.side == Side::device, section);
  if (section.problems().size() > problems || !accept_declared(step, out, plan_, section)) return false;
  step.scratch_bytes = context.scratch_bytes;
  step.carry_bytes = context.carry_bytes;
  step.chunk_exempt = context.chunk_exempt;
  std::vector<PlanPort> ports;
  for (std::size_t o = 0; o < out.size(); ++o) ports.push_back(output_port(step, o, std::move(out[o])));
  if (!std::ranges::all_of(ports, [&](const PlanPort& port) { return accept_output(port, section); })) return false;
  for (PlanPort& port : ports) step.out.push_back(add_port(std::move(port)));
  return true;
}

PlanPort Planner::output_port(const PlanStep& step, std::size_t output, PortShape shape) const {
  const PlanPort& first = plan_.ports[step.lead()];
  const Footprint& footprint = step.footprint.front();
  PlanPort port;
  port.name = fmt::format("{}.{}", step.name, step.entry->outputs[output].name);
  port.maker = static_cast<int>(plan_.steps.size());
  port.side = step.side;
  if (shape.axis == Axis::stream) {
    // Without `whole` an output lies at a place of its own in its granule.
    const std::int64_t apart = footprint.whole ? footprint.granule : ceil_div(footprint.granule, footprint.yield);
    const std::int64_t lag = first.lag + (aligned_to(first, footprint) ? 0 : apart - 1);
    port.rate = first.rate.times(footprint.yield, footprint.granule);
    port.most_new = most_from(footprint, first.most_new);
    port.lag = scale_up(lag, footprint.yield, footprint.granule);
  } else {
    port.most_new = shape.axis == Axis::counted ? shape.most : 1;
  }
  port.shape = std::move(shape);
  return port;
}

int Planner::publish(std::string_view name, const Section& section, std::string_view key, std::string_view dtype) {
  int port = find_port(name, section, key);
  if (port < 0) return -1;
  // Where there is a device the source goes through it: the lane's queue is the device's.
  if (port < plan_.sources && target_.side == Side::device) port = transferred(port, Side::device, section);
  if (port < 0) return -1;
  const PlanPort& source = plan_.ports[static_cast<std::size_t>(port)];
  if (port < plan_.sources && !accept_output(source, section)) return -1;
  const auto element = element_named(dtype);
  if (element && *element != source.shape.element) port = converted(port, *element, section, source.side);
  if (port < 0) return -1;
  for (std::size_t o = 0; o < plan_.outputs.size(); ++o)
    if (plan_.outputs[o].port == port) return static_cast<int>(o);
  PlanOutput output;
  output.port = port;
  plan_.outputs.push_back(std::move(output));
  return static_cast<int>(plan_.outputs.size()) - 1;
}

}  // namespace iqd
