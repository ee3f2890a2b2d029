// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/error.hpp"
#include "daemon/bench/blocks_bench.hpp"
#include "daemon/bench/copy_bound.hpp"

namespace iqd {
namespace {

/// Used in turn. They have magnitude one, so that samples keep their size.
std::vector<ChainedStage> links() {
  return {{find_stage("multiply_const"), "{value: [0.6, 0.8]}"}, {find_stage("conjugate"), "{}"}};
}

StageTrial chain_of(std::int64_t stages, bool fuse, std::int64_t block, const std::string& backend) {
  const std::vector<ChainedStage> all = links();
  StageTrial trial{.entry = all[0].entry, .keys = all[0].keys, .block = block, .backend = backend};
  trial.fuse = fuse;
  for (std::int64_t s = 1; s < stages; ++s) trial.behind.push_back(all[static_cast<std::size_t>(s) % all.size()]);
  return trial;
}

constexpr std::int64_t kLanes = 4;
constexpr std::int64_t kMostAcross = 1 << 22;  // samples; larger blocks only stay on a device

/// Enough blocks in flight to hide the copies.
BenchRow flat_out(const StageTrial& trial, const BenchRow& one, double seconds) {
  std::vector<std::unique_ptr<StageRunner>> runners;
  Problems problems;
  for (std::int64_t l = 0; l < kLanes; ++l)
    runners.push_back(
        make_runner(trial, block_inputs(*trial.entry, trial.block * kBlocksOfInput), Timed::whole, problems));
  const InFlight times = time_in_flight(runners, trial.block, seconds);
  const Plan& plan = runners.front()->plan();
  BenchRow row = one;
  set_percentiles(row, times.us);
  row.throughput = times.blocks_per_second * static_cast<double>(trial.block);
  row.bound = exchanges_per_second(runners.front()->backend(), kLanes, bytes_in(plan), bytes_out(plan)) *
              static_cast<double>(trial.block);
  return row;
}

void bench_chain(BlocksBench& bench, std::int64_t stages, bool fuse, std::int64_t block, const std::string& backend) {
  const StageTrial trial = chain_of(stages, fuse, block, backend);
  const auto inputs = block_inputs(*trial.entry, block * kBlocksOfInput);
  const std::string variant = fmt::format("{} stage{}{}", stages, stages > 1 ? "s" : "", fuse ? "" : ", fuse: off");
  const auto give = [&](BenchRow row, std::string_view how) {
    row.name = "chain";
    row.variant = variant + std::string(how);
    row.keys.clear();
    bench.give(row);
  };
  Problems problems;
  if (block <= kMostAcross)
    if (const auto one = bench.measure(trial, inputs, Timed::whole, problems)) {
      give(one->row, "");
      if (backend != "cpu") give(flat_out(trial, one->row, bench.options().seconds), fmt::format(", {} lanes", kLanes));
    }
  if (backend == "cpu") return;
  StageTrial by_device = trial;
  by_device.wait = Wait::resident;
  if (block <= kMostAcross)
    if (const auto one = bench.measure(by_device, inputs, Timed::whole, problems)) give(one->row, ", wait: resident");
  if (const auto stays = bench.measure(trial, inputs, Timed::resident, problems)) give(stays->row, ", resident");
}

std::vector<std::int64_t> usual_sizes(bool quick, const std::string& backend) {
  if (quick) return {8192};
  std::vector<std::int64_t> sizes{8192, 65'536, 1 << 20};
  if (backend != "cpu") sizes.push_back(1 << 24);
  return sizes;
}

}  // namespace

void bench_chains(BlocksBench& bench) {
  const bool quick = bench.options().quick;
  std::vector<std::int64_t> lengths{1, 2, 4, 8, 16};
  if (quick) lengths = {1, 16};
  for (const std::string& backend : bench.backends())
    for (const std::int64_t size : bench.sizes(usual_sizes(quick, backend)))
      for (const std::int64_t stages : lengths)
        for (const bool fuse : {true, false}) bench_chain(bench, stages, fuse, size, backend);
}

}  // namespace iqd
