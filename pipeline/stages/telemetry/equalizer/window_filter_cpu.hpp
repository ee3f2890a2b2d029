// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"
#include "signal/filters/fft_plan.hpp"

/// Filtering at the bins of a transform over the whole window, on the CPU.
namespace iqd::equalizer {

/// Filters a window by a spectrum, and by the detection filter if wanted, and yields the values at the bits' centres.
/// Spectra have N bins. Built once, during set-up; then many threads may use it at once, each with its own memory.
class WindowFilter {
 public:
  /// Buffers of N samples, for what is computed in between.
  struct Buffers {
    cf32* a;
    cf32* b;
  };

  /// Throws SetupError if memory is short.
  explicit WindowFilter(const Setup& setup);
  void transform(const cf32* samples, cf32* spectrum) const noexcept { forward_.run(samples, spectrum); }
  /// The spectrum of taps from index `first` on, which is 0 or less.
  void transform_taps(std::span<const cf32> taps, std::int64_t first, Buffers buffers, cf32* spectrum) const noexcept;
  /// Writes one symbol for each bit.
  void run(const cf32* window, const cf32* filter, bool detection, Buffers buffers, cf32* symbols) const noexcept;

 private:
  PacketFormat format_;
  std::vector<float> plain_;      // 1/N at each bin
  std::vector<float> detection_;  // D(k)/N
  FftPlan forward_;
  FftPlan to_symbols_;  // yields every samples_per_bit-th sample
};

}  // namespace iqd::equalizer
