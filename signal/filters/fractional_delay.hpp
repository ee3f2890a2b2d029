// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace iqd {

/// A filter that interpolates between samples: the sum over q = 0 … taps-1 of h(q) x(n + taps/2 - q) is x(n +
/// fraction), for a fraction of 0 … 1 and an even number of taps. A sinc with a Kaiser window of 80 dB: with 48 taps,
/// frequencies up to 0.44 of the rate are accurate to 1e-3; with 128 taps, up to 0.48 to 2e-4. At 0 Hz it is exactly 1.
/// Another `beta` is another Kaiser window.
std::vector<float> fractional_delay(double fraction, std::int64_t taps, double beta = 7.86);

}  // namespace iqd
