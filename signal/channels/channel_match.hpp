// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/element.hpp"

namespace iqd {

/// How a channel differs from a reference that hears the same signal: x(n) = gain exp(j phase) ref(n - delay), and how
/// sure each is, as one standard deviation.
struct ChannelMatch {
  double gain_db = 0;
  double phase_deg = 0;  // at the middle of the band; where there is no delay, at the signal's frequency
  double delay = 0;      // samples
  double gain_error_db = 0;
  double phase_error_deg = 0;
  double delay_error = 0;
  bool has_delay = false;  // the signal is wide enough to tell
  double coherence = 0;    // of 0 … 1, where the signal is: 1 - 1/SNR or so of the weaker channel
  double drift_deg = 0;    // standard deviation of the phase from one eighth of the time to another
};

/// Samples that `match_channel` needs at least, and how far apart channels may be.
inline constexpr std::int64_t kMatchLeast = 1 << 16;
inline constexpr std::int64_t kMatchFarthest = 250;

/// Compares two channels as long as each other, of kMatchLeast samples or more, by spectra that are averaged over
/// segments (Welch): at frequencies where they are coherent the phase is a line, whose slope is the delay. The middle
/// of the band is left out, where a receiver has a carrier of its own, and its ends, where filters are. Of channels
/// that have nothing in common the coherence is small, and nothing else means anything.
ChannelMatch match_channel(std::span<const cf32> reference, std::span<const cf32> x);

}  // namespace iqd
