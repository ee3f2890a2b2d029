// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/fractional_delay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <numbers>

namespace iqd {
namespace {

/// Error of a tone at this frequency, a fraction of the rate, against the tone `fraction` of a sample later.
double error_at(double frequency, double fraction, std::int64_t taps) {
  const std::vector<float> h = fractional_delay(fraction, taps);
  const auto tone = [&](double n) { return std::polar(1.0, 2 * std::numbers::pi * frequency * n); };
  std::complex<double> sum = 0;
  for (std::int64_t q = 0; q < taps; ++q)
    sum += static_cast<double>(h[static_cast<std::size_t>(q)]) * tone(static_cast<double>(taps / 2 - q));
  return std::abs(sum - tone(fraction));
}

double worst(double band, std::int64_t taps) {
  double error = 0;
  for (double fraction = 0; fraction <= 1; fraction += 0.0625)
    for (double f = -band; f <= band; f += band / 50) error = std::max(error, error_at(f, fraction, taps));
  return error;
}

TEST(FractionalDelay, KeepsToItsBounds) {
  EXPECT_LT(worst(0.44, 48), 1e-3);
  EXPECT_LT(worst(0.48, 128), 2e-4);
  EXPECT_LT(error_at(0, 0.37, 48), 1e-7);
}

TEST(FractionalDelay, OfNothingAndOfAWholeSampleIsOneTap) {
  for (const double whole : {0.0, 1.0}) {
    const std::vector<float> h = fractional_delay(whole, 48);
    for (std::size_t q = 0; q < h.size(); ++q)
      EXPECT_NEAR(h[q], q == 24 - static_cast<std::size_t>(whole) ? 1 : 0, 1e-7);
  }
}

}  // namespace
}  // namespace iqd
