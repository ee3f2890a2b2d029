// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/views.hpp"
#include "pipeline/stages/moving_sum.hpp"

namespace iqd::agc {

/// What a sample counts.
IQD_HOST_DEVICE inline double power_of(float re, float im) noexcept {
  const float power = re * re + im * im;
  return power <= std::numeric_limits<float>::max() ? static_cast<double>(power) : 0.0;
}

struct Gain {
  double target = 1;
  std::int64_t window = 1;
  std::int64_t ahead = 0;
  double most = 1;

  std::int64_t past() const noexcept { return window - 1 - ahead; }
  /// Where the window of sample n begins.
  IQD_HOST_DEVICE std::int64_t begin(std::int64_t n) const noexcept { return n + ahead - window + 1; }
  /// Of the sample whose window has this energy.
  IQD_HOST_DEVICE float at(std::int64_t n, const dsp::Range& there, double energy) const noexcept {
    const auto samples = static_cast<double>(there.common(begin(n), begin(n) + window));
    const double gain = target / sqrt(energy / samples);
    return static_cast<float>(gain < most ? gain : most);
  }
};

}  // namespace iqd::agc
