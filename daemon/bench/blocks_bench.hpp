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

/// What was measured of a trial.
struct Measured {
  BenchRow row;
  PortShape shape;          // of its first output
  std::int64_t length = 0;  // positions of it in a block
};

/// What the parts of `iqd bench blocks` share: where they run, what they hold their rows against, who takes the rows.
class BlocksBench {
 public:
  BlocksBench(const BenchOptions& options, const RowSink& sink);

  const BenchOptions& options() const noexcept { return options_; }
  /// The processor, then a device where there is one and it is asked for.
  const std::vector<std::string>& backends() const noexcept { return backends_; }
  /// Whether this part of the bench is asked for: the name of a stage, `chains`, `filters`.
  bool wants(std::string_view name) const;
  /// The sizes that were asked for, or these.
  std::vector<std::int64_t> sizes(const std::vector<std::int64_t>& usual) const;

  /// Checks what the trial gives, times it, and makes a row of it: the throughput is the median's, and the bound a copy
  /// of what comes in and goes out. Nothing, and a line on standard error, where the backend has not what it takes or
  /// the results are wrong; nothing but problems where the stages do not go together.
  std::optional<Measured> measure(const StageTrial& trial, const std::vector<StageInput>& inputs, Timed timed,
                                  Problems& problems);
  void give(const BenchRow& row) const { sink_(row); }
  /// Says once what is not measured, and why.
  void leave_out(const std::string& what, const std::string& why);
  /// What was left out since its results are wrong.
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

/// Random samples of a stage's inputs: of this element where they may be, positive where they are real.
std::vector<StageInput> block_inputs(const StageEntry& entry, std::int64_t length, Element element = Element::cf32,
                                     double rate_hz = 1e6);

/// Whether this stage of the families math, filters, sync and measure takes nothing but streams of samples: the blocks
/// of the table.
bool is_block(std::string_view stage);
/// Each of them by size, on keys that make it a usual piece of work: alone, and what it adds to a chain.
void bench_each_block(BlocksBench& bench);
/// Chains of 1 to 16 stages that work element by element, fused and not.
void bench_chains(BlocksBench& bench);
/// The study's filters: low passes at 10 MS/s, directly and by transforms.
void bench_filters(BlocksBench& bench);

}  // namespace iqd
