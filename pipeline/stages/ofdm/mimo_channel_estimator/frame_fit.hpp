// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/views.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"

/// What follows from the sums over a frame's symbols: small arithmetic in double precision, for host and device.
namespace iqd::mimo_channel_estimator {

struct Sum {
  double re = 0;
  double im = 0;

  /// + conj(a) b
  IQD_HOST_DEVICE void add(Sum a, Sum b) noexcept {
    re += a.re * b.re + a.im * b.im;
    im += a.re * b.im - a.im * b.re;
  }
};

/// By how much the phase advances from symbol to symbol, from the data symbols' phases against the training symbols,
/// in their order: least squares through 0 at the middle of the training. Each phase is taken as the one that is
/// nearest to what those before it say, so that it may exceed half a turn.
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
/// How many symbols data symbol d lies behind the middle of the training, and training symbol t.
IQD_HOST_DEVICE inline double data_position(int d, int tx) noexcept {
  return d + 0.5 * (tx + 1);
}
IQD_HOST_DEVICE inline double training_position(int t, int tx) noexcept {
  return t - 0.5 * (tx - 1);
}

/// Noise of one antenna from its energy where nobody sends, and of the training symbols.
IQD_HOST_DEVICE inline double noise_of(double odd_energy, int odd_carriers, double training_energy,
                                       int training_carriers) noexcept {
  return fmax(odd_energy / odd_carriers, kLeastNoise * training_energy / training_carriers);
}
/// What an antenna's samples are multiplied with, so that its noise becomes `mean`; a silent one stays as it is.
IQD_HOST_DEVICE inline float scale_of(double mean, double noise) noexcept {
  return noise > 0 ? static_cast<float>(sqrt(mean / noise)) : 1.0f;
}
/// As a float that is 0 only where the noise is.
IQD_HOST_DEVICE inline float told(double mean) noexcept {
  return mean > 0 ? static_cast<float>(fmax(mean, double{FLT_MIN})) : 0.0f;
}

}  // namespace iqd::mimo_channel_estimator
