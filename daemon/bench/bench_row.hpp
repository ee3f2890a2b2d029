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

/// One line of a bench: times of one call or block, and the throughput against the bound that it is held to.
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
  double bound = 0;  // in the same unit; 0: none is known
  std::string bound_by{};
  std::string keys{};                                     // of the stage, where the bench chose them
  std::vector<std::pair<std::string, double>> further{};  // figures that only this bench has, by name
  double fraction() const noexcept { return bound > 0 ? throughput / bound : 0; }
};

/// The percentiles of measured durations; a mean is not among them.
void set_percentiles(BenchRow& row, std::vector<double> us);
void set_percentiles(BenchRow& row, const Histogram::Snapshot& latency);
std::string row_json(const BenchRow& row);
std::string row_text(const BenchRow& row);
std::string header_text();

struct BenchOptions {
  std::vector<std::int64_t> blocks;  // samples; empty: 8,192, 65,536 and 1,048,576
  std::vector<std::string> config;   // key=value
  std::vector<std::string> items;    // of a stage's inputs: y=4, h=4x4, h=4x4/12 with one for 12 of the first input
  std::vector<std::string> arrays;   // of a stage's inputs: sent=x.npy, again and again; what is not here is random
  std::vector<std::string> outputs;  // of a stage, that are wanted; empty: all
  std::string backend = "auto";
  std::vector<std::int64_t> lanes;  // empty: as the pipeline's file says; of a stage: blocks under way on a device
  std::string wait = "block";       // spin or block, for a device
  std::string transfer = "auto";    // of a stage on a device: auto, mapped or copy
  double seconds = 0.5;             // a row
  std::vector<std::string> only;    // parts of `blocks`: stages, chains, filters; empty: all
  bool quick = false;               // `blocks`: few sizes, in seconds
};

/// Takes rows as they come.
using RowSink = std::function<void(const BenchRow&)>;

/// One stage on random samples, called block by block on one thread; on a device also with several under way.
std::vector<BenchRow> bench_stage(const std::string& stage, const BenchOptions& options);
/// A user's pipeline on samples of its own source, of which a ring full is kept: flat out, and block by block.
std::vector<BenchRow> bench_pipeline(const std::string& file, const BenchOptions& options);
/// What the engine itself costs a block: an empty stage, or a copy through a device; a source that costs nothing.
std::vector<BenchRow> bench_engine(const BenchOptions& options);
/// Of a device: samples there and back, with lanes that overlap, alone and with a kernel of the same length beside.
std::vector<BenchRow> bench_lanes(const BenchOptions& options);
/// Of two devices: what they do together against what one does.
std::vector<BenchRow> bench_devices(const BenchOptions& options);
/// Of a device: the host's memory in place against copies, by size.
std::vector<BenchRow> bench_copy_or_mapped(const BenchOptions& options);
/// The block library by size, on the processor and on a device, alone and in chains: see bench/blocks. Gives what has
/// no rows since its results are wrong.
std::vector<std::string> bench_blocks(const BenchOptions& options, const RowSink& sink);
/// Batched convolution by every method, the thesis's among them: see bench/convolution.
std::vector<BenchRow> bench_convolution(const BenchOptions& options);

}  // namespace iqd
