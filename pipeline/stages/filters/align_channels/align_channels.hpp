// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/block.hpp"
#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"

/// y(c, n) = x(c, n + delay(c)) exp(-j phase(c)) / gain(c): corrects each channel's gain, phase and delay.
///
/// x  [channel][n + past + future]  cf32
/// y  [channel][n]                  cf32
///
/// A delay of whole samples is exact. Between samples x is interpolated with 48 taps: up to 0.44 of the rate y is
/// within 1e-3 of the exact value; above that it is attenuated. Missing samples of x are 0. NaN and infinity stay in
/// their sample, or within 24 samples of it in a channel with a fractional delay. Keeps nothing between calls.
namespace iqd::align_channels {

struct Config {
  std::vector<double> gain_db;
  std::vector<double> phase_deg;
  std::vector<double> delay;  // samples
  bool while_calibrated = false;

  void fields(FieldVisitor& visitor);
};

/// The correction of one channel.
struct Correction {
  static constexpr std::int64_t kTaps = 48;

  Correction() = default;  // none
  Correction(double gain_db, double phase_deg, double delay);
  /// Input positions that are read before and after an output's.
  std::int64_t past() const noexcept;
  std::int64_t future() const noexcept;

  cf32 factor{1, 0};
  std::int64_t whole = 0;   // samples, rounded down
  std::vector<float> taps;  // for the fraction; empty if it is 0
};

/// Which positions to correct while following the source's calibration: `before` applies to those before `split`, which
/// counts from the first position, `after` to the others.
struct Calibrated {
  std::int64_t split;
  bool before;
  bool after;
};
/// For `count` positions from `first` on; corrects all of them if there is no block.
IQD_HOST_DEVICE inline Calibrated calibrated_in(const SampleBlock* block, std::int64_t first, std::int64_t count) {
  if (block == nullptr) return {0, true, true};
  const std::int64_t ahead = block->tuned > first ? block->tuned - first : 0;
  return {ahead < count ? ahead : count, block->was_calibrated, block->calibrated};
}

std::size_t scratch_bytes() noexcept;
/// Computes positions first … first + y.size() - 1 of a row. x has the positions from x_first on.
void run_cpu(const Correction& correction, std::span<const cf32> x, std::int64_t x_first, std::int64_t first,
             std::span<cf32> y, std::byte* scratch) noexcept;

/// The CUDA half. One correction per channel. `follows`: correct only while the block says that the source is
/// calibrated.
using CudaHalf = std::unique_ptr<StageRun>(const std::vector<Correction>& channels, bool follows);

}  // namespace iqd::align_channels
