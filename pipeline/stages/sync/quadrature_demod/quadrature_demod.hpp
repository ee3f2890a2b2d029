// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"

/// y(n) = gain · arg(x(n) conj x(n-1)): the phase step from the previous sample, so a frequency. With `deviation` it is
/// relative to that: gain · rate / (2 pi deviation) · arg(…).
///
/// x  [row][n + past]  cf32, `past` of them before the first sample of y: 1, or 0 at the start and after a gap
/// y  [row][n]         f32
///
/// y is 0 if there is no previous sample, or if one of the two is 0. Within 5e-7 gain if both are larger than 1e-18. A
/// NaN makes two outputs NaN, an infinity makes two meaningless. Keeps nothing between calls.
namespace iqd::quadrature_demod {

struct Config {
  double gain = 1;
  std::optional<double> deviation_hz;

  void fields(FieldVisitor& visitor);
  /// The factor for the angle, at this rate.
  double factor(double rate_hz) const;
};

void run_cpu(View<const cf32, 2> x, std::int64_t past, float gain, View<float, 2> y) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(float gain);

}  // namespace iqd::quadrature_demod
