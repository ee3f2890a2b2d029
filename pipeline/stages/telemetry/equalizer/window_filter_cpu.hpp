// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"
#include "signal/filters/fft_plan.hpp"

/// Filtering at the bins of a transform over a window, or a segment of it, on the CPU.
namespace iqd::equalizer {

/// Filters N samples by a spectrum, and by the detection filter if wanted, and yields the values at the bits' centres:
/// the first bit is kGuard samples behind the first sample. Spectra have N bins. Built once, during set-up; then many
/// threads may use it at once, each with its own memory.
class WindowFilter {
 public:
  /// Buffers of N samples, for what is computed in between.
  struct Buffers {
    cf32* a;
    cf32* b;
  };

  /// Throws SetupError if memory is short.
  WindowFilter(const Bins& bins, std::int64_t samples_per_bit);
  std::int64_t size() const noexcept { return forward_.size(); }
  void transform(const cf32* samples, cf32* spectrum) const noexcept { forward_.run(samples, spectrum); }
  /// The spectrum of taps from index `first` on, which is 0 or less.
  void transform_taps(std::span<const cf32> taps, std::int64_t first, Buffers buffers, cf32* spectrum) const noexcept;
  /// The response of fde1, or of fde2, to the spectrum of a channel.
  void invert(Kind kind, const cf32* channel, float noise, cf32* response) const noexcept;
  /// Writes one symbol for each of `bits` bits.
  void run(const cf32* window, const cf32* filter, bool detection, Buffers buffers, cf32* symbols,
           std::int64_t bits) const noexcept;

 private:
  std::int64_t samples_per_bit_;
  std::vector<float> plain_;      // 1/N at each bin
  std::vector<float> detection_;  // D(k)/N
  std::vector<float> psi_;
  FftPlan forward_;
  FftPlan to_symbols_;  // yields every samples_per_bit-th sample
};

}  // namespace iqd::equalizer
