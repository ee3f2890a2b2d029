// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <memory>

#include "base/error.hpp"
#include "daemon/bench/bench_row.hpp"
#include "daemon/bench/winners.hpp"
#include "daemon/command/commands.hpp"
#include "signal/filters/instructions.hpp"

namespace iqd {
namespace {

struct Arguments {
  std::string name;
  BenchOptions options;
  std::string simd;
  bool json = false;
  double seconds = 0;  // 0: the bench's default
  double min_throughput = 0;
  double max_p99_us = 0;
};

/// A bench with many rows spends less time on each.
double seconds_of(const Arguments& a) {
  if (a.seconds > 0) return a.seconds;
  if (a.name != "blocks") return a.options.seconds;
  return a.options.quick ? 0.005 : 0.05;
}

std::vector<BenchRow> rows_of(const Arguments& a) {
  if (a.name == "engine") return bench_engine(a.options);
  if (a.name == "lanes") return bench_lanes(a.options);
  if (a.name == "devices") return bench_devices(a.options);
  if (a.name == "copy_or_mapped") return bench_copy_or_mapped(a.options);
  if (a.name == "convolution") return bench_convolution(a.options);
  if (a.name.ends_with(".yaml")) return bench_pipeline(a.name, a.options);
  return bench_stage(a.name, a.options);
}

void show_winners(const Winners& winners, bool json) {
  if (!json) fmt::print("\n");
  for (const Winners::Winner& w : winners.all()) fmt::print("{}\n", json ? winner_json(w) : winner_text(w));
}

void refuse_what_does_not_apply(const Arguments& a) {
  if (a.name != "engine" && (!a.options.share.empty() || a.options.load))
    throw UsageError("`--share` and `--load` need `engine`");
  if (a.options.noise && !a.name.ends_with(".yaml")) throw UsageError("`--noise` needs the file of a pipeline");
}

Exit bench(Arguments a) {
  refuse_what_does_not_apply(a);
  if (!a.simd.empty() && !limit_instructions(a.simd))
    throw UsageError(fmt::format("--simd: '{}' is not one of {}", a.simd, fmt::join(vector_instructions(), ", ")));
  a.options.seconds = seconds_of(a);
  bool missed = false;
  if (!a.json) fmt::print("{}\n", header_text());
  const auto show = [&](const BenchRow& row) {
    fmt::print("{}\n", a.json ? row_json(row) : row_text(row));
    std::fflush(stdout);
    missed = missed || row.throughput < a.min_throughput || (a.max_p99_us > 0 && row.p99_us > a.max_p99_us);
  };
  if (a.name == "blocks") {
    Winners winners;
    const std::vector<std::string> wrong = bench_blocks(a.options, [&](const BenchRow& row) {
      show(row);
      winners.add(row);
    });
    show_winners(winners, a.json);
    if (!wrong.empty()) throw SetupError(fmt::format("bench blocks: wrong results: {}", fmt::join(wrong, "; ")));
  } else {
    for (const BenchRow& row : rows_of(a)) show(row);
  }
  return missed ? Exit::threshold : Exit::ok;
}

}  // namespace

void add_bench(CommandLine& line) {
  auto a = std::make_shared<Arguments>();
  BenchOptions& o = a->options;
  line.command("bench", "measure a stage, a pipeline or the engine", [a] { return bench(*a); })
      .option(
          "NAME", &a->name,
          "`blocks`, `engine`, `lanes`, `devices`, `copy_or_mapped`, `convolution`, a stage, or the file of a pipeline",
          {.required = true})
      .option("--json", &a->json, "print one JSON object per row")
      .option("--block", &o.blocks, "samples per block; several give several rows", {.positive = true})
      .option("--config", &o.config, "key=value for the stage, or for `convolution`: shape, method, size")
      .option("--item", &o.items,
              "shape of an input's items: port=4x4, or port=4x4/12 for one per 12 items of the first input")
      .option("--in", &o.arrays, "for a stage: port=x.npy, repeated; default: random samples")
      .option("--out", &o.outputs, "a stage's output to compute; default: all")
      .option("--backend", &o.backend, "auto, cpu, cuda or cuda:N")
      .option("--lanes", &o.lanes, "for a pipeline, or a stage on a GPU; several give several rows", {.positive = true})
      .option("--wait", &o.wait, "how to wait for a GPU", {.one_of = {"spin", "block", "resident"}})
      .option("--noise", &o.noise, "for a pipeline: noise in place of what its source delivers, which is not opened")
      .option("--share", &o.share,
              "for `engine` on a GPU: the multiprocessors that the bench has for itself, e.g. `16 SM`")
      .option("--load", &o.load, "for `engine` on a GPU: another pipeline keeps the rest of it busy")
      .option("--transfer", &o.transfer, "how a GPU gets a stage's samples", {.one_of = {"auto", "mapped", "copy"}})
      .option("--simd", &a->simd, "the most advanced CPU vector instructions to use: AVX2, …")
      .option("--seconds", &a->seconds, "per row; default 0.5, for `blocks` 0.05", {.positive = true})
      .option("--only", &o.only, "for `blocks`: only a stage, `chains` or `filters`; may be repeated")
      .option("--quick", &o.quick, "for `blocks`: few sizes, done in seconds")
      .option("--min-throughput", &a->min_throughput, "exit with 3 if a row is below this")
      .option("--max-p99", &a->max_p99_us, "exit with 3 if a row is above this, in microseconds");
}

}  // namespace iqd
