// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/intake/calibration_watch.hpp"
#include "pipeline/spec/overrun.hpp"

namespace iqd {

struct IntakeOptions {
  std::string name;  // of the source, for the log
  Overrun overrun = Overrun::drop;
  std::int64_t stalled_ns = 0;                      // without a sample: stalled; 0: as SilenceWatch decides
  std::int64_t silent_ns = 5'000'000'000;           // without a sample: reconnect
  std::int64_t backoff_ns = 1'000'000'000;          // before the first try, doubled after each…
  std::int64_t longest_backoff_ns = 8'000'000'000;  // …up to this
  int priority = 0;
  std::vector<int> cpus;
  std::shared_ptr<CalibrationWatch> calibration;  // of a source that has one
};

}  // namespace iqd
