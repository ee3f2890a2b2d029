// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "base/views.hpp"
#include "signal/formats/soft_qam.hpp"
#include "signal/formats/symbol_map.hpp"

/// What follows the users' phases and decides their symbols, for host and device.
namespace iqd::noma_channel_estimator {

/// A user's phase from symbol to symbol: a line with a memory that grows to a limit.
struct PhaseLine {
  double phase = 0;  // radians
  double rate = 0;   // radians a symbol

  IQD_HOST_DEVICE void advance() noexcept { phase += rate; }
  /// Takes in an error of the phase, seen in the symbol behind `count` earlier ones; returns the correction.
  IQD_HOST_DEVICE double correct(double error, int count) noexcept {
    const double n = count, both = (n + 1) * (n + 2);
    const double step = fmax(0.15, 2 * (2 * n + 1) / both) * error;
    phase += step;
    rate += fmax(0.01, 6 / both) * error;
    return step;
  }
};

/// The nearest point of a map.
class Slicer {
 public:
  IQD_HOST_DEVICE explicit Slicer(SymbolMap map) noexcept
      : scale_(axis_scale(map)), top_(static_cast<float>((1 << axis_bits(map)) - 1)), flat_(map == SymbolMap::bpsk) {}

  struct Point {
    float re, im;
  };
  IQD_HOST_DEVICE Point operator()(float re, float im) const noexcept { return {level(re), flat_ ? 0.0f : level(im)}; }

 private:
  IQD_HOST_DEVICE float level(float x) const noexcept {
    const float odd = 2 * floorf(x / scale_ / 2) + 1;
    return scale_ * fmaxf(-top_, fminf(top_, odd));
  }

  float scale_;
  float top_;
  bool flat_;
};

/// What is known of a point from the LLRs of its bits, [bits of the map].
struct SoftPoint {
  float re, im;
  float variance;
};
IQD_HOST_DEVICE inline SoftPoint soften(SymbolMap map, const float* llr) noexcept {
  const int axes = map == SymbolMap::bpsk ? 1 : 2;
  const float scale = axis_scale(map);
  qam::SoftLevel level[2];
  for (int axis = 0; axis < axes; ++axis) level[axis] = qam::soft_level(axis_bits(map), llr + axis, axes);
  float left = 0;
  for (const qam::SoftLevel& own : level) left += own.square - own.mean * own.mean;
  return {scale * level[0].mean, scale * level[1].mean, scale * scale * fmaxf(left, 0.0f)};
}

}  // namespace iqd::noma_channel_estimator
