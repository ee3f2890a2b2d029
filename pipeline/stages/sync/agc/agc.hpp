// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/moving_sum.hpp"
#include "pipeline/stages/sync/power.hpp"

/// y(n) = gain(n) x(n), gain(n) = min(target / rms of x(n + ahead - window + 1) … x(n + ahead), max_gain).
///
/// x, y  [row][n]  cf32; each row has its own gain
///
/// At the start, at the end and after a gap the rms is over the samples that exist. A sample that is not finite, or
/// whose square is not, counts as 0 there, and is multiplied by the gain like others. Silence has `max_gain`, and stays
/// silent.
///
/// There is no feedback: the gain depends only on the samples in the window, so it neither rings nor has to settle, and
/// is the same however the stream is cut. Keeps nothing between calls.
namespace iqd::agc {

struct Config {
  double target = 1;
  std::int64_t window = 1024;
  std::int64_t ahead = 0;
  double max_gain = 100;  // dB

  void fields(FieldVisitor& visitor);
};

struct Gain {
  double target = 1;
  std::int64_t window = 1;
  std::int64_t ahead = 0;
  double most = 1;

  std::int64_t past() const noexcept { return window - 1 - ahead; }
  /// The first sample of n's window.
  IQD_HOST_DEVICE std::int64_t begin(std::int64_t n) const noexcept { return n + ahead - window + 1; }
  /// The gain of sample n, whose window has this energy.
  IQD_HOST_DEVICE float at(std::int64_t n, const Positions& there, double energy) const noexcept {
    const auto samples = static_cast<double>(there.common(begin(n), begin(n) + window));
    const double gain = target / sqrt(energy / samples);
    return static_cast<float>(gain < most ? gain : most);
  }
};

/// x begins at position `first`, y at `out_first`. `scratch` has room for `window` numbers.
void run_cpu(const Gain& gain, View<const cf32, 2> x, std::int64_t first, View<cf32, 2> y, std::int64_t out_first,
             double* scratch) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Gain& gain, std::int64_t most_new);

}  // namespace iqd::agc
