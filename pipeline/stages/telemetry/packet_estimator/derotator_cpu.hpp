// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/element.hpp"
#include "signal/filters/scratch.hpp"
#include "signal/formats/phase.hpp"

namespace iqd::packet_estimator {

/// Removes the offset of one window after the other, on the CPU.
class Derotator {
 public:
  Derotator(std::int64_t window, Scratch& scratch);

  /// The offset of the windows that follow, in radians a sample.
  void set(double offset) noexcept;
  /// Samples at … at + kRun - 1 of the window, or as many as there are; returns how many. `at`: a multiple of kRun.
  std::int64_t run(const cf32* window, std::int64_t at, cf32* to) const noexcept;

 private:
  std::int64_t window_;
  Phase turn_;
  bool ready_ = false;  // the factors are those of turn_
  cf32* fine_;          // factors within a run
  cf32* fine_j_;        // j times these
};

}  // namespace iqd::packet_estimator
