// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// What the inputs of a stage are connected to, and what has to stand between: a conversion, a transfer.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "pipeline/plan.hpp"
#include "pipeline/programmed_stage.hpp"

namespace iqd {
namespace {

std::string element_list(const std::vector<Element>& elements) {
  std::string text;
  for (const Element e : elements) text += fmt::format("{}{}", text.empty() ? "" : " or ", name_of(e));
  return text;
}

/// `[n]` and the like: one axis, and as many item dimensions as are written behind it. `any` is anything.
bool dims_fit(const InputSpec& input, const PortShape& shape) {
  const std::string_view dims = input.dims;
  if (dims.front() != '[') return true;
  if (dims.starts_with("[n]") && shape.axis != Axis::stream) return false;
  if (input.nested) return shape.axis == Axis::counted;
  const auto written = static_cast<std::size_t>(std::count(dims.begin(), dims.end(), '['));
  const std::size_t axis = shape.axis == Axis::block ? 0 : 1;
  return shape.item.size() + axis == written;
}

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

/// Whether the input takes what the port gives, if need be converted.
bool fits(const InputSpec& input, const PlanPort& port, const Section& section) {
  const PortShape& given = port.shape;
  const bool convertible = given.element == Element::sc16 && input.takes(Element::cf32);
  if ((!input.takes(given.element) && !convertible) || !dims_fit(input, given)) {
    section.problem("", fmt::format("input '{}' takes {} {}, but {} gives {}", input.name, element_list(input.elements),
                                    input.dims, port.name, given.text()));
    return false;
  }
  if (input.one_channel && given.row_count() > 1) {
    section.problem(
        "", fmt::format("input '{}' takes one channel, but {} has {}", input.name, port.name, given.row_count()));
    return false;
  }
  return true;
}

}  // namespace

int Planner::find_port(std::string_view name, const Section& section, std::string_view key) const {
  std::vector<std::string_view> names;
  for (std::size_t p = 0; p < plan_.ports.size(); ++p) {
    const std::string_view candidate = plan_.ports[p].name;
    if (candidate == name) return static_cast<int>(p);
    if (!candidate.starts_with('~')) names.push_back(candidate);
  }
  const auto step =
      std::find_if(plan_.steps.begin(), plan_.steps.end(), [&](const PlanStep& s) { return s.name == name; });
  if (step != plan_.steps.end() && step->out.size() == 1) return step->out.front();
  std::string known;
  for (const std::string_view n : names) known += fmt::format("{}{}", known.empty() ? "" : ", ", n);
  section.problem(key, fmt::format("there is no port '{}'{}; there are: {}", name, did_you_mean(name, names), known));
  return -1;
}

int Planner::pick_input(const InputSpec& input, std::size_t inputs, const Connections& from,
                        const Section& section) const {
  auto named = from.find(input.name);
  if (named == from.end() && inputs == 1) named = from.find("");
  if (named != from.end()) return find_port(named->second, section, "from");

  for (auto p = static_cast<int>(plan_.ports.size()) - 1; p >= 0; --p) {
    const PlanPort& port = plan_.ports[static_cast<std::size_t>(p)];
    const auto dot = port.name.rfind('.');
    const bool own_name = dot != port.name.npos && std::string_view(port.name).substr(dot + 1) == input.name;
    if (own_name && port.name.front() != '~' && input.takes(port.shape.element)) return p;
  }
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

/// The port in another element type, converting it once for all who ask.
int Planner::converted(int port, Element to, const Section& section, Side side) {
  const std::string name = fmt::format("~{}.{}{}", plan_.ports[static_cast<std::size_t>(port)].name, name_of(to),
                                       side == plan_.ports[static_cast<std::size_t>(port)].side ? "" : "@");
  for (std::size_t p = 0; p < plan_.ports.size(); ++p)
    if (plan_.ports[p].name == name) return static_cast<int>(p);
  const StageEntry* entry = find_stage("convert", stages_);
  assert(entry && "the catalogue has no convert");
  PlanStep step;
  step.entry = entry;
  step.name = name;
  step.stage = entry->make();
  step.side = side;
  struct SetType : FieldVisitor {
    explicit SetType(Element e) : element(e) {}
    void visit(std::string_view, FieldRef field, const FieldInfo&) override {
      auto& e = std::get<EnumRef>(field);
      const auto at = std::find(e.names.begin(), e.names.end(), name_of(element));
      if (at == e.names.end()) return;
      e.set(e.target, static_cast<int>(at - e.names.begin()));
      known = true;
    }
    Element element;
    bool known = false;
  } set(to);
  step.stage->fields(set);
  if (!set.known) {
    section.problem("dtype", fmt::format("nothing converts to {}", name_of(to)));
    return -1;
  }
  step.in = {port};
  if (!add_step(std::move(step), section)) return -1;
  plan_.ports.back().name = name;
  return static_cast<int>(plan_.ports.size()) - 1;
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
  for (std::size_t p = 0; p < plan_.ports.size(); ++p)
    if (plan_.ports[p].name == name) return static_cast<int>(p);
  PlanStep step;
  step.entry = &transfer_entry();
  step.name = name;
  step.stage = step.entry->make();
  step.side = Side::device;
  step.in = {port};
  if (!add_step(std::move(step), section)) return -1;
  PlanPort& copy = plan_.ports.back();
  copy.name = name;
  copy.side = side;
  copy.count_of = port;
  return static_cast<int>(plan_.ports.size()) - 1;
}

bool Planner::add_stage(const StageEntry& entry, std::string name, std::unique_ptr<Stage> stage,
                        const Connections& from, const Section& section, std::optional<Side> side) {
  auto* const programmed = dynamic_cast<ProgrammedStage*>(stage.get());
  if (programmed && !programmed->load(section)) return false;
  const std::vector<InputSpec> inputs = programmed ? programmed->inputs() : entry.inputs;
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
      if (!fits(input, given, section)) return false;
      const bool as_it_is = input.takes(given.shape.element);
      port = within_reach(port, step.side, input.reread, section);
      if (port >= 0 && !as_it_is) port = converted(port, Element::cf32, section, step.side);
      if (port < 0) return false;
    }
    step.in.push_back(port);
  }
  return add_step(std::move(step), section);
}

}  // namespace iqd
