// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"
#include "signal/estimates/covariance.hpp"

/// What estimates of disturbed frames have in common on host and device.
namespace iqd::mimo_channel_estimator {

/// Symbols of a frame whose channel can be estimated jointly.
inline constexpr std::int64_t kMostSymbols = 128;
/// The training of the next frame counts if the share of its energy within the prefix, times how much its delays are
/// those of the frame, is at least this: 1 without noise, less than 0.1 for noise.
inline constexpr double kLeastTail = 0.3;

/// What says whether the next frame's training is there, from the sums over its symbols and the frame's own, delay by
/// delay.
struct TailMetric {
  IQD_HOST_DEVICE void add(double here, double later) noexcept {
    sum += later, own += here * here, next += later * later, both += here * later;
  }
  /// `energy`: of the next frame's training; `within`: TrackDesign::within.
  IQD_HOST_DEVICE bool is_there(double energy, double within) const noexcept {
    return energy > 0 && sum * within * both >= kLeastTail * energy * sqrt(own * next);
  }

  double sum = 0, own = 0, next = 0, both = 0;
};
inline constexpr int kMostFunctions = 16;
/// Delays of the grid, and unknowns of the equations: memory and time grow with their squares and cubes.
inline constexpr std::int64_t kMostDelays = 512;
inline constexpr std::int64_t kMostUnknowns = 2048;

/// Steps that learn the powers of the delays from the training alone.
inline constexpr int kDelaySteps = 3;
/// The next power of a delay, from the mean energy and the variance that the last one leaves: the energy over the share
/// of it that the frame decides. Expectation maximisation, the sum of energy and variance, ends at the same power, but
/// takes many more steps for delays without a path.
IQD_HOST_DEVICE inline float next_power(double power, double energy, double variance) noexcept {
  constexpr double kLeastShare = 1e-3, kMostDrop = 1e-6;
  return static_cast<float>(fmax(energy / fmax(1 - variance / power, kLeastShare), kMostDrop * power));
}
/// The equations of the delays are in double precision: the grid is finer than the band resolves, so what floats lose
/// changes a power by per cents, and thereby which delays are kept. A pivot is at least this share of the diagonal.
inline constexpr double kLeastPivot = 1e-12;
/// Steps that learn the powers once more when data is known.
inline constexpr int kSoftSteps = 1;
/// Data of less variance, as a share of its power, is known well enough to take a residual from.
inline constexpr float kMostDoubt = 0.05f;
/// Pairs of function and delay are kept whose prior is at least this share of the largest.
inline constexpr float kLeastPrior = 1e-4f;
/// Floats resolve no more of the equations: this share of the largest element on the diagonal is added to all.
inline constexpr float kLoad = 1e-7f;

/// An antenna of less power is silent: floats cannot bring it to the units of its noise.
inline constexpr double kLeastPower = 1e-56;
/// Noise relative to the signal when the channel is tracked: with less, floats cannot resolve the equations.
inline constexpr double kLeastTracked = 1e-4;
/// Empty carriers that are judged together. A rest of less than half joins the last stretch: noise alone would exceed
/// the limit in a few carriers too often.
inline constexpr int kStretch = 12;
IQD_HOST_DEVICE constexpr int stretches_of(int empty_carriers) noexcept {
  return empty_carriers < kStretch ? 1 : (empty_carriers + kStretch / 2) / kStretch;
}
IQD_HOST_DEVICE constexpr int stretch_end(int n, int empty_carriers) noexcept {
  return n + 1 < stretches_of(empty_carriers) ? (n + 1) * kStretch : empty_carriers;
}
/// A stretch is beside a tone if its power exceeds this many medians.
inline constexpr double kMostStrength = 4;
/// Share of the noise that is added to each antenna's when it is made white.
inline constexpr double kBandLoad = 1e-6;

/// The covariance of the band's noise, from the sum over `count` carriers. Without `whitens`, antennas count one by one.
IQD_HOST_DEVICE inline void set_band(Covariance& band, const bool* alive, const double* least, double count, int rx,
                                     int antennas, bool whitens) noexcept {
  double size[kMostAntennas];
  for (int r = 0; r < rx; ++r) size[r] = alive[r] ? sqrt(fmax(band.re[r][r] / count, least[r])) : 0;
  for (int i = 0; i < rx; ++i) {
    for (int j = 0; j < i; ++j) {
      const double product = whitens ? size[i] * size[j] * count : 0;
      band.re[i][j] = product > 0 ? band.re[i][j] / product : 0;
      band.im[i][j] = product > 0 ? band.im[i][j] / product : 0;
    }
    band.re[i][i] = alive[i];
  }
  if (whitens) shrink(band, count, rx, antennas);
  for (int i = 0; i < rx; ++i) {
    if (whitens) band.re[i][i] *= 1 + kBandLoad;
    for (int j = 0; j <= i; ++j) band.re[i][j] *= size[i] * size[j], band.im[i][j] *= size[i] * size[j];
  }
}

}  // namespace iqd::mimo_channel_estimator
