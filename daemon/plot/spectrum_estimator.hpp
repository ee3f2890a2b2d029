// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/element.hpp"
#include "pipeline/stages/measure/spectrum/spectrum.hpp"

namespace iqd::plot {

/// The mean power spectrum of what is added, in dB of full scale, with 0 Hz in the middle: Blackman-Harris window, as
/// the stage `spectrum` computes it.
class SpectrumEstimator {
 public:
  explicit SpectrumEstimator(std::int64_t size);
  /// Samples after the last whole frame are kept for the next call. After a gap they are not continuous, which widens
  /// one frame of many.
  void add(std::span<const cf32> samples);
  std::int64_t size() const noexcept { return spectrum_.size(); }
  std::int64_t frames() const noexcept { return frames_; }
  /// Returns the mean and begins the next one; empty without a whole frame.
  std::vector<float> take();

 private:
  spectrum::Spectrum spectrum_;
  std::vector<std::byte> scratch_;
  std::vector<cf32> rest_;
  std::vector<float> db_;
  std::vector<double> power_;
  std::int64_t frames_ = 0;
};

/// A power of two that gives at least a few frames of so many samples, up to `most`.
std::int64_t transform_size(std::int64_t samples, std::int64_t most);

}  // namespace iqd::plot
