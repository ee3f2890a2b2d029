// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "daemon/bench/bench_row.hpp"
#include "daemon/bench/kept_pipeline.hpp"
#include "daemon/bench/sampled_source.hpp"

namespace iqd {
namespace {

constexpr double kAllOfACpu = 0.9;  // of a CPU: the thread that feeds the pipeline has hardly waited for it

BenchRow pipeline_row(const PipelineStatus& s, const FreeRun& run, std::int64_t block, std::string variant) {
  BenchRow row{s.name, std::move(variant), run.backend, device_of(run.backend), fmt::format("{}", block)};
  set_percentiles(row, run.latency);
  row.throughput = run.blocks_per_second * static_cast<double>(block);
  row.unit = "samples/s";
  row.bound = s.rate_hz;
  row.bound_by = "the radio's rate";
  return row;
}

KeptSetup setup_of(const BenchOptions& options, std::int64_t lanes) {
  KeptSetup setup;
  setup.block = options.blocks.empty() ? 0 : options.blocks.front();
  setup.lanes = lanes;
  setup.backend = options.backend;
  const auto waits = enum_names(Wait{});
  setup.wait = static_cast<Wait>(std::ranges::find(waits, options.wait) - waits.begin());
  if (options.noise)
    setup.source = [](PipelineSpec& spec) { return sampled_source(spec, collect_samples(spec, spec.block, true)); };
  return setup;
}

void bench_lanes_of(const std::string& file, const BenchOptions& options, std::int64_t lanes,
                    std::vector<BenchRow>& rows) {
  KeptPipeline kept("bench", file, setup_of(options, lanes));
  kept.flat_out(options.seconds);  // warm
  const FreeRun flat_out = kept.flat_out(options.seconds);
  std::string with = fmt::format("{} lanes", kept.pipeline().status().lanes);
  if (flat_out.device_bytes > 0)
    with += fmt::format(", {:.0f} MB on the GPU", static_cast<double>(flat_out.device_bytes) / 1e6);
  const std::string_view bound = kept.feeding() > kAllOfACpu ? ", bound by the thread that feeds it" : "";
  const auto add = [&](const FreeRun& run, std::string variant) {
    rows.push_back(pipeline_row(kept.pipeline().status(), run, kept.block(), std::move(variant)));
  };
  add(flat_out, fmt::format("flat out, {}{}", with, bound));
  rows.back().further = {{"feeding", kept.feeding()}};
  const FreeRun one_by_one = kept.one_by_one(options.seconds);
  add(one_by_one, "one by one, " + with);
  rows.back().further = {{"typical_us", typical_us(one_by_one.latency)}};
  kept.stop();
}

}  // namespace

std::vector<BenchRow> bench_pipeline(const std::string& file, const BenchOptions& options) {
  std::vector<std::int64_t> lanes = options.lanes;
  if (lanes.empty()) lanes = {0};
  std::vector<BenchRow> rows;
  for (const std::int64_t n : lanes) bench_lanes_of(file, options, n, rows);
  return rows;
}

}  // namespace iqd
