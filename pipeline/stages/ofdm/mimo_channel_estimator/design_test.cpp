// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "pipeline/stages/ofdm/mimo_channel_estimator/frame_fit.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"

namespace iqd::mimo_channel_estimator {
namespace {

std::size_t position(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// A Wiener filter's error is orthogonal to its inputs: R w = r, for any set of carriers.
TEST(MimoChannelDesign, TapsFulfilTheNormalEquations) {
  for (const std::int64_t carriers : {16, 20, 300}) {
    const Config config{.format = {.carriers = carriers, .pilot_every = 5}, .delay_spread = 26, .snr = 25};
    const Design design = make_design(config, 1, 0);
    // 26 behind the timing, and the 4 by which the window begins before it
    const auto correlation = [&](std::int64_t k, std::int64_t l) {
      const auto apart = static_cast<double>(config.format.frequency_of(k) - config.format.frequency_of(l));
      const double x = std::numbers::pi * 30 / 512 * apart;
      return x == 0 ? 1 : std::sin(x) / x;
    };
    for (std::int64_t c = 0; c < carriers; ++c) {
      const std::int64_t first = design.first[position(c)], taps = std::min<std::int64_t>(kTaps, carriers);
      ASSERT_GE(first, 0);
      ASSERT_LE(first + taps, carriers);
      ASSERT_TRUE(first == c - kTaps / 2 || first == 0 || first + taps == carriers);
      for (std::int64_t k = 0; k < taps; ++k) {
        double sum = std::pow(10, -2.5) * static_cast<double>(design.taps[position(c * kTaps + k)]);
        for (std::int64_t l = 0; l < taps; ++l)
          sum += correlation(first + k, first + l) * static_cast<double>(design.taps[position(c * kTaps + l)]);
        ASSERT_NEAR(sum, correlation(first + k, c), 1e-6) << "carrier " << c << " of " << carriers;
      }
    }
  }
}

TEST(MimoChannelDesign, ASlopeIsFoundBeyondHalfATurn) {
  for (const int tx : {1, 4, 8})
    for (const double slope : {-0.6, -0.01, 0.0, 0.3, 0.65}) {
      PhaseSlope found;
      for (int d = 0; d < 9; ++d) {
        const double phase = slope * position_behind(d, tx);
        found.add(std::remainder(phase, 2 * std::numbers::pi), position_behind(d, tx));
      }
      EXPECT_NEAR(found.slope(), slope, 1e-12);
    }
}

}  // namespace
}  // namespace iqd::mimo_channel_estimator
