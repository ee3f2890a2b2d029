// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/bench/bench_row.hpp"
#include "daemon/bench/stage_trial.hpp"

namespace iqd {

/// The measurement of a trial.
struct Measured {
  BenchRow row;
  PortShape shape;          // of its first output
  std::int64_t length = 0;  // its positions in a block
};

/// Shared by the parts of `iqd bench blocks`: backends, bounds, and the receiver of the rows.
class BlocksBench {
 public:
  BlocksBench(const BenchOptions& options, const RowSink& sink);

  const BenchOptions& options() const noexcept { return options_; }
  /// The CPU, then a device if there is one and it is wanted.
  const std::vector<std::string>& backends() const noexcept { return backends_; }
  /// Whether this part of the bench is wanted: the name of a stage, `chains` or `filters`.
  bool wants(std::string_view name) const;
  /// The requested sizes, or `usual`.
  std::vector<std::int64_t> sizes(const std::vector<std::int64_t>& usual) const;

  /// Checks a trial's results, times it, and makes a row: the throughput is that of the median, the bound a copy of its
  /// inputs and outputs. Returns nothing, with a line on standard error, if the backend lacks something or the results
  /// are wrong; nothing, with problems, if the stages do not fit together.
  std::optional<Measured> measure(const StageTrial& trial, const std::vector<StageInput>& inputs, Timed timed,
                                  Problems& problems);
  void give(const BenchRow& row) const { sink_(row); }
  /// Prints once what is skipped, and why.
  void leave_out(const std::string& what, const std::string& why);
  /// What was skipped because its results are wrong.
  const std::vector<std::string>& wrong() const noexcept { return wrong_; }

 private:
  double bound(Backend& backend, Timed timed, std::size_t in, std::size_t out);

  const BenchOptions& options_;
  const RowSink& sink_;
  std::vector<std::string> backends_;
  std::map<std::tuple<bool, Timed, std::size_t, std::size_t>, double> bounds_;  // blocks a second
  std::vector<std::string> left_out_;
  std::vector<std::string> wrong_;
};

/// Random samples for a stage's inputs: of this element if the input takes it; real ones are positive.
std::vector<StageInput> block_inputs(const StageEntry& entry, std::int64_t length, Element element = Element::cf32,
                                     double rate_hz = 1e6);

/// Whether this stage belongs to the table: of the families math, filters, sync and measure, with streams of samples as
/// its only inputs.
bool is_block(std::string_view stage);
/// Each stage of the table by size, with typical keys: alone, and what it adds to a chain.
void bench_each_block(BlocksBench& bench);
/// Chains of 1 to 16 element-wise stages, fused and not.
void bench_chains(BlocksBench& bench);
/// The study's filters: low passes at 10 MS/s, directly and by transforms.
void bench_filters(BlocksBench& bench);

}  // namespace iqd
