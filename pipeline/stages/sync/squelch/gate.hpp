// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "base/views.hpp"
#include "pipeline/stages/moving_sum.hpp"

namespace iqd::squelch {

/// What a sample counts.
IQD_HOST_DEVICE inline double power_of(float re, float im) noexcept {
  const float power = re * re + im * im;
  return power <= std::numeric_limits<float>::max() ? static_cast<double>(power) : 0.0;
}

struct Gate {
  double power = 0;  // from which on it is open
  std::int64_t window = 1;
  std::int64_t hold = 0;
  std::int64_t ramp = 1;

  /// Samples before one that its gate depends on, or whether it opens there.
  std::int64_t past() const noexcept { return window - 1 + hold + ramp; }
  /// Whether the level is there, by the energy of the window that ends with n.
  IQD_HOST_DEVICE bool loud(std::int64_t n, const dsp::Range& there, double energy) const noexcept {
    const auto samples = static_cast<double>(there.common(n - window + 1, n + 1));
    return samples > 0 && energy >= power * samples;
  }
  IQD_HOST_DEVICE float share(std::int64_t open) const noexcept {
    return static_cast<float>(open) / static_cast<float>(ramp);
  }
};

/// 0 where it is shut, whatever the sample is.
IQD_HOST_DEVICE inline float gated(float x, float g) noexcept {
  return g > 0 ? x * g : 0.0f;
}

}  // namespace iqd::squelch
