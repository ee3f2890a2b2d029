// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/bench/blocks_bench.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "daemon/bench/bench_input.hpp"
#include "daemon/bench/copy_bound.hpp"
#include "pipeline/backend/find_backend.hpp"

namespace iqd {
namespace {

/// Added to the stages' own tolerances, for the sums of a longer chain.
constexpr double kLeastTolerance = 1e-6;

double tolerance_of(const StageTrial& trial) {
  double tolerance = kLeastTolerance + trial.entry->tolerance;
  for (const ChainedStage& s : trial.behind) tolerance += s.entry->tolerance;
  return tolerance;
}

std::vector<std::string> backends_for(const std::string& wanted) {
  if (wanted == "cpu") return {"cpu"};
  if (wanted != "auto") return {"cpu", wanted};
  std::string why;
  if (count_cuda_devices(why) > 0) return {"cpu", "cuda"};
  fmt::print(stderr, "bench blocks: CPU only: {}\n", why);
  return {"cpu"};
}

}  // namespace

BlocksBench::BlocksBench(const BenchOptions& options, const RowSink& sink)
    : options_(options), sink_(sink), backends_(backends_for(options.backend)) {}

bool BlocksBench::wants(std::string_view name) const {
  return options_.only.empty() || std::ranges::find(options_.only, name) != options_.only.end();
}

std::vector<std::int64_t> BlocksBench::sizes(const std::vector<std::int64_t>& usual) const {
  return options_.blocks.empty() ? usual : options_.blocks;
}

void BlocksBench::leave_out(const std::string& what, const std::string& why) {
  if (std::ranges::find(left_out_, what) != left_out_.end()) return;
  left_out_.push_back(what);
  fmt::print(stderr, "bench blocks: skipping {}: {}\n", what, why);
}

double BlocksBench::bound(Backend& backend, Timed timed, std::size_t in, std::size_t out) {
  const bool host = backend.kind() == BackendKind::cpu;
  const auto [known, is_new] = bounds_.try_emplace({host, timed, in, out}, 0);
  if (!is_new) return known->second;
  const std::size_t half = std::max<std::size_t>(1, (in + out) / 2);
  if (host)
    known->second = copy_bytes_per_second(half) / static_cast<double>(half);
  else if (timed == Timed::resident)
    known->second = device_copy_bytes_per_second(backend, half) / static_cast<double>(half);
  else
    known->second = exchanges_per_second(backend, 1, in, out);
  return known->second;
}

std::optional<Measured> BlocksBench::measure(const StageTrial& trial, const std::vector<StageInput>& inputs,
                                             Timed timed, Problems& problems) {
  std::unique_ptr<StageRunner> runner;
  bool checked = false;
  try {
    runner = make_runner(trial, inputs, timed, problems);
    if (runner) checked = check_results(trial, inputs, tolerance_of(trial));
  } catch (const WrongResult& e) {
    wrong_.emplace_back(e.what());
    leave_out(wrong_.back(), "the results are wrong");
    return std::nullopt;
  } catch (const SetupError& e) {
    leave_out(fmt::format("{} on {}", trial.entry->name, trial.backend), e.what());
    return std::nullopt;
  }
  if (!runner) return std::nullopt;
  const std::vector<double> us = time_blocks(*runner, trial.block, timed, options_.seconds);
  Backend& backend = runner->backend();
  BenchRow row{std::string(trial.entry->name), {}, backend.name(), backend.device(), fmt::format("{}", trial.block)};
  row.keys = trial.keys;
  set_percentiles(row, us);
  row.throughput = static_cast<double>(trial.block) / row.p50_us * 1e6;
  row.unit = "samples/s";
  const Plan& plan = runner->plan();
  row.bound = bound(backend, timed, bytes_in(plan), bytes_out(plan)) * static_cast<double>(trial.block);
  row.bound_by = "copy of inputs and outputs";
  row.further = {{"checked", checked ? 1 : 0}};
  const PlanPort& out = plan.ports[plan.outputs.front().port];
  return Measured{std::move(row), out.shape, out.most_new};
}

std::vector<StageInput> block_inputs(const StageEntry& entry, std::int64_t length, Element element, double rate_hz) {
  std::vector<StageInput> inputs;
  for (const InputSpec& spec : entry.inputs) {
    StageInput in;
    in.length = length;
    in.shape = spec.example_shape(spec.takes(element) ? element : spec.elements.front(), length);
    in.shape.rate_hz = in.shape.source_rate_hz = rate_hz;
    fill_random(in, in.shape.element == Element::f32);
    inputs.push_back(std::move(in));
  }
  return inputs;
}

std::vector<std::string> bench_blocks(const BenchOptions& options, const RowSink& sink) {
  BlocksBench bench(options, sink);
  for (const std::string& name : options.only)
    if (name != "chains" && name != "filters" && !is_block(name))
      throw UsageError(fmt::format("--only: '{}' is not `chains`, `filters` or a stage of the table", name));
  bench_each_block(bench);
  if (bench.wants("chains")) bench_chains(bench);
  if (bench.wants("filters")) bench_filters(bench);
  return bench.wrong();
}

}  // namespace iqd
