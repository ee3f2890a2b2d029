// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/element.hpp"
#include "pipeline/stages/telemetry/packet_estimator/clock.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::packet_estimator {

/// Estimates and removes the clock's error of one window after the other, on the CPU.
class ClockCorrector {
 public:
  ClockCorrector(const ClockDesign& design, std::int64_t window, Scratch& scratch);

  bool is_on() const noexcept { return design_.over != Clock::off; }
  /// Where the caller writes the derotated window.
  cf32* window() noexcept;
  /// W of the window, one for each segment.
  void measure(LineProduct* w) noexcept;
  /// The error that fits the packets best whose W these are, [packet][segment].
  ClockError search(std::span<const LineProduct> w) const noexcept;
  /// Samples at … at + n - 1 of the window as the transmitter's clock would have taken them.
  void correct(double error, std::int64_t at, std::int64_t n, cf32* to) noexcept;

 private:
  const ClockDesign& design_;
  std::int64_t window_;
  std::int64_t margin_;  // zeros before and behind the window
  bool ready_ = false;   // the margins are zeros
  cf32* derotated_;
};

}  // namespace iqd::packet_estimator
