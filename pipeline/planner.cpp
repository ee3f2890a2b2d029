// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>

#include "pipeline/plan.hpp"
#include "pipeline/programmed_stage.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kScratchAlign = 256;  // NVIDIA's libraries want that of their working memory

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

}  // namespace

std::size_t PlanPort::bytes() const noexcept {
  return pitch * static_cast<std::size_t>(shape.row_count());
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
  port.most_new = shape.axis == Axis::stream    ? ceil_div(plan_.block * rate.num, rate.den)
                  : shape.axis == Axis::counted ? shape.most
                                                : 1;
  port.shape = std::move(shape);
  port.rate = rate;
  port.home = Home::window;
  plan_.ports.push_back(std::move(port));
  return plan_.sources++;
}

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
  for (const auto& connection : from) {
    const std::string& input = connection.first;
    const bool known = std::any_of(inputs.begin(), inputs.end(), [&](const InputSpec& i) { return i.name == input; });
    if (!known && !(input.empty() && inputs.size() == 1)) {
      std::vector<std::string_view> names;
      for (const InputSpec& i : inputs) names.push_back(i.name);
      section.problem("from", fmt::format("{} has no input '{}'{}", entry.name, input, did_you_mean(input, names)));
      return false;
    }
  }
  PlanStep step;
  step.entry = &entry;
  step.name = std::move(name);
  step.stage = std::move(stage);
  step.side = side.value_or(entry.host_only ? Side::host : target_.side);
  for (const InputSpec& input : inputs) {
    int port = pick_input(input, inputs.size(), from, section);
    if (port < 0 && !(port == -1 && input.optional)) return false;
    if (port >= 0) {
      const PortShape given = plan_.ports[static_cast<std::size_t>(port)].shape;
      const bool convertible = given.element == Element::sc16 && input.takes(Element::cf32);
      if ((!input.takes(given.element) && !convertible) || !dims_fit(input, given)) {
        section.problem("",
                        fmt::format("input '{}' takes {} {}, but {} gives {}", input.name, element_list(input.elements),
                                    input.dims, plan_.ports[static_cast<std::size_t>(port)].name, given.text()));
        return false;
      }
      if (input.one_channel && given.row_count() > 1) {
        section.problem("", fmt::format("input '{}' takes one channel, but {} has {}", input.name,
                                        plan_.ports[static_cast<std::size_t>(port)].name, given.row_count()));
        return false;
      }
      port = within_reach(port, step.side, input.reread, section);
      if (port >= 0 && !input.takes(given.element)) port = converted(port, Element::cf32, section, step.side);
      if (port < 0) return false;
    }
    step.in.push_back(port);
  }
  return add_step(std::move(step), section);
}

bool Planner::add_step(PlanStep step, const Section& section) {
  if (!shape_step(step, section)) return false;
  const auto index = static_cast<int>(plan_.steps.size());
  for (const int in : step.in)
    if (in >= 0) plan_.ports[static_cast<std::size_t>(in)].last_reader = index;
  plan_.steps.push_back(std::move(step));
  return true;
}

/// Asks the stage for its outputs and adds them as ports.
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
  step.stage->shape(context);
  auto* const programmed = dynamic_cast<ProgrammedStage*>(step.stage.get());
  if (programmed && section.problems().size() == problems) programmed->compile(step.side == Side::device, section);
  if (section.problems().size() > problems) return false;
  step.scratch_bytes = context.scratch_bytes;
  step.carry_bytes = context.carry_bytes;
  step.chunk_exempt = context.chunk_exempt;

  const PlanPort first = plan_.ports[step.lead()];
  const Footprint& footprint = step.footprint.front();
  // Without `whole` an output lies at a place of its own in its granule.
  const std::int64_t apart = footprint.whole ? footprint.granule : ceil_div(footprint.granule, footprint.yield);
  const std::int64_t lag = first.lag + (aligned_to(first, footprint) ? 0 : apart - 1);
  for (std::size_t o = 0; o < out.size(); ++o) {
    PlanPort port;
    port.name = fmt::format("{}.{}", step.name, step.entry->outputs[o].name);
    port.maker = static_cast<int>(plan_.steps.size());
    port.side = step.side;
    if (out[o].axis == Axis::stream) {
      port.rate = first.rate.times(footprint.yield, footprint.granule);
      port.most_new = most_from(footprint, first.most_new);
      port.lag = scale_up(lag, footprint.yield, footprint.granule);
    } else {
      port.most_new = out[o].axis == Axis::counted ? out[o].most : 1;
    }
    port.shape = std::move(out[o]);
    step.out.push_back(static_cast<int>(plan_.ports.size()));
    plan_.ports.push_back(std::move(port));
  }
  return true;
}

int Planner::publish(std::string_view name, const Section& section, std::string_view key, std::string_view dtype) {
  int port = find_port(name, section, key);
  if (port < 0) return -1;
  // Where there is a device the source goes through it: the lane's queue is the device's.
  if (port < plan_.sources && target_.side == Side::device) port = transferred(port, Side::device, section);
  if (port < 0) return -1;
  const PlanPort& source = plan_.ports[static_cast<std::size_t>(port)];
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
