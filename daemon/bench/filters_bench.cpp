// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "daemon/bench/blocks_bench.hpp"
#include "signal/filters/filter_design.hpp"

namespace iqd {
namespace {

constexpr double kRate = 10e6;
constexpr double kCutoff = 100e3;

constexpr double kWidths[] = {0.20, 0.15, 0.10, 0.05};  // of the transition, relative to the cut-off

std::int64_t taps_for(double width) {
  return tap_count(attenuation_of({.type = Window::hamming}), width * kCutoff, kRate);
}

std::string filter_keys(double width, std::string_view method) {
  return fmt::format("{{design: {{type: low_pass, cutoff: {}, transition: {}, window: hamming}}, method: {}}}", kCutoff,
                     kCutoff * width, method);
}

/// The highest of these rates that a row sustains, in MS/s; 0: none.
double carried(const BenchRow& row) {
  double most = 0;
  for (const double rate : {10, 20, 50, 100, 200, 500, 1000})
    if (row.throughput >= rate * 1e6) most = rate;
  return most;
}

void bench_filter(BlocksBench& bench, double width, std::string_view method, const std::string& backend,
                  std::int64_t block) {
  const StageEntry* fir = find_stage("fir");
  const StageTrial trial{.entry = fir, .keys = filter_keys(width, method), .block = block, .backend = backend};
  const auto inputs = block_inputs(*fir, block * kBlocksOfInput, Element::cf32, kRate);
  const auto give = [&](Timed timed, std::string_view how) {
    Problems problems;
    std::optional<Measured> m = bench.measure(trial, inputs, timed, problems);
    if (!problems.empty()) bench.leave_out(fmt::format("fir by {}", method), problems.front().text());
    if (!m) return;
    m->row.variant = fmt::format("{} taps, {}{}", taps_for(width), method, how);
    m->row.further.emplace_back("carries_msps", carried(m->row));
    bench.give(m->row);
  };
  give(Timed::whole, "");
  if (backend != "cpu") give(Timed::resident, ", resident");
}

}  // namespace

void bench_filters(BlocksBench& bench) {
  const bool quick = bench.options().quick;
  for (const std::string& backend : bench.backends())
    for (const double width : kWidths)
      for (const char* method : {"direct", "fft"}) {
        if (quick && width != kWidths[0]) continue;
        std::vector<std::int64_t> sizes{65'536};
        if (!quick && backend != "cpu") sizes = {65'536, 1 << 20, 1 << 23};
        for (const std::int64_t size : bench.sizes(sizes)) bench_filter(bench, width, method, backend, size);
      }
}

}  // namespace iqd
