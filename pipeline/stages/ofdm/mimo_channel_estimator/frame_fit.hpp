// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/views.hpp"
#include "pipeline/stages/ofdm/antenna_noise.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"

/// What follows from the sums over a frame's symbols: a little double-precision arithmetic for host and device.
namespace iqd::mimo_channel_estimator {

using ofdm::noise_of;

struct Sum {
  double re = 0;
  double im = 0;

  /// + conj(a) b
  IQD_HOST_DEVICE void add(Sum a, Sum b) noexcept {
    re += a.re * b.re + a.im * b.im;
    im += a.re * b.im - a.im * b.re;
  }
};

/// The phase's advance from symbol to symbol, from the phases of those behind the training against it, added in order: a least-squares line that is 0 at the middle of the training. Each phase is unwrapped to be nearest to the
/// prediction from those before it, so it may exceed half a turn.
class PhaseSlope {
 public:
  IQD_HOST_DEVICE void add(double radians, double position) noexcept {
    const double predicted = slope() * position;
    const double turns = (radians - predicted) * (0.5 / std::numbers::pi);
    moments_ += position * (predicted + 2 * std::numbers::pi * (turns - rint(turns)));
    squares_ += position * position;
  }
  /// Radians a symbol.
  IQD_HOST_DEVICE double slope() const noexcept { return squares_ > 0 ? moments_ / squares_ : 0; }

 private:
  double moments_ = 0;
  double squares_ = 0;
};
/// Distance in symbols of symbol s behind the training, and of training symbol t, from the middle of the training.
IQD_HOST_DEVICE inline double position_behind(int s, int tx) noexcept {
  return s + 0.5 * (tx + 1);
}
IQD_HOST_DEVICE inline double training_position(int t, int tx) noexcept {
  return t - 0.5 * (tx - 1);
}

/// The factor that brings an antenna's noise to `mean`; 1 for a silent antenna.
IQD_HOST_DEVICE inline float scale_of(double mean, double noise) noexcept {
  return noise > 0 ? static_cast<float>(sqrt(mean / noise)) : 1.0f;
}
/// The noise as a float that is 0 only if `mean` is.
IQD_HOST_DEVICE inline float told(double mean) noexcept {
  return mean > 0 ? static_cast<float>(fmax(mean, double{FLT_MIN})) : 0.0f;
}

}  // namespace iqd::mimo_channel_estimator
