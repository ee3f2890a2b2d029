// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/channels/channel_power.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

namespace iqd {
namespace {

using Samples = std::vector<cf32>;

Samples tone(double frequency, double amplitude, std::int64_t n) {
  Samples x;
  for (std::int64_t i = 0; i < n; ++i)
    x.emplace_back(std::polar(amplitude, 2 * std::numbers::pi * frequency * static_cast<double>(i)));
  return x;
}

std::vector<double> spectrum_of(const Samples& x, std::int64_t size, std::int64_t frames = 0) {
  const WelchSpectrum welch(size);
  std::vector<std::byte> scratch(WelchSpectrum::scratch_bytes(size));
  std::vector<double> power(static_cast<std::size_t>(size), -1);
  welch.run(x, frames, power, scratch.data());
  return power;
}

TEST(WelchSpectrum, ATonesPowerIsWithinItsMainLobe) {
  for (const std::int64_t size : {64, 63, 1024})
    for (const double frequency : {0.0, 0.1234, -0.31}) {
      const auto power = spectrum_of(tone(frequency, 0.5, 3000), size);
      const double lobe = (WelchSpectrum::kMainLobe + 1) / static_cast<double>(size);
      const double within = power_within({frequency - lobe, frequency + lobe}, power);
      EXPECT_NEAR(within, 0.25, 1e-5);
      const double all = std::accumulate(power.begin(), power.end(), 0.0);
      EXPECT_LT(std::fabs(all - within) / all, 1e-8) << size << " " << frequency;
    }
}

TEST(WelchSpectrum, SideLobesAreLow) {
  const auto power = spectrum_of(tone(0.1003, 1, 4096), 512);
  const double strongest = *std::max_element(power.begin(), power.end());
  for (std::size_t k = 0; k < power.size(); ++k) {
    if (std::fabs(static_cast<double>(k) - 256 - 0.1003 * 512) <= WelchSpectrum::kMainLobe + 1) continue;
    EXPECT_LT(10 * std::log10(power[k] / strongest), -90) << k;
  }
}

TEST(WelchSpectrum, NoiseHasItsPowerAndIsFlat) {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  Samples x(200'000);
  for (cf32& v : x) v = {normal(engine), normal(engine)};
  const auto power = spectrum_of(x, 256);
  EXPECT_NEAR(power_within({-0.5, 0.5}, power), 2, 0.03);
  EXPECT_NEAR(power_within({0.1, 0.35}, power), 0.5, 0.02);
}

TEST(WelchSpectrum, FramesOverlapByHalf) {
  // Loud only in 0 … 63: frames of 64 from 0, 32 and 64 on.
  Samples x = tone(0, 1, 64);
  x.resize(128);
  const WelchSpectrum welch(64);
  std::vector<std::byte> scratch(WelchSpectrum::scratch_bytes(64));
  std::vector<double> power(64);
  EXPECT_EQ(welch.run(x, 0, power, scratch.data()), 3);
  EXPECT_EQ(welch.run(x, 2, power, scratch.data()), 2);
  EXPECT_EQ(welch.run(std::span(x).first(63), 0, power, scratch.data()), 0);
  const double one = power_within({-1, 1}, spectrum_of(x, 64, 1));
  const double two = power_within({-1, 1}, spectrum_of(x, 64, 2));
  EXPECT_NEAR(one, 1, 1e-6);
  EXPECT_NEAR(two, 0.75, 1e-6);  // the window is symmetric
}

TEST(WelchSpectrum, OnABinATonesPeakIsKnown) {
  const WelchSpectrum welch(128);
  EXPECT_NEAR(spectrum_of(tone(0.25, 1, 1000), 128)[96], welch.peak(), 1e-6);
}

TEST(PowerWithin, CountsPartsOfBins) {
  const std::vector<double> power{1, 2, 4, 8};  // around -0.5, -0.25, 0 and 0.25
  EXPECT_DOUBLE_EQ(power_within({-0.125, 0.125}, power), 4);
  EXPECT_DOUBLE_EQ(power_within({0, 0.25}, power), 2 + 4);
  EXPECT_NEAR(power_within({0.05, 0.1}, power), 0.05 * 4 * 4, 1e-12);
  EXPECT_DOUBLE_EQ(power_within({-2, 2}, power), 15);
  EXPECT_DOUBLE_EQ(power_within({0.2, 0.1}, power), 0);
}

}  // namespace
}  // namespace iqd
