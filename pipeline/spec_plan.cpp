// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "config/reader.hpp"
#include "pipeline/backend/backend_name.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "pipeline/backend/find_backend.hpp"
#include "pipeline/backend/tuning.hpp"
#include "pipeline/calibration.hpp"
#include "pipeline/plan/fusion/element_program.hpp"
#include "pipeline/plan/planner.hpp"
#include "pipeline/plan/shape_check.hpp"
#include "pipeline/sizing.hpp"
#include "pipeline/source_rate.hpp"
#include "pipeline/spec/spec_apply.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {

std::vector<std::string> wanted_backends(const PipelineSpec& spec) {
  std::vector<std::string> names = spec.backend;
  // If the pipeline names no device, its stages' device is used; `cuda` means any.
  for (const StageSpec& s : spec.stages)
    if (names.size() == 1 && (!is_device(names.front()) || names.front() == "cuda") && is_device(s.backend))
      names = {s.backend};
  return names;
}

ChosenBackends choose_backends(const PipelineSpec& spec) {
  ChosenBackends chosen;
  chosen.backends.host = make_cpu_backend();
  for (const std::string& name : wanted_backends(spec)) {
    BackendChoice choice = choose_backend(name);
    chosen.names += (chosen.names.empty() ? "" : ", ") + choice.backend->name();
    chosen.reason = choice.reason;
    if (choice.backend->kind() != BackendKind::cpu) chosen.backends.devices.push_back(std::move(choice.backend));
  }
  return chosen;
}

namespace {

PlanTarget target_with(const PipelineSpec& spec, bool device, const MappedLimits& measured) {
  PlanTarget target;
  target.fuse = spec.fuse;
  target.side = device && spec.backend.front() != "cpu" ? Side::device : Side::host;
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  switch (spec.transfer) {
    case Transfer::automatic: target.mapped = measured; break;
    case Transfer::mapped: target.mapped = {kAll, kAll}; break;
    case Transfer::copy: target.mapped = {0, 0}; break;
  }
  return target;
}

}  // namespace

PlanTarget target_of(const PipelineSpec& spec, const EngineBackends& backends) {
  const bool device = !backends.devices.empty();
  PlanTarget target = target_with(spec, device, device ? mapped_limits_of(*backends.devices.front()) : MappedLimits{});
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

/// The plan's output for a route; kNoOutput after a problem.
OutputIndex publish_route(Planner& planner, const RouteSpec& route) {
  const auto* const published = std::get_if<const PublishSpec*>(&route);
  const std::string_view dtype = published ? std::string_view((*published)->dtype) : std::string_view();
  return std::visit([&](const auto* r) { return planner.publish(r->port, r->section, "port", dtype); }, route);
}

/// Checks whether an output's results can go to a route; problems go to the entry's section.
struct RouteCheck {
  const Plan& plan;
  const PlanOutput& output;

  void operator()(const PublishSpec* p) const { p->options->check(output.format, p->section); }
  void operator()(const SinkSpec* s) const { s->options->check(output.format, s->section); }
  void operator()(const ApplySpec* a) const { check_apply(*a, plan.ports[output.port].shape); }
};

}  // namespace

Plan make_plan(const PipelineSpec& spec, const StreamInfo& stream, const Catalogue& catalogue, const PlanTarget& target,
               std::vector<OutputIndex>& outputs, Problems& problems) {
  const std::size_t before = problems.size();
  Planner planner(spec.name, spec.block, catalogue.stages, target);
  PortShape source;
  source.element = stream.element;
  if (stream.channels != 1) source.rows = {{"channel", stream.channels}};
  source.rate_hz = source.source_rate_hz = stream.rate_hz;
  source.frequency_hz = stream.frequency_hz;
  if (const std::string fault = fault_of(source, spec.block); !fault.empty()) {
    spec.source_section->problem("", "its stream " + fault);
    return {};
  }
  planner.add_source("source", source);
  add_calibration(planner, spec, stream, catalogue.stages);
  add_resampler(planner, spec, stream, catalogue.stages);
  for (const StageSpec& s : spec.stages) {
    std::optional<Side> side;
    if (s.backend == "cpu" || is_device(s.backend)) side = is_device(s.backend) ? Side::device : Side::host;
    if (!planner.add_stage(*s.entry, s.name, s.make(), s.from, s.section, side)) break;
  }
  if (problems.size() > before) {
    sort_by_place(problems, before);
    return {};
  }
  const std::vector<RouteSpec> routes = routes_of(spec);
  for (const RouteSpec& route : routes) outputs.push_back(publish_route(planner, route));
  Plan plan = planner.finish(spec.section);
  for (PlanOutput& output : plan.outputs) output.format.hardware = stream.hardware;
  if (plan.sequential() && spec.backend.size() > 1)
    spec.section.problem("backend", "a stage takes blocks in sequence, so several devices cannot share them");
  for (std::size_t r = 0; r < routes.size(); ++r)
    if (outputs[r] != kNoOutput) std::visit(RouteCheck{plan, plan.outputs[outputs[r]]}, routes[r]);
  sort_by_place(problems, before);
  return plan;
}

namespace {

/// Checks what can be checked if the stages could not be read.
void check_without_plan(const PipelineSpec& spec, Problems& problems) {
  for (const PublishSpec& p : spec.publish) p.options->check({}, p.section);
  sort_by_place(problems);
}

/// Reads the users' code that stages run. False if it has problems.
bool load_programs(const PipelineSpec& spec, const Problems& problems) {
  const std::size_t before = problems.size();
  for (const StageSpec& stage : spec.stages) stage.as_read->load(stage.section);
  return problems.size() == before;
}

/// Each socket belongs to one pipeline.
void refuse_shared_endpoints(const Spec& spec) {
  std::map<std::string, std::pair<std::string, const OutletOptions*>> owners;
  for (const PipelineSpec& pipeline : spec.pipelines)
    for (const PublishSpec& p : pipeline.publish) {
      const std::string endpoint = p.options->endpoint();
      if (endpoint.empty()) continue;
      const auto [at, is_new] = owners.insert({endpoint, {pipeline.name, p.options.get()}});
      const auto& [owner, first] = at->second;
      if (owner != pipeline.name)
        p.section.problem("bind",
                          fmt::format("{} already belongs to pipeline '{}'; choose another port", endpoint, owner));
      else if (const std::string_view key = is_new ? "" : p.options->clash(*first); !key.empty())
        p.section.problem(key, fmt::format("entries at {} share a socket: give each the same value", endpoint));
    }
}

/// Reports what two pipelines claim but only one can have: a channel of a radio.
void refuse_shared_claims(const Spec& spec) {
  std::map<std::string, std::string> owners;
  const auto claim = [&](const std::vector<std::string>& claims, const std::string& pipeline, const Section& section) {
    for (const std::string& what : claims)
      if (const auto [at, is_new] = owners.insert({what, pipeline}); !is_new)
        section.problem("args", fmt::format("pipeline '{}' already uses {}: use another radio or channel, or publish "
                                            "`source` there and read it here with a `zmq` source",
                                            at->second, what));
  };
  for (const PipelineSpec& p : spec.pipelines) {
    if (p.source) claim(p.source->claims(), p.name, *p.source_section);
    for (const SinkSpec& sink : p.sinks) claim(sink.options->claims(), p.name, sink.section);
  }
}

}  // namespace

std::vector<Plan> check_spec(const Spec& spec, const Catalogue& catalogue, Problems& problems) {
  return check_spec(spec, catalogue, problems, {});
}

std::vector<Plan> check_spec(const Spec& spec, const Catalogue& catalogue, Problems& problems,
                             const Allowance& allowance) {
  std::vector<Plan> plans;
  Allowance left = allowance;
  for (const PipelineSpec& pipeline : spec.pipelines) {
    if (!pipeline.source) continue;
    const std::size_t before = problems.size();
    const StreamInfo stream = pipeline.source->describe(*pipeline.source_section);
    if (pipeline.overrun == Overrun::wait && !stream.can_wait)
      pipeline.section.problem("overrun", "a radio cannot wait: `wait` is for file, zmq, generate and recall");
    if (problems.size() > before) continue;
    if (pipeline.stages_are_wrong || !load_programs(pipeline, problems)) {
      check_without_plan(pipeline, problems);
      continue;
    }
    std::vector<OutputIndex> outputs;
    plans.push_back(make_plan(pipeline, stream, catalogue, target_of(pipeline), outputs, problems));
    if (problems.size() > before) continue;
    const bool locked = pipeline.realtime.lock_memory && left.left.locked.has_value();
    const Sizing sizing = size_up(pipeline, plans.back(), stream, outputs, {.locked = locked});
    check_limits(pipeline, sizing, left);
    left.promise(sizing);
  }
  refuse_shared_endpoints(spec);
  refuse_shared_claims(spec);
  sort_by_place(problems);
  return plans;
}

}  // namespace iqd
