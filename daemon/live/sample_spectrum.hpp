// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/element.hpp"
#include "signal/filters/fft_plan.hpp"

namespace iqd::live {

/// The power spectrum of some samples with a Blackman-Harris window: a tone of amplitude 1 on a bin has the power 1. For
/// transforms of one size. One thread.
class SampleSpectrum {
 public:
  explicit SampleSpectrum(std::int64_t size);
  std::int64_t size() const noexcept { return plan_.size(); }
  /// Of `size` samples; bin size/2 is 0 Hz. `mirrored`: higher frequencies first. Valid until the next call.
  std::span<const float> powers(std::span<const cf32> samples, bool mirrored) noexcept;

 private:
  FftPlan plan_;
  std::vector<float> window_;  // its sum is 1
  std::vector<std::byte> scratch_;
  std::vector<float> powers_;
};

/// Samples of a watched port as cf32: full scale is 1.
std::span<const cf32> as_cf32(Element element, const std::byte* samples, std::int64_t count, std::vector<cf32>& into);

}  // namespace iqd::live
