// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"

/// Undoes an FM transmitter's pre-emphasis: a one-pole low-pass filter.
///
///   y(n) = y(n-1) + (1 - a) (x(n) - y(n-1)),   a = exp(-1 / (rate tau))
///
/// x  f32 [row][n + halo]
/// y  f32 [row][n]
///
/// Samples older than `memory` contribute less than 2^-24 and are left out: for every run of 128 samples, at multiples
/// of 128 from the stream's start, the recursion starts from zero `memory` samples earlier. So blocks need no state,
/// only a past, and y is the same to the bit however the stream is cut. Before the first sample and after a gap x is 0.
/// A NaN or infinity spoils up to memory + 128 samples after it. Keeps nothing between calls.
namespace iqd::deemphasis {

struct Config {
  double tau = 50e-6;

  void fields(FieldVisitor& visitor);
};

struct Pole {
  Pole(double tau_s, double rate_hz);

  static constexpr std::int64_t kRun = 128;
  float step;           // 1 - a
  std::int64_t memory;  // samples

  std::int64_t past() const noexcept { return memory + kRun - 1; }
};

/// Outputs first … end-1 (positions of the stream) of one run; x[0] is position x_first.
IQD_HOST_DEVICE inline void run_from(const float* x, std::int64_t x_first, float step, std::int64_t memory,
                                     std::int64_t first, std::int64_t end, float* y) noexcept {
  const std::int64_t begin = first / Pole::kRun * Pole::kRun - memory;
  float state = 0;
  for (std::int64_t n = begin > x_first ? begin : x_first; n < end; ++n) {
    state += step * (x[n - x_first] - state);
    if (n >= first) y[n - first] = state;
  }
}

/// x[r] begins at position x_first, y[r] at y_first.
void run_cpu(const Pole& pole, View<const float, 2> x, std::int64_t x_first, View<float, 2> y,
             std::int64_t y_first) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Pole& pole);

}  // namespace iqd::deemphasis
