// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// Connects the inputs of a stage, and inserts conversions and transfers where needed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "pipeline/plan/key_judge.hpp"
#include "pipeline/plan/planner.hpp"
#include "pipeline/plan/shape_check.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {
namespace {

/// Whether all connections name an input; problems for those that do not.
bool inputs_exist(const Connections& from, const std::vector<InputSpec>& inputs, const StageEntry& entry,
                  const Section& section) {
  std::vector<std::string_view> names;
  for (const InputSpec& i : inputs) names.push_back(i.name);
  bool all = true;
  for (const auto& connection : from) {
    const std::string& input = connection.first;
    if (std::ranges::find(names, input) != names.end() || (input.empty() && only_input(inputs))) continue;
    all = false;
    if (names.empty())
      section.problem("from", fmt::format("{} has no inputs", entry.name));
    else if (input.empty())
      section.problem("from", fmt::format("{} has several inputs: {}; name each, as in `from: {{{}: {}, {}: …}}`",
                                          entry.name, fmt::join(names, ", "), names[0], connection.second, names[1]));
    else
      section.problem("from", fmt::format("{} has no input '{}'{}; it has: {}", entry.name, input,
                                          did_you_mean(input, names), fmt::join(names, ", ")));
  }
  return all;
}

}  // namespace

PortIndex Planner::find_port(std::string_view name, const Section& section, std::string_view key) const {
  if (const PortIndex port = names_.port(name); port != kNoPort) return port;
  if (const StepIndex step = names_.step(name); step != kNoStep && plan_.steps[step].out.size() == 1)
    return plan_.steps[step].out.front();
  const std::vector<std::string_view> names = names_.listed();
  constexpr std::size_t kEnough = 30;
  std::string known = fmt::format("{}", fmt::join(std::span(names).first(std::min(names.size(), kEnough)), ", "));
  if (names.size() > kEnough) known += fmt::format(" and {} more", names.size() - kEnough);
  section.problem(key, fmt::format("there is no port '{}'{}; there are: {}", name, did_you_mean(name, names), known));
  return kUnknownPort;
}

/// The port that an input reads; kNoPort if it is optional and not connected.
PortIndex Planner::pick_input(const InputSpec& input, bool is_only, const Connections& from,
                              const Section& section) const {
  auto named = from.find(input.name);
  if (named == from.end() && is_only) named = from.find("");
  return named != from.end() ? find_port(named->second, section, "from") : pick_unnamed(input, section);
}

/// The last output of the input's name, or else the last stage's only output. Nothing is connected to an optional input
/// that is not named: an output of its name may be something else.
PortIndex Planner::pick_unnamed(const InputSpec& input, const Section& section) const {
  const auto makes = [&](const StageEntry& e) {
    return std::ranges::find(e.outputs, input.name, &OutputSpec::name) != e.outputs.end();
  };
  if (!input.optional && names_.has_unknown() && std::ranges::any_of(stages_, makes)) return kUnknownPort;
  const std::span<const PortIndex> own_name = names_.outputs_called(input.name);
  for (auto p = own_name.rbegin(); !input.optional && p != own_name.rend(); ++p)
    if (*p == kUnknownPort || input.takes(plan_.ports[*p].shape.element)) return *p;
  // External inputs of the same name, as `iqd exec` gives them.
  for (PortIndex s = 0; s < plan_.sources; ++s)
    if (plan_.ports[s].name == input.name) return s;
  if (input.optional) return kNoPort;
  if (!last_) return names_.port(plan_.ports.front().name);
  if (last_->out.size() == 1) return last_->out.front();
  section.problem("", last_->out.empty()
                          ? fmt::format("input '{}' is not connected: stage '{}' before it has no output; say `from: "
                                        "{{{}: stage.output}}`",
                                        input.name, last_->name, input.name)
                          : fmt::format("input '{}' is not connected: stage '{}' before it has several outputs; say "
                                        "`from: {{{}: {}.…}}`",
                                        input.name, last_->name, input.name, last_->name));
  return kUnknownPort;
}

/// The port in another element type; converted once for all readers.
PortIndex Planner::converted(PortIndex port, Element to, const Section& section, Side side) {
  const PlanPort& p = plan_.ports[port];
  const std::string name =
      fmt::format("~{}.{}{}", p.name, name_of(to), side == p.side ? "" : fmt::format("@{}", plan_.name_of(side)));
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
    return kUnknownPort;
  }
  step.in = {port};
  return add_step(std::move(step), section) ? rename_last_port(name) : kUnknownPort;
}

/// The port or a copy of it, where this side can read it.
PortIndex Planner::within_reach(PortIndex port, Side side, bool reread, const Section& section) {
  const PlanPort& p = plan_.ports[port];
  if (p.side == side) return port;
  if (on_device(p.side) && on_device(side)) {
    if (target_.peers) return transferred(port, side, section);
    const PortIndex on_host = transferred(port, Side::host, section);
    return on_host == kUnknownPort ? on_host : within_reach(on_host, side, reread, section);
  }
  // `transfer: mapped` has no limit and overrides this.
  const bool may = !reread || target_.mapped.in == std::numeric_limits<std::size_t>::max();
  const bool in_place = on_device(side) && may && p.new_bytes() <= target_.mapped.in;
  return in_place ? port : transferred(port, side, section);
}

/// A copy of the port on another side; made once for all readers. The reading device fetches it, or, for the host, the
/// device that has it delivers it.
PortIndex Planner::transferred(PortIndex port, Side side, const Section& section) {
  const std::string name = fmt::format("~{}.{}", plan_.ports[port].name, plan_.name_of(side));
  if (const PortIndex before = names_.port(name); before != kNoPort) return before;
  PlanStep step;
  step.entry = &transfer_entry();
  step.name = name;
  step.stage = step.entry->make();
  step.side = on_device(side) ? side : plan_.ports[port].side;
  step.in = {port};
  if (!add_step(std::move(step), section)) return kUnknownPort;
  PlanPort& copy = plan_.ports.back();
  copy.side = side;
  copy.count_of = port;
  return rename_last_port(name);
}

/// The port as the input takes it: within this side's reach, and converted if needed.
PortIndex Planner::readable(PortIndex port, const InputSpec& input, Side side, const Section& section) {
  const PlanPort& given = plan_.ports[port];
  if (!accept_input(input, given, section)) return kUnknownPort;
  const bool as_it_is = input.takes(given.shape.element);
  const PortIndex near = within_reach(port, side, input.reread, section);
  return near == kUnknownPort || as_it_is ? near : converted(near, Element::cf32, section, side);
}

/// Connects all inputs that can be connected. False after a problem, or if one is not known.
bool Planner::connect(PlanStep& step, const std::vector<InputSpec>& inputs, const Connections& from,
                      const Section& section) {
  // After a wrong name it is not known which of the unnamed inputs it was meant for.
  const bool all_named = inputs_exist(from, inputs, *step.entry, section);
  bool all_known = all_named;
  for (const InputSpec& input : inputs) {
    const bool is_only = only_input(inputs) == &input;
    const bool is_named = from.contains(input.name) || (is_only && from.contains(""));
    const PortIndex picked = is_named || all_named ? pick_input(input, is_only, from, section) : kUnknownPort;
    const bool there = picked != kNoPort && picked != kUnknownPort;
    step.in.push_back(there ? readable(picked, input, step.side, section) : picked);
    all_known = all_known && step.in.back() != kUnknownPort;
  }
  return all_known && accept_inputs(inputs, step.in, plan_, section);
}

/// The stage's outputs exist, but have no shape.
void Planner::add_unshaped(const StageEntry& entry, const std::string& name) {
  for (const OutputSpec& output : entry.outputs) names_.add_port(fmt::format("{}.{}", name, output.name), kUnknownPort);
  if (entry.outputs.size() == 1) names_.add_alias(name, kUnknownPort);
  last_ = {name, std::vector(entry.outputs.size(), kUnknownPort)};
}

void Planner::add_unread(const StageEntry* entry, const std::string& name, const Connections& from,
                         const Section& section) {
  PlanStep step;
  step.entry = entry;
  // A program decides which inputs the stage has.
  if (entry && !entry->make()->has_program())
    connect(step, entry->inputs, from, section);
  else
    for (const auto& connection : from) find_port(connection.second, section, "from");
  if (entry) return add_unshaped(*entry, name);
  names_.add_unknown(name);
  last_ = {name, {kUnknownPort}};
}

bool Planner::add_stage(const StageEntry& entry, std::string name, std::unique_ptr<Stage> stage,
                        const Connections& from, const Section& section, std::optional<Side> side) {
  if (!stage->load(section)) {
    add_unread(&entry, name, from, section);
    return false;
  }
  const std::vector<InputSpec> inputs = stage->inputs(entry);
  PlanStep step;
  step.entry = &entry;
  step.name = name;
  step.stage = std::move(stage);
  step.side = side.value_or(entry.host_only ? Side::host : target_.side);
  const bool is_connected = connect(step, inputs, from, section);
  if (!is_connected) judge_keys(*step.stage, entry, section);
  if (!is_connected || !add_step(std::move(step), section)) {
    add_unshaped(entry, name);
    return false;
  }
  last_ = {std::move(name), plan_.steps.back().out};
  return true;
}

}  // namespace iqd
