// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/block.hpp"
#include "base/driver.hpp"
#include "pipeline/intake/calibration_watch.hpp"
#include "pipeline/meters/counters.hpp"

namespace iqd {

/// From which sample on the radio is tuned to what, until blocks have carried it away. One thread.
class TuningLog {
 public:
  /// `planned_hz`: the frequency that blocks are compared with.
  TuningLog(double frequency_hz, double planned_hz, Counters& counters);
  /// This calibration, or none, is watched from now on; `set` is how the source is configured, `stream` what it gives
  /// (null: it is not open).
  void watch(std::shared_ptr<CalibrationWatch> calibration, const SourceOptions& set, const StreamInfo* stream);
  /// The source is configured as `set`, and gives `stream`, from `sample` on.
  void add(SampleIndex sample, const SourceOptions& set, const StreamInfo& stream);
  /// Writes into a block where in it the radio was retuned, and its tuning at the block's end.
  void mark(SampleBlock& block) noexcept;
  /// These blocks are not delivered: others that hold their samples will be marked instead.
  void unmark(std::span<const SampleBlock> blocks);
  void compare_with(double planned_hz) noexcept { planned_hz_ = planned_hz; }

 private:
  bool holds(const SourceOptions& set, const StreamInfo& stream);

  struct Tuning {
    SampleIndex from;  // this sample on
    double frequency_hz;
    bool calibrated;  // the source's calibration holds
  };
  std::shared_ptr<CalibrationWatch> calibration_;
  std::vector<Tuning> tunings_;  // that no block carries yet
  double frequency_hz_;          // of the last marked block
  bool calibrated_ = true;       // the same
  double planned_hz_;
  Counters& counters_;
};

}  // namespace iqd
