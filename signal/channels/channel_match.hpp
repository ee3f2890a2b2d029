// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/element.hpp"

namespace iqd {

/// How a channel differs from a reference that receives the same signal: x(n) = gain exp(j phase) ref(n - delay). Each
/// error is one standard deviation.
struct ChannelMatch {
  double gain_db = 0;
  double phase_deg = 0;  // at the centre of the band; without a delay, at the signal's frequency
  double delay = 0;      // samples
  double gain_error_db = 0;
  double phase_error_deg = 0;
  double delay_error = 0;
  bool has_delay = false;  // the signal is wide enough to measure it
  double coherence = 0;    // 0 … 1, where the signal is: about 1 - 1/SNR of the weaker channel
  double drift_deg = 0;    // standard deviation of the phase between eighths of the time
};

/// Least number of samples for `match_channel`, and the largest delay between channels in samples.
inline constexpr std::int64_t kMatchLeast = 1 << 16;
inline constexpr std::int64_t kMatchFarthest = 250;

/// Compares two channels of equal length, of kMatchLeast samples or more, by averaged spectra (Welch). Where they are
/// coherent, the phase over frequency is a line whose slope is the delay. The centre of the band is left out, where a
/// receiver has a carrier of its own, and so are its edges, where filters are. If channels have nothing in common, the
/// coherence is small and the other values are meaningless.
ChannelMatch match_channel(std::span<const cf32> reference, std::span<const cf32> x);

}  // namespace iqd
