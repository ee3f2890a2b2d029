// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "daemon/bench/bench_input.hpp"
#include "daemon/bench/bench_row.hpp"
#include "daemon/bench/copy_bound.hpp"
#include "daemon/bench/stage_trial.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/command/stage_keys.hpp"
#include "pipeline/backend/find_backend.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {
namespace {

StageTrial trial_of(const StageEntry& entry, const BenchOptions& options, std::int64_t block) {
  return {.entry = &entry,
          .keys = options.config.empty() ? sample_keys(entry) : keys_of(options.config),
          .block = block,
          .backend = options.backend,
          .transfer = options.transfer,
          .outputs = options.outputs};
}

std::unique_ptr<StageRunner> runner_for(const StageTrial& trial, const BenchOptions& options, Timed timed) {
  std::vector<StageInput> inputs;
  for (const InputSpec& spec : trial.entry->inputs) {
    if (!is_wanted(spec, options)) break;  // optional inputs come last
    inputs.push_back(input_for(spec, trial.block * kBlocksOfInput, options));
  }
  Problems problems;
  auto runner = make_runner(trial, inputs, timed, problems);
  if (report(problems)) throw UsageError(fmt::format("bench {}: invalid keys", trial.entry->name));
  return runner;
}

BenchRow row_for(const StageTrial& trial, const BenchOptions& options, const Backend& backend,
                 std::string_view variant) {
  std::string shape = options.config.empty() ? "sample" : "given keys";
  BenchRow row{std::string(trial.entry->name), shape + std::string(variant), backend.name(), backend.device(),
               fmt::format("{}", trial.block)};
  row.unit = trial.entry->inputs.front().items() ? "items/s" : "samples/s";
  return row;
}

BenchRow bench_in_flight(const StageTrial& trial, const BenchOptions& options, std::int64_t lanes) {
  std::vector<std::unique_ptr<StageRunner>> runners;
  for (std::int64_t l = 0; l < lanes; ++l) runners.push_back(runner_for(trial, options, Timed::whole));
  const InFlight times = time_in_flight(runners, trial.block, options.seconds);
  Backend& backend = runners.front()->backend();
  BenchRow row = row_for(trial, options, backend, fmt::format(", {} lane(s)", lanes));
  set_percentiles(row, times.us);
  row.throughput = times.blocks_per_second * static_cast<double>(trial.block);
  const Plan& plan = runners.front()->plan();
  row.bound = exchanges_per_second(backend, std::max<std::int64_t>(lanes, 4), bytes_in(plan), bytes_out(plan)) *
              static_cast<double>(trial.block);
  row.bound_by = "copies of the same bytes in and out";
  return row;
}

BenchRow bench_block(const StageTrial& trial, const BenchOptions& options, Timed timed) {
  const bool resident = timed == Timed::resident;
  const auto runner = runner_for(trial, options, timed);
  const std::vector<double> us = time_blocks(*runner, trial.block, timed, options.seconds);
  const std::size_t bytes = bytes_of_ports(runner->plan());
  Backend& backend = runner->backend();
  BenchRow row = row_for(trial, options, backend, resident ? ", resident" : "");
  set_percentiles(row, us);
  const double total = std::accumulate(us.begin(), us.end(), 0.0);
  row.throughput = static_cast<double>(std::ssize(us) * trial.block) / total * 1e6;
  const double copied = resident ? device_copy_bytes_per_second(backend, bytes / 2) : copy_bytes_per_second(bytes / 2);
  if (resident || backend.kind() == BackendKind::cpu) {
    row.bound = copied * 2 / static_cast<double>(bytes) * static_cast<double>(trial.block);
    row.bound_by = "memory copy of the same bytes";
  }
  return row;
}

}  // namespace

std::vector<BenchRow> bench_stage(const std::string& name, const BenchOptions& options) {
  const StageEntry* found = find_stage(name);
  if (!found)
    throw UsageError(fmt::format(
        "there is no bench '{}'; use `blocks`, `engine`, `lanes`, `devices`, `copy_or_mapped`, `convolution` or the "
        "name of a stage",
        name));
  Problems problems;
  const StageEntry own =
      configured(*found, options.config.empty() ? sample_keys(*found) : keys_of(options.config), problems);
  if (!problems.empty()) throw UsageError(problems.front().text());
  const StageEntry* const entry = &own;
  check_ports(*entry, options.items);
  check_ports(*entry, options.arrays);
  std::vector<std::int64_t> blocks = options.blocks;
  const bool items = entry->inputs.front().items();
  if (blocks.empty())
    blocks = items ? std::vector<std::int64_t>{16, 512} : std::vector<std::int64_t>{8192, 65536, 1 << 20};
  std::vector<BenchRow> rows;
  const bool device = !entry->host_only && choose_backend(options.backend).backend->kind() != BackendKind::cpu;
  for (const std::int64_t block : blocks)
    rows.push_back(bench_block(trial_of(*entry, options, block), options, Timed::whole));
  if (!device) return rows;
  for (const std::int64_t block : blocks)
    for (const std::int64_t lanes : options.lanes)
      rows.push_back(bench_in_flight(trial_of(*entry, options, block), options, lanes));
  if (options.blocks.empty() && !items) blocks = {8192, 1 << 20, 1 << 24};
  for (const std::int64_t block : blocks)
    rows.push_back(bench_block(trial_of(*entry, options, block), options, Timed::resident));
  return rows;
}

}  // namespace iqd
