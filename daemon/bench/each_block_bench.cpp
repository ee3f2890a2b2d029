// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The study's table: each block by size, alone and within a chain.
#include <algorithm>
#include <array>
#include <set>

#include "base/error.hpp"
#include "daemon/bench/blocks_bench.hpp"
#include "daemon/command/stage_keys.hpp"

namespace iqd {
namespace {

/// Keys for 1 MS/s, for stages whose sample keys are not typical.
struct Keys {
  std::string_view stage;
  std::string_view keys;
};
constexpr Keys kKeys[] = {
    {"fir", "{design: {type: low_pass, cutoff: 100e3, ntaps: 65}}"},
    {"fft", "{size: 1024}"},
    {"rotate", "{frequency: 100e3}"},
};

std::string case_keys(const StageEntry& entry) {
  for (const Keys& k : kKeys)
    if (k.stage == entry.name) return std::string(k.keys);
  return sample_keys(entry);
}

std::vector<std::int64_t> usual_sizes(bool quick) {
  if (quick) return {2048, 65536};
  std::vector<std::int64_t> sizes;
  for (std::int64_t n = 2048; n <= 24'576; n += 2048) sizes.push_back(n);
  for (std::int64_t n = 32'768; n <= 4 << 20; n *= 2) sizes.push_back(n);
  return sizes;
}

/// A cheap element-wise stage for such samples, if there is one.
std::optional<ChainedStage> neighbour_for(Element element) {
  for (const char* name : {"conjugate", "multiply_const", "log10"}) {
    const StageEntry* e = find_stage(name);
    if (e && e->inputs.size() == 1 && e->inputs.front().takes(element)) return ChainedStage{e, sample_keys(*e)};
  }
  return std::nullopt;
}

class Table {
 public:
  explicit Table(BlocksBench& bench) : bench_(bench) {}

  void add(const StageEntry& entry, std::int64_t size) {
    const std::vector<StageInput> inputs = block_inputs(entry, size * kBlocksOfInput);
    for (const std::string& backend : bench_.backends()) {
      if (entry.host_only && backend != "cpu") continue;
      StageTrial trial{.entry = &entry, .keys = case_keys(entry), .block = size, .backend = backend};
      Problems problems;
      std::optional<Measured> alone = bench_.measure(trial, inputs, Timed::whole, problems);
      if (!problems.empty()) bench_.leave_out(std::string(entry.name), problems.front().text());
      if (!alone) continue;
      alone->row.variant = "alone";
      bench_.give(alone->row);
      if (const std::optional<BenchRow> chained = in_chain(trial, inputs, *alone)) bench_.give(*chained);
    }
  }

 private:
  /// The stage followed by a neighbour, and how much longer that takes than the neighbour alone. If no neighbour fits,
  /// the stage alone. On a device, its data stays there.
  std::optional<BenchRow> in_chain(StageTrial trial, const std::vector<StageInput>& inputs, const Measured& alone) {
    const Timed timed = trial.backend == "cpu" ? Timed::whole : Timed::resident;
    const std::optional<ChainedStage> neighbour = neighbour_for(alone.shape.element);
    Problems problems;
    std::optional<Measured> chain;
    double beside_us = 0;
    if (neighbour && alone.shape.axis == Axis::stream) {
      trial.behind = {*neighbour};
      chain = bench_.measure(trial, inputs, timed, problems);
      trial.behind.clear();
    }
    if (chain)
      beside_us = neighbour_us(*neighbour, alone.shape.element, alone.length * alone.shape.item_size(), trial, timed);
    else
      chain = bench_.measure(trial, inputs, timed, problems = {});
    if (!chain) return std::nullopt;
    BenchRow row = chain->row;
    row.variant = "in a chain";
    row.further.emplace_back("marginal_us", row.p50_us - beside_us);
    return row;
  }

  double neighbour_us(const ChainedStage& stage, Element element, std::int64_t length, const StageTrial& of,
                      Timed timed) {
    const auto [known, is_new] = neighbours_us_.try_emplace({element, length, of.backend}, 0);
    if (!is_new) return known->second;
    const StageTrial trial{.entry = stage.entry, .keys = stage.keys, .block = length, .backend = of.backend};
    Problems problems;
    const auto inputs = block_inputs(*stage.entry, length * kBlocksOfInput, element);
    if (const std::optional<Measured> m = bench_.measure(trial, inputs, timed, problems)) known->second = m->row.p50_us;
    return known->second;
  }

  BlocksBench& bench_;
  std::map<std::tuple<Element, std::int64_t, std::string>, double> neighbours_us_;
};

}  // namespace

bool is_block(std::string_view stage) {
  constexpr std::array<std::string_view, 4> families{"math", "filters", "sync", "measure"};
  const StageEntry* e = find_stage(stage);
  return e && std::ranges::find(families, e->family) != families.end() && !e->inputs.empty() &&
         std::ranges::none_of(e->inputs, [](const InputSpec& i) { return i.items() || i.optional; });
}

void bench_each_block(BlocksBench& bench) {
  Table table(bench);
  for (const StageEntry& entry : all_stages())
    if (is_block(entry.name) && bench.wants(entry.name))
      for (const std::int64_t size : bench.sizes(usual_sizes(bench.options().quick))) table.add(entry, size);
}

}  // namespace iqd
