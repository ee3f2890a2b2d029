// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/block.hpp"
#include "base/driver.hpp"
#include "pipeline/intake/calibration_watch.hpp"
#include "pipeline/meters/counters.hpp"

namespace iqd {

/// Retunes of the radio, each with its first sample, until a block carries them. One thread.
class TuningLog {
 public:
  /// `planned_hz`: the frequency that blocks are compared with.
  TuningLog(double frequency_hz, double planned_hz, Counters& counters);
  /// Watches this calibration, or none, from now on. `set` is the source's configuration, `stream` what it delivers
  /// (none: it is not open).
  void watch(std::shared_ptr<CalibrationWatch> calibration, const SourceOptions& set,
             const std::optional<StreamInfo>& stream);
  /// From `sample` on, the source is configured as `set` and delivers `stream`.
  void add(SampleIndex sample, const SourceOptions& set, const StreamInfo& stream);
  /// Writes into a block where the radio was retuned within it, and the tuning at its end.
  void mark(SampleBlock& block) noexcept;
  /// These blocks are not delivered: others that hold their samples will be marked instead.
  void unmark(std::span<const SampleBlock> blocks);
  void compare_with(double planned_hz) noexcept { planned_hz_ = planned_hz; }

 private:
  bool holds(const SourceOptions& set, const StreamInfo& stream);

  struct Tuning {
    SampleIndex from;  // this sample
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
