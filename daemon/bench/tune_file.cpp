// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/bench/tune_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "base/error.hpp"
#include "daemon/bench/fixed_times.hpp"
#include "daemon/bench/kept_pipeline.hpp"
#include "daemon/bench/sampled_source.hpp"
#include "pipeline/auto_place.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "pipeline/backend/find_backend.hpp"

namespace iqd {
namespace {

constexpr const char* kCommand = "tune";
constexpr double kWarmSeconds = 0.1;
constexpr double kRunSeconds = 0.3;
constexpr int kTimeOneIn = 3;

struct MeasuredGroup {
  PlanStepGroup group;
  Side side = Side::host;
  double us = 0;
};

/// A pipeline that ran on one side, apart from stages that can only be on the other.
struct MeasuredSide {
  Side side = Side::host;
  double block_us = 0;  // a whole block
  std::vector<MeasuredGroup> groups{};
};

std::vector<MeasuredGroup> groups_in(const Pipeline& pipeline, const FreeRun& run) {
  std::vector<MeasuredGroup> found;
  pipeline.visit_plan([&](const Plan& plan) {
    for (PlanStepGroup& group : groups_of(plan, pipeline.spec())) {
      double us = 0;
      for (const StepIndex s : group.steps) us += typical_us(run.steps.at(s));
      const Side side = plan.steps[group.steps.front()].side;
      found.push_back({std::move(group), side, us});
    }
  });
  return found;
}

MeasuredSide measure_side(const std::string& file, const KeptSetup& setup) {
  KeptPipeline kept(kCommand, file, setup);
  kept.flat_out(kWarmSeconds);
  const FreeRun run = kept.one_by_one(kRunSeconds);
  MeasuredSide side{setup.backend == "cpu" ? Side::host : Side::device, typical_us(run.latency),
                    groups_in(kept.pipeline(), run)};
  kept.stop();
  return side;
}

/// The time of a group on the measured side, where its stages may be several groups; nothing if it did not run there.
std::optional<double> time_in(const MeasuredSide& side, const PlanStepGroup& group) {
  std::optional<double> us;
  for (const MeasuredGroup& other : side.groups) {
    const auto is_in = [&](const std::string& name) {
      return std::ranges::find(group.names, name) != group.names.end();
    };
    if (other.side == side.side && std::ranges::any_of(other.group.names, is_in)) us = us.value_or(0) + other.us;
  }
  return us;
}

/// What a block took on the other side.
double time_elsewhere(const MeasuredSide& side) {
  double us = 0;
  for (const MeasuredGroup& group : side.groups) us += group.side == side.side ? 0 : group.us;
  return us;
}

/// Times of a pipeline's groups; equal stages are listed each.
using NamedTimes = std::vector<std::pair<std::string, double>>;

/// Brings times of stages to what a whole block took, apart from `besides_us`. They were measured step by step, with
/// copies; a whole block is one graph, and may use the host's memory in place.
void fit(NamedTimes& times, double block_us, double besides_us) {
  double sum = 0;
  for (const auto& [name, us] : times) sum += us;
  const double factor = sum > 0 ? std::max(0.0, block_us - besides_us) / sum : 1;
  for (auto& [name, us] : times) us *= factor;
}

/// Equal stages of a pipeline get their mean, so the sum stays what a whole block took. A stage that an earlier pipeline
/// of the file has, too, keeps the time it had there.
void add(Times& to, const NamedTimes& found) {
  std::map<std::string, std::pair<double, int>> sums;
  for (const auto& [name, us] : found) sums[name].first += us, ++sums[name].second;
  for (const auto& [name, sum] : sums) to.emplace(name, sum.first / sum.second);
}

/// One pipeline at one block size.
class PipelineTuning {
 public:
  PipelineTuning(const FileTuning& tuning, std::string name, std::int64_t block)
      : tuning_(tuning), loaded_(load(tuning.file)), spec_(choose_pipeline(kCommand, loaded_->spec, name)) {
    spec_.block = block;
    samples_ = collect_samples(spec_, block, tuning.noise);
    setup_.pipeline = std::move(name);
    setup_.block = block;
    setup_.source = [this](PipelineSpec& spec) { return sampled_source(spec, samples_); };
    plan_ = plan_to_place(spec_, samples_->info, catalogue());
    if (!plan_ || report(loaded_->problems))
      throw UsageError(fmt::format("{}: {} is not a valid pipeline", kCommand, spec_.name));
  }

  /// Adds the times of both sides that are not known yet.
  void measure(Times& host, Times& device) {
    KeptSetup setup = setup_;
    setup.backend = "cpu";
    setup.time_every = kTimeOneIn;
    const MeasuredSide on_host = measure_side(tuning_.file, setup);
    NamedTimes own_host = named(on_host), own_device;
    double elsewhere_us = 0;
    if (!tuning_.device.empty()) {
      setup.backend = tuning_.device;
      setup.time_every = 0;  // a block whose steps are timed is launched step by step, which takes longer
      const MeasuredSide in_place = measure_side(tuning_.file, setup);
      setup.transfer = Transfer::copy;
      setup.time_every = kTimeOneIn;
      const MeasuredSide copied = measure_side(tuning_.file, setup);
      own_device = named(copied);
      elsewhere_us = time_elsewhere(copied);
      device_us_ = in_place.block_us;
    }
    host_us_ = on_host.block_us;
    // Without the stages: the fixed times and the crossings.
    const Placement bare = placed(with(host, without_time()), with(device, without_time()));
    fit(own_host, host_us_, bare.host_us + time_elsewhere(on_host));
    fit(own_device, device_us_, bare.device_us + elsewhere_us);
    add(host, own_host);
    add(device, own_device);
  }

  void print(const Times& host, const Times& device) const {
    fmt::print("\n{}: blocks of {}, {}\n", spec_.name, spec_.block,
               samples_->noise_since.empty() ? "samples of its source" : "noise: " + samples_->noise_since);
    fmt::print("  {:<28} {:>12} {:>12}  {}\n", "stage", "cpu us", "device us", tuning_.device.empty() ? "" : "placed");
    const Placement placement = placed(host, device);
    const auto text = [](const std::optional<double>& us) { return us ? fmt::format("{:.2f}", *us) : "-"; };
    for (const Placement::Part& part : placement.parts) {
      const std::string name = time_name(*plan_, part.group, spec_);
      const BothTimes times = known(host, device).measured(name);
      fmt::print("  {:<28} {:>12} {:>12}  {}\n", part.group.name(), text(times.host_us), text(times.device_us),
                 tuning_.device.empty()    ? ""
                 : part.side == Side::host ? "cpu"
                                           : tuning_.device);
    }
    fmt::print("  {:<28} {:>12.2f} {:>12}  {}\n", "a block", host_us_,
               tuning_.device.empty() ? "-" : fmt::format("{:.2f}", device_us_),
               tuning_.device.empty() ? "" : placement.summary());
  }

 private:
  static Times with(Times times, const Times& more) {
    for (const auto& [name, us] : more) times[name] = us;
    return times;
  }
  static KnownTimes known(const Times& host, const Times& device) { return {{host, false}, {device, false}}; }
  NamedTimes named(const MeasuredSide& side) const {
    NamedTimes times;
    for (const PlanStepGroup& group : groups_of(*plan_, spec_))
      if (const std::optional<double> us = time_in(side, group))
        times.emplace_back(time_name(*plan_, group, spec_), *us);
    return times;
  }
  Times without_time() const {
    Times times;
    for (const PlanStepGroup& group : groups_of(*plan_, spec_)) times[time_name(*plan_, group, spec_)] = 0;
    return times;
  }
  Placement placed(const Times& host, const Times& device) const {
    const KnownTimes times = known(host, device);
    return place(placing_task(spec_, samples_->info, *plan_, times, tuning_.device));
  }

  const FileTuning& tuning_;
  std::unique_ptr<Loaded> loaded_;
  PipelineSpec& spec_;
  std::shared_ptr<const Samples> samples_;
  KeptSetup setup_;
  std::optional<Plan> plan_;
  double host_us_ = 0;
  double device_us_ = 0;
};

struct PipelineToTune {
  std::string name;
  std::int64_t block;
  Wait wait;
};

/// The file's pipelines that `backend: auto` places.
std::vector<PipelineToTune> pipelines_of(const FileTuning& tuning) {
  const std::unique_ptr<Loaded> loaded = load(tuning.file);
  check_spec(loaded->spec, catalogue(), loaded->problems);
  if (report(loaded->problems)) throw UsageError(fmt::format("{}: {} is not a valid pipeline", kCommand, tuning.file));
  if (!tuning.pipeline.empty()) choose_pipeline(kCommand, loaded->spec, tuning.pipeline);
  std::vector<PipelineToTune> found;
  for (const PipelineSpec& spec : loaded->spec.pipelines) {
    if (!tuning.pipeline.empty() && spec.name != tuning.pipeline) continue;
    if (const std::string why = spec.stages.empty() ? "it has no stages" : why_not_placed(spec); !why.empty()) {
      fmt::print("{}: nothing to place: {}\n", spec.name, why);
      continue;
    }
    for (const std::int64_t block : tuning.blocks) found.push_back({spec.name, block, spec.wait});
    if (tuning.blocks.empty()) found.push_back({spec.name, spec.block, spec.wait});
  }
  return found;
}

void store_or_say(const Backend& backend, const Times& times, bool store) {
  if (!store || times.empty()) return;
  store_times(backend.device(), measured_with(backend.details()), times);
  fmt::print("stored in {}\n", tuning_file(backend.device()).string());
}

}  // namespace

void tune_file(const FileTuning& tuning) {
  const std::vector<PipelineToTune> pipelines = pipelines_of(tuning);
  if (pipelines.empty()) return;
  const std::unique_ptr<Backend> host = make_cpu_backend();
  std::unique_ptr<Backend> device;
  if (!tuning.device.empty()) device = choose_backend(tuning.device).backend;
  std::set<Wait> waits;
  for (const PipelineToTune& each : pipelines) waits.insert(each.wait);
  Times host_times = measure_fixed_times("cpu", waits), device_times;
  if (device) device_times = measure_fixed_times(tuning.device, waits);
  std::string failed;
  for (const PipelineToTune& each : pipelines) try {
      PipelineTuning one(tuning, each.name, each.block);
      one.measure(host_times, device_times);
      one.print(host_times, device_times);
    } catch (const std::runtime_error& e) {  // the others may still be measured
      failed += fmt::format("{}{}, blocks of {}: {}", failed.empty() ? "" : "; ", each.name, each.block, e.what());
    }
  store_or_say(*host, host_times, tuning.store);
  if (device) store_or_say(*device, device_times, tuning.store);
  if (!failed.empty()) throw SetupError(fmt::format("{}: {}", kCommand, failed));
}

}  // namespace iqd
