// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// What the inputs of a stage are connected to, and what has to stand between: a conversion, a transfer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "pipeline/plan/plan.hpp"
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

int Planner::find_port(std::string_view name, const Section& section, std::string_view key) const {
  if (const auto port = port_named_.find(name); port != port_named_.end()) return port->second;
  if (const auto step = step_named_.find(name); step != step_named_.end()) {
    const PlanStep& s = plan_.steps[static_cast<std::size_t>(step->second)];
    if (s.out.size() == 1) return s.out.front();
  }
  std::vector<std::string_view> names;
  for (const PlanPort& port : plan_.ports)
    if (!port.name.starts_with('~')) names.push_back(port.name);
  constexpr std::size_t kEnough = 30;
  std::string known = fmt::format("{}", fmt::join(std::span(names).first(std::min(names.size(), kEnough)), ", "));
  if (names.size() > kEnough) known += fmt::format(" and {} more", names.size() - kEnough);
  section.problem(key, fmt::format("there is no port '{}'{}; there are: {}", name, did_you_mean(name, names), known));
  return -1;
}

int Planner::pick_input(const InputSpec& input, std::size_t inputs, const Connections& from,
                        const Section& section) const {
  auto named = from.find(input.name);
  if (named == from.end() && inputs == 1) named = from.find("");
  if (named != from.end()) return find_port(named->second, section, "from");

  if (const auto own_name = ports_called_.find(input.name); own_name != ports_called_.end())
    for (auto p = own_name->second.rbegin(); p != own_name->second.rend(); ++p)
      if (input.takes(plan_.ports[static_cast<std::size_t>(*p)].shape.element)) return *p;
  // External inputs of the same name, as `iqd exec` gives them.
  for (int s = 0; s < plan_.sources; ++s)
    if (plan_.ports[static_cast<std::size_t>(s)].name == input.name) return s;
  if (input.optional) return -1;
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
  return -2;
}

/// The planner's own step that was put in before under this name, or -1.
int Planner::put_in(const std::string& name) const {
  const auto port = port_named_.find(name);
  return port == port_named_.end() ? -1 : port->second;
}

/// The port in another element type, converting it once for all who ask.
int Planner::converted(int port, Element to, const Section& section, Side side) {
  const std::string name = fmt::format("~{}.{}{}", plan_.ports[static_cast<std::size_t>(port)].name, name_of(to),
                                       side == plan_.ports[static_cast<std::size_t>(port)].side ? "" : "@");
  if (const int before = put_in(name); before >= 0) return before;
  const StageEntry* entry = find_stage(&StageEntry::make_converter, stages_);
  assert(entry && "the catalogue has no stage that converts");
  PlanStep step;
  step.entry = entry;
  step.name = name;
  step.stage = entry->make_converter(to);
  step.side = side;
  if (!step.stage) {
    section.problem("dtype", fmt::format("nothing converts to {}", name_of(to)));
    return -1;
  }
  step.in = {port};
  return add_step(std::move(step), section) ? call_last_port(name) : -1;
}

/// The port where this side can read it: as it is, or a copy.
int Planner::within_reach(int port, Side side, bool reread, const Section& section) {
  const PlanPort& p = plan_.ports[static_cast<std::size_t>(port)];
  if (p.side == side) return port;
  const auto bytes = static_cast<std::size_t>(p.most_new * p.shape.item_bytes() * p.shape.row_count());
  // `transfer: mapped` has no limit, and is obeyed.
  const bool may = !reread || target_.mapped.in == std::numeric_limits<std::size_t>::max();
  const bool in_place = side == Side::device && may && bytes <= target_.mapped.in;
  return in_place ? port : transferred(port, side, section);
}

/// A copy of the port on the other side, made once for all who ask.
int Planner::transferred(int port, Side side, const Section& section) {
  const std::string name =
      fmt::format("~{}.{}", plan_.ports[static_cast<std::size_t>(port)].name, side == Side::device ? "device" : "host");
  if (const int before = put_in(name); before >= 0) return before;
  PlanStep step;
  step.entry = &transfer_entry();
  step.name = name;
  step.stage = step.entry->make();
  step.side = Side::device;
  step.in = {port};
  if (!add_step(std::move(step), section)) return -1;
  PlanPort& copy = plan_.ports.back();
  copy.side = side;
  copy.count_of = port;
  return call_last_port(name);
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
    int port = pick_input(input, inputs.size(), from, section);
    if (port < 0 && !(port == -1 && input.optional)) return false;
    if (port >= 0) {
      const PlanPort& given = plan_.ports[static_cast<std::size_t>(port)];
      if (!accept_input(input, given, section)) return false;
      const bool as_it_is = input.takes(given.shape.element);
      port = within_reach(port, step.side, input.reread, section);
      if (port >= 0 && !as_it_is) port = converted(port, Element::cf32, section, step.side);
      if (port < 0) return false;
    }
    step.in.push_back(port);
  }
  return accept_inputs(inputs, step.in, plan_, section) && add_step(std::move(step), section);
}

}  // namespace iqd
