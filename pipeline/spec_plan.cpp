// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/backend_name.hpp"
#include "base/error.hpp"
#include "config/reader.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "pipeline/backend/find_backend.hpp"
#include "pipeline/backend/tuning.hpp"
#include "pipeline/calibration.hpp"
#include "pipeline/plan/away_part.hpp"
#include "pipeline/plan/fusion/element_program.hpp"
#include "pipeline/plan/planner.hpp"
#include "pipeline/plan/shape_check.hpp"
#include "pipeline/sizing.hpp"
#include "pipeline/source_rate.hpp"
#include "pipeline/spec/spec_apply.hpp"
#include "pipeline/spec/spec_backends.hpp"
#include "pipeline/spec/work_order.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {

ChosenBackends choose_backends(const PipelineSpec& spec) {
  ChosenBackends chosen;
  chosen.backends.host = make_cpu_backend();
  for (const std::string& name : backends_of(spec).names) {
    BackendChoice choice = choose_backend(name);
    chosen.names += (chosen.names.empty() ? "" : ", ") + choice.backend->name();
    chosen.reason = choice.reason;
    if (choice.backend->kind() != BackendKind::cpu) chosen.backends.devices.push_back(std::move(choice.backend));
  }
  take_parts(chosen, spec);
  return chosen;
}

int ChosenBackends::processors() const noexcept {
  return backends.parts.empty() || !backends.parts.front() ? 0 : backends.parts.front()->processors();
}

void ChosenBackends::settle() const noexcept {
  for (const auto& part : backends.parts)
    if (part) part->settle();
}

void take_parts(ChosenBackends& chosen, const PipelineSpec& spec) {
  chosen.backends.parts.clear();
  chosen.share.clear();
  chosen.no_share.clear();
  if (!spec.gpu_share.empty() && chosen.backends.devices.empty())
    chosen.no_share = fmt::format("there is no GPU to share: {}", chosen.reason);
  try {
    for (const std::shared_ptr<Backend>& device : chosen.backends.devices) {
      const auto share = spec.shares.find(device->name());
      auto part = share == spec.shares.end() ? nullptr : device->take_part(share->second);
      if (part)
        chosen.share += fmt::format("{}{}: {} of {} multiprocessors ({})", chosen.share.empty() ? "" : ", ",
                                    device->name(), part->processors(), part->all(),
                                    spec.gpu_share.empty() ? "what is left" : "asked for " + spec.gpu_share);
      chosen.backends.parts.push_back(std::move(part));
    }
  } catch (const SetupError& e) {
    chosen.no_share = e.what();
  }
}

namespace {

bool reach_each_other(const std::vector<std::shared_ptr<Backend>>& devices) {
  bool all = true;
  for (const auto& device : devices)
    for (const auto& other : devices) all = (device == other || device->reaches(*other)) && all;
  return all;
}

/// An estimate, not measured: what crosses while the host puts copies on the stream that the lane's graph does not hold.
constexpr std::size_t kRingSaves = std::size_t{128} << 10;

PlanTarget target_with(const PipelineSpec& spec, bool device, const MappedLimits& measured) {
  PlanTarget target;
  target.fuse = spec.fuse;
  target.pool = spec.pool != nullptr;
  target.groups = backends_of(spec).groups;
  const std::string& backend = spec.placed.empty() ? spec.backend.front() : spec.placed;
  target.side = device && backend != "cpu" ? Side::device : Side::host;
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  switch (spec.transfer) {
    case Transfer::automatic:
      target.mapped = measured;
      target.ring_saves = kRingSaves;
      break;
    case Transfer::mapped: target.mapped = {kAll, kAll}; break;
    case Transfer::copy: target.mapped = {0, 0}; break;
  }
  return target;
}

}  // namespace

PlanTarget target_of(const PipelineSpec& spec, const EngineBackends& backends) {
  const bool device = !backends.devices.empty();
  PlanTarget target = target_with(spec, device, device ? mapped_limits_of(*backends.devices.front()) : MappedLimits{});
  target.peers = target.groups.size() < 2 || reach_each_other(backends.devices);
  // A device's compiler is slow to load, so it is only loaded if a stage needs it.
  const bool has_elements =
      std::ranges::any_of(spec.stages, [](const StageSpec& stage) { return stage.as_read->is_elementwise(); });
  target.device_fuses = spec.fuse && has_elements &&
                        std::ranges::all_of(backends.devices, [](const auto& d) { return fusion::can_fuse(*d); });
  return target;
}
PlanTarget target_of(const PipelineSpec& spec) {
  return target_with(spec, is_device(spec.backend.front()), {});
}

namespace {

/// The plan's output for a route; kNoOutput after a problem, or if its port is not known.
OutputIndex publish_route(Planner& planner, const RouteSpec& route) {
  const auto* const published = std::get_if<const PublishSpec*>(&route);
  const std::string_view dtype = published ? std::string_view((*published)->dtype) : std::string_view();
  return std::visit(
      [&](const auto* r) { return r->port.empty() ? kNoOutput : planner.publish(r->port, r->section, "port", dtype); },
      route);
}

/// Checks a route's keys, and whether the results of its output can go there; problems go to the entry's section.
struct RouteCheck {
  const Plan& plan;
  const PlanOutput* output;  // null: not known

  PortFormat format() const { return output ? output->format : PortFormat(); }
  void operator()(const PublishSpec* p) const { p->options->check(format(), p->section); }
  void operator()(const SinkSpec* s) const {
    if (s->options) s->options->check(format(), s->section);
  }
  void operator()(const ApplySpec* a) const {
    if (output) check_apply(*a, plan.ports[output->port].shape);
  }
};

/// The output as its outlets check it; null if it is not known. A stream whose rate comes with the first samples is
/// checked when they are here.
const PlanOutput* judged_output(const Plan& plan, OutputIndex output, const StreamInfo& stream) {
  if (output == kNoOutput) return nullptr;
  const PortShape& shape = plan.ports[plan.outputs[output].port].shape;
  const bool lacks_rate = shape.axis == Axis::stream && !(shape.rate_hz > 0);
  return lacks_rate && stream.known != StreamInfo::Known::whole ? nullptr : &plan.outputs[output];
}

/// Adds the source, as far as its stream is known.
void add_source(Planner& planner, const PipelineSpec& spec, const StreamInfo& stream) {
  PortShape source;
  source.element = stream.element;
  if (stream.channels != 1) source.rows = {{"channel", stream.channels}};
  source.rate_hz = source.source_rate_hz = stream.rate_hz;
  source.frequency_hz = stream.frequency_hz;
  const bool is_known = stream.known != StreamInfo::Known::nothing;
  const std::string fault = is_known ? fault_of(source, spec.block) : "";
  if (!fault.empty()) spec.source_section->problem("", "its stream " + fault);
  const bool has_shape = is_known && fault.empty();
  planner.set_edges(stream.edges);
  planner.add_source("source", has_shape ? source : PortShape());
  if (!has_shape) planner.forget_source("source");
  if (!has_shape || stream.known != StreamInfo::Known::whole) planner.doubt_rates();
}

/// What is wrong at a key that could be read is true whatever the other keys are.
void load_as_far_as_read(const StageSpec& stage) {
  Problems found;
  const std::vector<std::string> wrong = stage.section.wrong_keys();
  const Section section = stage.section.with(found);
  stage.as_read->load(section);
  const std::vector<std::string> keys = section.wrong_keys();
  for (std::size_t i = 0; i < found.size() && i < keys.size(); ++i)
    if (stage.section.has(keys[i]) && std::ranges::find(wrong, keys[i]) == wrong.end())
      stage.section.problems().push_back(found[i]);
}

std::optional<Side> side_of(const StageSpec& stage, const BackendUse& use) {
  if (!stage.placed.empty()) return stage.placed == "cpu" ? Side::host : Side::device;
  if (stage.backend.empty() || stage.backend.front() == "auto") return std::nullopt;
  return stage.backend.front() == "cpu" ? Side::host : device_side(use.group_of(stage.backend));
}

/// `here`: the stages that run on the host, since they are behind what other hosts compute.
void add_stage(Planner& planner, const StageSpec& stage, const BackendUse& use, const std::set<std::string>& here) {
  if (stage.is_wrong) {
    if (stage.as_read) load_as_far_as_read(stage);
    return planner.add_unread(stage.entry, stage.name, stage.from, stage.section);
  }
  if (!stage.as_read->load(stage.section))
    return planner.add_unread(stage.entry, stage.name, stage.from, stage.section);
  std::optional<Side> side = side_of(stage, use);
  if (here.contains(stage.name)) {
    if (side && on_device(*side) && stage.placed.empty())
      stage.section.problem("backend",
                            "is not possible: in a pipeline with a pool, stages with a state and those behind "
                            "them run on the CPU");
    side = Side::host;
  }
  planner.add_stage(*stage.entry, stage.name, stage.make(), stage.from, stage.section, side);
}

void add_stages(Planner& planner, const PipelineSpec& spec, const std::set<std::string>& here = {}) {
  std::set<std::string_view> names;
  const BackendUse use = backends_of(spec);
  for (const StageSpec& stage : spec.stages) {
    add_stage(planner, stage, use, here);
    for (const std::string& other : stage.other_names)
      if (!stage_named(spec, other)) planner.forget_name(other);
    if (!stage.name.empty() && !names.insert(stage.name).second) planner.forget_name(stage.name);
  }
}

/// With a pool beside devices: the stages that stay on the host, by a plan for the host alone.
std::set<std::string> stages_behind_pool(const PipelineSpec& spec, const StreamInfo& stream, const Catalogue& catalogue,
                                         const PlanTarget& target) {
  const bool has_devices = on_device(target.side) || names_devices(spec.backend);
  if (!target.pool || !has_devices) return {};
  Planner planner(spec.name, spec.block, catalogue.stages, {.fuse = false, .pool = true});
  Problems unsaid;
  add_source(planner, spec, stream);
  for (const StageSpec& stage : spec.stages)
    if (stage.entry && !stage.is_wrong && stage.as_read->load(stage.section.with(unsaid)))
      planner.add_stage(*stage.entry, stage.name, stage.make(), stage.from, stage.section.with(unsaid));
  return stages_here(planner.finish(spec.section.with(unsaid), false));
}

/// Several devices cannot take turns with blocks where a state passes from each to the next.
void refuse_shared_carries(const Plan& plan, const PipelineSpec& spec) {
  for (const PlanStep& step : plan.steps) {
    if (step.carry_bytes == 0 || !on_device(step.side) || plan.group(step.side).devices.size() == 1) continue;
    const StageSpec* const stage = stage_named(spec, step.name);
    const bool is_own = stage && !stage->backend.empty();
    return (is_own ? stage->section : spec.section)
        .problem("backend", fmt::format("{} takes blocks in sequence, so several devices cannot share them",
                                        is_own ? "the stage" : "a stage"));
  }
}

/// Reports that no other host can compute anything of the plan.
void refuse_idle_pool(const Plan& plan, const PipelineSpec& spec) {
  if (!spec.pool) return;
  if (const std::string why = why_none_away(plan); !why.empty())
    spec.section.problem("backend",
                         fmt::format("'pool' has nothing to compute: {}, so it and all behind it run here", why));
  if (spec.calibration) spec.section.problem("source.calibration", "is not possible with a pool");
  if (std::ranges::any_of(plan.steps, [](const PlanStep& s) { return s.name == kResamplerName; }))
    spec.section.problem("source.resample", "is not possible with a pool");
}

/// What depends on the windows before: states of stages, and keys that results set.
void refuse_in_windows(const Plan& plan, const PipelineSpec& spec) {
  const auto window = spec.source ? spec.source->window() : nullptr;
  if (!window) return;
  for (const ApplySpec& apply : spec.apply)
    apply.section.problem("",
                          "sets keys while samples flow, so a window gives other results than one run; leave it out");
  if (window->warmed) return;
  for (const PlanStep& step : plan.steps) {
    if (step.carry_bytes == 0) continue;
    const StageSpec* const stage = stage_named(spec, step.name);
    (stage ? stage->section : spec.section)
        .problem("", fmt::format("{} has a state that passes from block to block, so a window gives other results than "
                                 "one run; let it settle with `iqd run --warm TIME`",
                                 step.name));
  }
}

}  // namespace

Plan make_plan(const PipelineSpec& spec, const StreamInfo& stream, const Catalogue& catalogue, const PlanTarget& target,
               std::vector<OutputIndex>& outputs, Problems& problems) {
  const std::size_t before = problems.size();
  Planner planner(spec.name, spec.block, catalogue.stages, target);
  add_source(planner, spec, stream);
  if (stream.known == StreamInfo::Known::whole) {
    add_calibration(planner, spec, stream, catalogue.stages);
    add_resampler(planner, spec, stream, catalogue.stages);
  }
  add_stages(planner, spec, stages_behind_pool(spec, stream, catalogue, target));
  const std::vector<RouteSpec> routes = routes_of(spec);
  for (const RouteSpec& route : routes) outputs.push_back(publish_route(planner, route));
  for (const std::string& port : spec.watch) planner.publish(port, *spec.watch_section, "watch");
  Plan plan = planner.finish(spec.section, !spec.short_blocks);
  for (PlanOutput& output : plan.outputs) output.format.hardware = stream.hardware;
  refuse_shared_carries(plan, spec);
  refuse_in_windows(plan, spec);
  if (problems.size() == before) refuse_idle_pool(plan, spec);
  for (std::size_t r = 0; r < routes.size(); ++r)
    std::visit(RouteCheck{plan, judged_output(plan, outputs[r], stream)}, routes[r]);
  sort_by_place(problems, before);
  return plan;
}

Plan plan_work(const PipelineSpec& spec, const StreamInfo& stream, const Catalogue& catalogue, const PlanTarget& target,
               std::span<const ReturnedPort> returns, std::vector<OutputIndex>& outputs, Problems& problems) {
  const Section section = spec.section.with(problems);
  Planner planner(spec.name, spec.block, catalogue.stages, target);
  add_source(planner, spec, stream);
  add_stages(planner, spec);
  for (const ReturnedPort& port : returns) {
    const OutputIndex output = planner.publish(port.port, section, "returns", port.dtype);
    if (output == kNoOutput) continue;
    outputs.push_back(output);
    planner.reach_beyond(output, port.reach);
  }
  if (outputs.size() < returns.size() && problems.empty()) section.problem("returns", "names a port that is not there");
  return planner.finish(section, false);
}

}  // namespace iqd
