// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/bench/fixed_times.hpp"

#include <algorithm>

#include "daemon/bench/free_pipeline.hpp"
#include "pipeline/placing/known_times.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kOneInNs = 200'000;
constexpr std::size_t kCopies[] = {8 << 10, 64 << 10, 1 << 20, 16 << 20};  // bytes
constexpr double kSecondsOfTrial = 0.3;

double block_us(const std::string& backend, Wait wait) {
  FreePipeline p;
  p.backend = backend;
  p.wait = enum_names(wait)[static_cast<std::size_t>(wait)];
  p.pace_ns = kOneInNs;
  p.seconds = kSecondsOfTrial;
  if (backend == "cpu") p.stages = "[empty: {}]", p.port = "empty.out";
  return typical_us(run_free(p).latency);
}

/// The smallest copy mainly shows the time between two marks, which is subtracted from the others.
void measure_copies(const std::string& backend, Times& times) {
  double least_in = 0, least_out = 0;
  for (const std::size_t bytes : kCopies) {
    FreePipeline p;
    p.backend = backend;
    p.transfer = "copy";
    p.block = static_cast<std::int64_t>(bytes / sizeof(cf32));
    p.pace_ns = kOneInNs + static_cast<std::int64_t>(bytes / 10);
    p.time_every = 3;
    p.seconds = kSecondsOfTrial;
    const FreeRun run = run_free(p);
    const double in = typical_us(run.steps.front()), out = typical_us(run.steps.back());
    if (bytes == kCopies[0]) least_in = in, least_out = out;
    times[crossing_name("to_device", bytes)] = std::max(0.0, in - least_in);
    times[crossing_name("to_host", bytes)] = std::max(0.0, out - least_out);
  }
}

}  // namespace

Times measure_fixed_times(const std::string& backend, const std::set<Wait>& waits) {
  Times times;
  for (const Wait wait : waits) times[block_name(wait)] = block_us(backend, wait);
  if (backend != "cpu") measure_copies(backend, times);
  return times;
}

}  // namespace iqd
