// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/metric.hpp"

namespace iqd {

/// One line of a bench: times of one call or block, and the throughput compared with its bound.
struct BenchRow {
  std::string name;
  std::string variant;
  std::string backend;
  std::string device;
  std::string shape;
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double max_us = 0;
  double throughput = 0;
  std::string unit{};
  double bound = 0;  // in the same unit; 0: unknown
  std::string bound_by{};
  std::string keys{};                                     // the stage's keys, if the bench chose them
  std::vector<std::pair<std::string, double>> further{};  // figures of this bench only, by name
  double fraction() const noexcept { return bound > 0 ? throughput / bound : 0; }
};

/// Sets the percentiles of measured durations.
void set_percentiles(BenchRow& row, std::vector<double> us);
void set_percentiles(BenchRow& row, const Histogram::Snapshot& latency);
std::string row_json(const BenchRow& row);
std::string row_text(const BenchRow& row);
std::string header_text();

struct BenchOptions {
  std::vector<std::int64_t> blocks;  // samples; empty: 8,192, 65,536 and 1,048,576
  std::vector<std::string> config;   // key=value
  std::vector<std::string> items;    // of a stage's inputs: y=4, h=4x4, h=4x4/12 with one for 12 of the first input
  std::vector<std::string> arrays;   // of a stage's inputs: sent=x.npy, repeated; others are random
  std::vector<std::string> outputs;  // outputs of a stage to compute; empty: all
  std::string backend = "auto";
  std::vector<std::int64_t> lanes;  // empty: the file's; for a stage: blocks in flight on a device
  std::string wait = "block";       // spin, block or resident, for a device
  std::string share;                // of a device, for `engine`; empty: all of it
  bool load = false;                // `engine`: another pipeline keeps the rest of the device busy
  std::string transfer = "auto";    // for a stage on a device: auto, mapped or copy
  double seconds = 0.5;             // per row
  std::vector<std::string> only;    // parts of `blocks`: stages, chains, filters; empty: all
  bool noise = false;               // for a pipeline: noise in place of its source
  bool quick = false;               // `blocks`: few sizes, in seconds
};

/// Receives rows as they are measured.
using RowSink = std::function<void(const BenchRow&)>;

/// One stage on random samples, block by block on one thread; on a device also with several in flight.
std::vector<BenchRow> bench_stage(const std::string& stage, const BenchOptions& options);
/// A user's pipeline on a ring full of samples of its own source, repeated: flat out, and block by block.
std::vector<BenchRow> bench_pipeline(const std::string& file, const BenchOptions& options);
/// The engine's own cost per block: an empty stage, or a copy through a device, with a source that costs nothing.
std::vector<BenchRow> bench_engine(const BenchOptions& options);
/// Samples to a device and back, with overlapping lanes, alone and along with a kernel of the same duration.
std::vector<BenchRow> bench_lanes(const BenchOptions& options);
/// Two devices compared with one.
std::vector<BenchRow> bench_devices(const BenchOptions& options);
/// Host memory used in place by a device compared with copies, by size.
std::vector<BenchRow> bench_copy_or_mapped(const BenchOptions& options);
/// The block library by size, on the CPU and on a device, alone and in chains: see bench/blocks. Returns what has no
/// rows because its results are wrong.
std::vector<std::string> bench_blocks(const BenchOptions& options, const RowSink& sink);
/// Batched convolution by every method, including the thesis's: see bench/convolution.
std::vector<BenchRow> bench_convolution(const BenchOptions& options);

}  // namespace iqd
