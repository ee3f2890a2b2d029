// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace iqd::dsp {

/// Gains of a second-order loop with a proportional and an integrating branch, whose detector has slope 1.
struct LoopGains {
  double proportional = 0;
  double integral = 0;

  /// `bandwidth`: one-sided noise bandwidth times the update interval.
  static LoopGains of(double bandwidth, double damping) noexcept {
    const double theta = bandwidth / (damping + 1 / (4 * damping));
    const double all = 1 + 2 * damping * theta + theta * theta;
    return {4 * damping * theta / all, 4 * theta * theta / all};
  }
};

}  // namespace iqd::dsp
