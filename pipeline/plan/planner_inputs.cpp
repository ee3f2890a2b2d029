// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// Connects the inputs of a stage, and inserts conversions and transfers where needed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "pipeline/plan/planner.hpp"
#include "pipeline/plan/shape_check.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {
namespace {

bool inputs_exist(const Connections& from, const std::vector<InputSpec>& inputs, const StageEntry& entry,
                  const Section& section) {
  for (const auto& connection : from) {
    const std::string& input = connection.first;
    const bool known = std::any_of(inputs.begin(), inputs.end(), [&](const InputSpec& i) { return i.name == input; });
    if (known || (input.empty() && inputs.size() == 1)) continue;
    std::vector<std::string_view> names;
    for (const InputSpec& i : inputs) names.push_back(i.name);
    section.problem("from", fmt::format("{} has no input '{}'{}", entry.name, input, did_you_mean(input, names)));
    return false;
  }
  return true;
}

}  // namespace

PortIndex Planner::find_port(std::string_view name, const Section& section, std::string_view key) const {
  if (const PortIndex port = names_.port(name); port != kNoPort) return port;
  if (const StepIndex step = names_.step(name); step != kNoStep && plan_.steps[step].out.size() == 1)
    return plan_.steps[step].out.front();
  std::vector<std::string_view> names;
  for (const PlanPort& port : plan_.ports)
    if (!port.name.starts_with('~')) names.push_back(port.name);
  constexpr std::size_t kEnough = 30;
  std::string known = fmt::format("{}", fmt::join(std::span(names).first(std::min(names.size(), kEnough)), ", "));
  if (names.size() > kEnough) known += fmt::format(" and {} more", names.size() - kEnough);
  section.problem(key, fmt::format("there is no port '{}'{}; there are: {}", name, did_you_mean(name, names), known));
  return kNoPort;
}

/// The port that an input reads; kNoPort if it is optional and not connected, or if the named port does not exist.
/// Nothing after another problem.
std::optional<PortIndex> Planner::pick_input(const InputSpec& input, std::size_t inputs, const Connections& from,
                                             const Section& section) const {
  auto named = from.find(input.name);
  if (named == from.end() && inputs == 1) named = from.find("");
  if (named != from.end()) return find_port(named->second, section, "from");

  const std::span<const PortIndex> own_name = names_.outputs_called(input.name);
  for (auto p = own_name.rbegin(); p != own_name.rend(); ++p)
    if (input.takes(plan_.ports[*p].shape.element)) return *p;
  // External inputs of the same name, as `iqd exec` gives them.
  for (PortIndex s = 0; s < plan_.sources; ++s)
    if (plan_.ports[s].name == input.name) return s;
  if (input.optional) return kNoPort;
  const auto last =
      std::find_if(plan_.steps.rbegin(), plan_.steps.rend(), [](const PlanStep& s) { return s.name.front() != '~'; });
  if (last == plan_.steps.rend()) return 0;
  if (last->out.size() == 1) return last->out.front();
  section.problem("", last->out.empty()
                          ? fmt::format("input '{}' is not connected: stage '{}' before it has no output; say `from: "
                                        "{{{}: stage.output}}`",
                                        input.name, last->name, input.name)
                          : fmt::format("input '{}' is not connected: stage '{}' before it has several outputs; say "
                                        "`from: {{{}: {}.…}}`",
                                        input.name, last->name, input.name, last->name));
  return std::nullopt;
}

/// The port in another element type; converted once for all readers.
PortIndex Planner::converted(PortIndex port, Element to, const Section& section, Side side) {
  const PlanPort& p = plan_.ports[port];
  const std::string name = fmt::format("~{}.{}{}", p.name, name_of(to), side == p.side ? "" : "@");
  if (const PortIndex before = names_.port(name); before != kNoPort) return before;
  const StageEntry* entry = find_stage(&StageEntry::make_converter, stages_);
  assert(entry && "the catalogue has no stage that converts");
  PlanStep step;
  step.entry = entry;
  step.name = name;
  step.stage = entry->make_converter(to);
  step.side = side;
  if (!step.stage) {
    section.problem("dtype", fmt::format("there is no conversion to {}", name_of(to)));
    return kNoPort;
  }
  step.in = {port};
  return add_step(std::move(step), section) ? rename_last_port(name) : kNoPort;
}

/// The port or a copy of it, where this side can read it.
PortIndex Planner::within_reach(PortIndex port, Side side, bool reread, const Section& section) {
  const PlanPort& p = plan_.ports[port];
  if (p.side == side) return port;
  // `transfer: mapped` has no limit and overrides this.
  const bool may = !reread || target_.mapped.in == std::numeric_limits<std::size_t>::max();
  const bool in_place = side == Side::device && may && p.new_bytes() <= target_.mapped.in;
  return in_place ? port : transferred(port, side, section);
}

/// A copy of the port on the other side; made once for all readers.
PortIndex Planner::transferred(PortIndex port, Side side, const Section& section) {
  const std::string name = fmt::format("~{}.{}", plan_.ports[port].name, side == Side::device ? "device" : "host");
  if (const PortIndex before = names_.port(name); before != kNoPort) return before;
  PlanStep step;
  step.entry = &transfer_entry();
  step.name = name;
  step.stage = step.entry->make();
  step.side = Side::device;
  step.in = {port};
  if (!add_step(std::move(step), section)) return kNoPort;
  PlanPort& copy = plan_.ports.back();
  copy.side = side;
  copy.count_of = port;
  return rename_last_port(name);
}

/// The port as the input takes it: within this side's reach, and converted if needed. kNoPort after a problem.
PortIndex Planner::readable(PortIndex port, const InputSpec& input, Side side, const Section& section) {
  const PlanPort& given = plan_.ports[port];
  if (!accept_input(input, given, section)) return kNoPort;
  const bool as_it_is = input.takes(given.shape.element);
  const PortIndex near = within_reach(port, side, input.reread, section);
  return near == kNoPort || as_it_is ? near : converted(near, Element::cf32, section, side);
}

bool Planner::add_stage(const StageEntry& entry, std::string name, std::unique_ptr<Stage> stage,
                        const Connections& from, const Section& section, std::optional<Side> side) {
  if (!stage->load(section)) return false;
  const std::vector<InputSpec> inputs = stage->inputs(entry);
  if (!inputs_exist(from, inputs, entry, section)) return false;
  PlanStep step;
  step.entry = &entry;
  step.name = std::move(name);
  step.stage = std::move(stage);
  step.side = side.value_or(entry.host_only ? Side::host : target_.side);
  for (const InputSpec& input : inputs) {
    const std::optional<PortIndex> picked = pick_input(input, inputs.size(), from, section);
    if (!picked || (*picked == kNoPort && !input.optional)) return false;
    step.in.push_back(*picked == kNoPort ? kNoPort : readable(*picked, input, step.side, section));
    if (*picked != kNoPort && step.in.back() == kNoPort) return false;
  }
  return accept_inputs(inputs, step.in, plan_, section) && add_step(std::move(step), section);
}

}  // namespace iqd
