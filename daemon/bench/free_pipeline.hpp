// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "pipeline/pipeline.hpp"

namespace iqd {

/// A pipeline whose source and outlet cost nothing, so that what is measured is what lies between.
struct FreePipeline {
  std::int64_t block = 64;
  std::int64_t lanes = 1;
  std::string backend = "cpu";
  std::string wait = "block";
  std::string transfer = "auto";
  std::string stages = "[]";  // YAML
  std::string port = "source";
  std::int64_t pace_ns = 0;  // between blocks; 0: as fast as they are taken
  double seconds = 0.5;
};

/// What it did in that time, warm.
struct FreeRun {
  double blocks_per_second = 0;
  Histogram::Snapshot latency;  // received → in the reader's hands
  std::string backend;
  std::size_t device_bytes = 0;
  /// Of a block on its device, or in its lane: the mean time of each step, and of bringing results out.
  std::vector<double> steps_us{};
  double all_steps_us() const noexcept;
};
FreeRun run_free(const FreePipeline& pipeline);

/// What a backend runs on, `cuda:0`; of several, `cuda:0, cuda:1`, the first.
std::string device_of(const std::string& backends);
/// A publish entry that costs nothing, whatever the port.
std::unique_ptr<OutletOptions> free_outlet();
/// What a pipeline that has been started does in so many seconds, or, where it is slow, in as many as three blocks
/// take. Of one that has ended, or takes longer than 60 s, fewer.
FreeRun observe(const Pipeline& pipeline, double seconds);

}  // namespace iqd
