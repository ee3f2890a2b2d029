// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "daemon/bench/bench_row.hpp"
#include "daemon/bench/free_pipeline.hpp"
#include "pipeline/backend/find_backend.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kPaceNs = 200'000;
constexpr double kLeastUs = 3;  // the engine's target per block

BenchRow row_of(const FreePipeline& p, const FreeRun& run, std::string variant) {
  BenchRow row{"engine", std::move(variant), run.backend, device_of(p.backend), fmt::format("{}", p.block)};
  set_percentiles(row, run.latency);
  row.throughput = run.blocks_per_second;
  row.unit = "blocks/s";
  return row;
}

BenchRow bench_empty_blocks(const FreePipeline& p, const std::string& variant) {
  const FreeRun run = run_free(p);
  const double own_us = std::max(0.0, run.latency.quantile_ns(0.5) / 1e3 - run.all_steps_us());
  const std::string share = p.pace_ns > 0 ? fmt::format(", {:.1f} us besides its steps", own_us) : "";
  BenchRow row = row_of(p, run, fmt::format("{}, {} lane(s){}", variant, p.lanes, share));
  row.bound = p.pace_ns > 0 ? 1e9 / static_cast<double>(p.pace_ns) : 1e6 / kLeastUs;
  row.bound_by = p.pace_ns > 0 ? "its pace" : fmt::format("{} us a block", kLeastUs);
  return row;
}

}  // namespace

std::vector<BenchRow> bench_engine(const BenchOptions& options) {
  FreePipeline p;
  p.backend = options.backend;
  p.seconds = options.seconds;
  p.wait = options.wait;
  p.share = options.share;
  p.load = options.load;
  if (choose_backend(options.backend).backend->kind() == BackendKind::cpu) {
    if (!p.share.empty() || p.load) throw UsageError("`--share` and `--load` need a GPU: `--backend cuda`");
    p.stages = "[empty: {}]";
    p.port = "empty.out";
  }
  std::vector<BenchRow> rows;
  for (const std::int64_t lanes : {1, 2}) {
    p.lanes = lanes;
    rows.push_back(bench_empty_blocks(p, "flat out"));
  }
  p.lanes = 1;
  p.pace_ns = kPaceNs;
  std::vector<std::int64_t> blocks = options.blocks;
  if (blocks.empty()) blocks = {64, 8192};
  for (const std::int64_t block : blocks) {
    p.block = block;
    rows.push_back(bench_empty_blocks(p, "one by one"));
  }
  return rows;
}

}  // namespace iqd
