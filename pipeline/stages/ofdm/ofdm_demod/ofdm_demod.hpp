// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/element.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "signal/filters/fft_plan.hpp"
#include "signal/formats/ofdm_format.hpp"

/// The carriers of OFDM frames, in ascending frequency f(c): Y(s, c, r) = sqrt(carriers) / fft ·
/// sum over n of x(r, begin(s) - early + n) exp(-2 pi j f(c) n / fft), early = format.early().
///
/// frames    [frame][rx][sample]           cf32, from the first sample of the frame's first prefix on
/// carriers  [frame][symbol][carrier][rx]  cf32: all symbols, all carriers in use; with `tail` those of the next frame
///                                         to the end of its training
///
/// The window begins inside the prefix, so that paths may arrive up to `early` samples before the frame's timing, and
/// prefix - early behind it. This offset remains in the channel, as a ramp exp(-2 pi j f(c) early / fft). A channel of
/// gain 1 yields what was sent, times that ramp. Error below 2e-6 of the symbol's rms. A NaN or an infinity makes only
/// its symbol of its antenna NaN; a carrier that is too large for a float is NaN. Keeps nothing between calls.
namespace iqd::ofdm_demod {

/// The factor of the transform.
float scale_of(const OfdmFormat& format) noexcept;

/// A demodulator that is ready for use by many threads at once, each with its own scratch.
class Demodulator {
 public:
  /// Throws SetupError if memory is short.
  Demodulator(const OfdmFormat& format, std::int64_t rx);
  static std::size_t scratch_bytes(const OfdmFormat& format, std::int64_t rx) noexcept;
  void run(const cf32* frames, std::int64_t count, cf32* carriers, std::byte* scratch) const noexcept;

 private:
  OfdmFormat format_;
  std::int64_t rx_;
  float scale_;
  FftPlan plan_;
};

/// The CUDA half; `scale`: the factor of the transform.
using CudaHalf = std::unique_ptr<StageRun>(const OfdmFormat& format, std::int64_t rx, float scale);

}  // namespace iqd::ofdm_demod
