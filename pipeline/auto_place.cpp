// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/auto_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "pipeline/sizing.hpp"
#include "pipeline/spec/spec_backends.hpp"

namespace iqd {
namespace {

bool is_free_to_place(const PipelineSpec& spec, const StreamInfo& stream, const ChosenBackends& chosen) {
  return why_not_placed(spec).empty() && chosen.backends.devices.size() == 1 &&
         stream.known == StreamInfo::Known::whole;
}

void set_places(PipelineSpec& spec, std::string_view usual, const std::function<Side(const StageSpec&)>& side) {
  spec.placed = usual;
  for (StageSpec& stage : spec.stages)
    if (stage.backend.empty() || stage.backend.front() == "auto")
      stage.placed = side(stage) == Side::host ? "cpu" : "cuda";
}

void clear_places(PipelineSpec& spec) {
  spec.placed.clear();
  for (StageSpec& stage : spec.stages) stage.placed.clear();
}

/// Stages of the plan that have a state, and continue those of `running`.
std::vector<KeptStage> kept_stages(const Plan& plan, const Plan& running) {
  std::vector<KeptStage> kept;
  for (const PlanStep& step : plan.steps)
    for (const PlanStep& now : running.steps)
      if (step.carry_bytes > 0 && same_but_live(step, now))
        kept.push_back({step.name, on_device(now.side) ? Side::device : Side::host});
  return kept;
}

}  // namespace

std::string why_not_placed(const PipelineSpec& spec) {
  if (spec.backend != std::vector<std::string>{"auto"}) return "the file says which backend it uses";
  if (!spec.gpu_share.empty()) return "it has a part of the GPU for itself";
  if (backends_of(spec).names.size() > 1) return "its stages are on several devices";
  return "";
}

PlacingTask placing_task(const PipelineSpec& spec, const StreamInfo& stream, const Plan& plan, const KnownTimes& times,
                         std::string device) {
  PlacingTask task{spec, plan, times, std::move(device)};
  task.ring_saves = target_of(spec).ring_saves;
  task.block_s = stream.rate_hz > 0 ? static_cast<double>(spec.block) / stream.rate_hz : 0;
  const auto cpus = std::max<std::int64_t>(std::thread::hardware_concurrency(), 1);
  task.host_lanes = std::min<std::int64_t>(cpus, lanes_of(spec));
  return task;
}

std::optional<Plan> plan_to_place(PipelineSpec& spec, const StreamInfo& stream, const Catalogue& catalogue) {
  clear_places(spec);
  spec.placed = "cpu";
  Problems& problems = spec.section.problems();
  const std::size_t before = problems.size();
  std::vector<OutputIndex> outputs;
  Plan plan = make_plan(spec, stream, catalogue, target_of(spec), outputs, problems);
  spec.placed.clear();
  if (problems.size() == before) return plan;
  problems.resize(before);
  return std::nullopt;
}

std::optional<Placement> place_stages(PipelineSpec& spec, const StreamInfo& stream, const Catalogue& catalogue,
                                      ChosenBackends& chosen, const Plan* running) {
  if (!is_free_to_place(spec, stream, chosen)) return std::nullopt;
  const KnownTimes times(*chosen.backends.host, *chosen.backends.devices.front());
  return place_stages(spec, stream, catalogue, chosen, running, times);
}

std::optional<Placement> place_stages(PipelineSpec& spec, const StreamInfo& stream, const Catalogue& catalogue,
                                      ChosenBackends& chosen, const Plan* running, const KnownTimes& times) {
  if (!is_free_to_place(spec, stream, chosen)) return std::nullopt;
  const std::optional<Plan> plan = plan_to_place(spec, stream, catalogue);
  if (!plan || plan->steps.empty()) return std::nullopt;
  PlacingTask task = placing_task(spec, stream, *plan, times, chosen.backends.devices.front()->name());
  if (running) task.kept = kept_stages(*plan, *running);
  Placement placement = place(task);
  set_places(spec, placement.usual_side() == Side::host ? "cpu" : "cuda",
             [&](const StageSpec& stage) { return placement.side_of(stage.name); });
  chosen.reason = placement.summary();
  if (placement.uses(Side::device) || std::ranges::any_of(spec.stages, names_devices, &StageSpec::backend))
    return placement;
  chosen.backends.devices.clear();
  chosen.backends.parts.clear();
  chosen.share.clear();
  chosen.names = chosen.backends.host->name();
  chosen.left_device = true;
  return placement;
}

void keep_places(const PipelineSpec& running, PipelineSpec& next) {
  next.placed = running.placed;
  for (StageSpec& stage : next.stages)
    if (const StageSpec* const before = stage_named(running, stage.name)) stage.placed = before->placed;
}

}  // namespace iqd
