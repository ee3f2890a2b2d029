// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "pipeline/pipeline.hpp"

namespace iqd {

/// A pipeline whose source and outlet cost nothing, so that only what is between them is measured.
struct FreePipeline {
  std::int64_t block = 64;
  std::int64_t lanes = 1;
  std::string backend = "cpu";
  std::string wait = "block";
  std::string transfer = "auto";
  std::string stages = "[]";  // YAML
  std::string port = "source";
  std::int64_t pace_ns = 0;  // between blocks; 0: as fast as possible
  int time_every = 0;        // the steps of one in so many blocks are timed; 0: as usual
  double seconds = 0.5;
  std::string share;  // of its device; empty: all of it
  bool load = false;  // a second pipeline keeps the rest of the device busy
};

/// The mean of durations, in microseconds, or the nearest value in the median's bucket: neither a few that were
/// disturbed nor the width of a bucket count much.
double typical_us(const Histogram::Snapshot& times) noexcept;

/// Results after warm-up.
struct FreeRun {
  double blocks_per_second = 0;
  Histogram::Snapshot latency;  // from received to delivered
  std::string backend;
  std::size_t device_bytes = 0;
  /// Mean time per block of each step, and of copying results out.
  std::vector<double> steps_us{};
  std::vector<Histogram::Snapshot> steps{};
  double all_steps_us() const noexcept;
};
FreeRun run_free(const FreePipeline& pipeline);

/// The device of a backend such as `cuda:0`; the first of several, as in `cuda:0, cuda:1`.
std::string device_of(const std::string& backends);
/// A publish entry that costs nothing, for any port.
std::unique_ptr<OutletOptions> free_outlet();
/// Observes a started pipeline for `seconds`, or longer until three blocks are done; at most 60 s, and not after it has
/// ended.
FreeRun observe(const Pipeline& pipeline, double seconds);

}  // namespace iqd
