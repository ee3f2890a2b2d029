// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// How samples get to a device and back: the basis of `iqd tune`, and whether lanes overlap.
#include "daemon/bench/device_bench.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "daemon/bench/bench_row.hpp"
#include "daemon/bench/free_pipeline.hpp"
#include "pipeline/backend/find_backend.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kSampleBytes = sizeof(cf32);
constexpr std::int64_t kCopyBlock = 524'288;  // 4 MiB
/// GB/s each way of an H200's link: measured with 256 MB from and to pinned memory at once, and nothing else.
constexpr double kH200BothWays = 50.8;

/// Always a device: `auto` means cuda.
std::string device_name(const BenchOptions& options) {
  const std::string name = options.backend == "auto" ? "cuda" : options.backend;
  if (name == "cpu") throw UsageError("this bench needs a GPU: `--backend cuda`");
  return name;
}

std::string size_text(std::int64_t bytes) {
  return bytes < 1 << 20 ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} MiB", bytes >> 20);
}

double gigabytes_per_second(const FreePipeline& p, const FreeRun& run) {
  return run.blocks_per_second * static_cast<double>(p.block * kSampleBytes) / 1e9;
}

BenchRow lanes_row(const FreePipeline& p, const FreeRun& run, std::string variant) {
  BenchRow row{"lanes", std::move(variant), run.backend, device_of(p.backend), size_text(p.block * kSampleBytes)};
  set_percentiles(row, run.latency);
  row.throughput = gigabytes_per_second(p, run);
  row.unit = "GB/s";
  return row;
}

/// With a filter of `taps` taps between the copies.
FreeRun run_filtered(FreePipeline p, std::int64_t taps) {
  p.stages = fmt::format("[fir: {{design: {{type: low_pass, cutoff: 1e5, ntaps: {}}}}}]", taps);
  p.port = "fir.out";
  return run_free(p);
}

/// A kernel that takes as long as the copies: its taps follow from two measurements.
BenchRow beside_a_kernel(FreePipeline p, double copy_us) {
  const auto kernel_us = [&](std::int64_t taps) {
    FreePipeline one = p;
    one.lanes = 1;
    const FreeRun run = run_filtered(one, taps);
    return run.steps_us.at(run.steps_us.size() - 2);
  };
  const double few = kernel_us(65), many = kernel_us(513);
  const auto taps = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(65 + (copy_us - few) / std::max(1e-3, (many - few) / 448)), 1, 20'000);
  const double alone_us = std::max(copy_us, kernel_us(taps));
  BenchRow row = lanes_row(p, run_filtered(p, taps),
                           fmt::format("with a fir of {} taps, {:.0f} us, {} lanes", taps, kernel_us(taps), p.lanes));
  row.bound = static_cast<double>(p.block * kSampleBytes) / alone_us / 1e3;
  row.bound_by = fmt::format("the slower alone, {:.0f} us", alone_us);
  return row;
}

}  // namespace

std::vector<BenchRow> bench_lanes(const BenchOptions& options) {
  FreePipeline p;
  p.backend = device_name(options);
  p.wait = options.wait;
  p.seconds = options.seconds;
  p.transfer = "copy";
  p.block = options.blocks.empty() ? kCopyBlock : options.blocks.front();
  std::vector<BenchRow> rows;
  double best = 0;
  for (const std::int64_t lanes : {1, 2, 4, 8}) {
    p.lanes = lanes;
    rows.push_back(lanes_row(p, run_free(p), fmt::format("to the GPU and back, {} lane(s)", lanes)));
    if (rows.back().device == "NVIDIA H200") {
      rows.back().bound = kH200BothWays;
      rows.back().bound_by = "both ways at once";
    }
    best = std::max(best, rows.back().throughput);
  }
  p.lanes = 4;
  rows.push_back(beside_a_kernel(p, static_cast<double>(p.block * kSampleBytes) / best / 1e3));
  return rows;
}

std::vector<BenchRow> bench_devices(const BenchOptions& options) {
  FreePipeline p;
  p.wait = options.wait;
  p.seconds = options.seconds;
  p.block = options.blocks.empty() ? kCopyBlock : options.blocks.front();
  p.transfer = "copy";
  struct Load {
    const char* name;
    std::string stages;
    const char* port;
  };
  const std::vector<Load> loads{{"computes", "[fir: {design: {type: low_pass, cutoff: 1e5, ntaps: 8001}}]", "fir.out"},
                                {"moves one way", "[spectrum: {}]", "spectrum.out"},
                                {"moves both ways", "[]", "source"}};
  std::vector<BenchRow> rows;
  for (const Load& load : loads) {
    p.stages = load.stages;
    p.port = load.port;
    double one = 0;
    for (const bool two : {false, true}) {
      p.backend = two ? "[cuda:0, cuda:1]" : "cuda:0";
      p.lanes = two ? 8 : 4;
      const FreeRun run = run_free(p);
      BenchRow row{"devices", load.name, run.backend, choose_backend("cuda:0").backend->device(),
                   size_text(p.block * kSampleBytes)};
      set_percentiles(row, run.latency);
      row.throughput = gigabytes_per_second(p, run);
      row.unit = "GB/s";
      if (two) {
        row.bound = 2 * one;
        row.bound_by = "twice one device";
      }
      one = row.throughput;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

MappedTrial try_mapped(const BenchOptions& options, std::int64_t bytes, const std::string& transfer) {
  FreePipeline p;
  p.backend = device_name(options);
  p.wait = "spin";
  p.seconds = options.seconds;
  p.transfer = transfer;
  p.block = bytes / kSampleBytes;
  MappedTrial trial;
  p.pace_ns = 50'000 + bytes / 10;  // a link of 20 GB/s each way is idle half of the time
  const FreeRun one = run_free(p);
  trial.latency = one.latency;
  p.pace_ns = 0;
  p.lanes = 4;
  const FreeRun many = run_free(p);
  trial.gigabytes_per_second = gigabytes_per_second(p, many);
  trial.backend = one.backend;
  trial.device = device_of(p.backend);
  return trial;
}

std::vector<BenchRow> bench_copy_or_mapped(const BenchOptions& options) {
  std::vector<BenchRow> rows;
  std::vector<std::int64_t> blocks = options.blocks;
  if (blocks.empty())
    for (std::int64_t bytes = 4096; bytes <= 16 << 20; bytes *= 4) blocks.push_back(bytes / kSampleBytes);
  for (const std::int64_t block : blocks)
    for (const char* transfer : {"mapped", "copy"}) {
      const MappedTrial trial = try_mapped(options, block * kSampleBytes, transfer);
      BenchRow row{"copy_or_mapped", transfer, trial.backend, trial.device, size_text(block * kSampleBytes)};
      set_percentiles(row, trial.latency);
      row.throughput = trial.gigabytes_per_second;
      row.unit = "GB/s";
      rows.push_back(std::move(row));
    }
  return rows;
}

}  // namespace iqd
