// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/filter_design.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <utility>

namespace iqd {
namespace {

double sum(const std::vector<double>& h) {
  return std::accumulate(h.begin(), h.end(), 0.0);
}

double asymmetry(const std::vector<double>& h) {
  double worst = 0;
  for (std::size_t i = 0; i < h.size(); ++i) worst = std::max(worst, std::fabs(h[i] - h[h.size() - 1 - i]));
  return worst;
}

TEST(FilterDesign, TapCountsAreThoseOfThePublishedTable) {
  // 1 MS/s and a Hamming window, transitions of 2, 1.5, 1 and 0.5 kHz.
  EXPECT_EQ(tap_count(53, 2000, 1e6), 1205);
  EXPECT_EQ(tap_count(53, 1500, 1e6), 1607);
  EXPECT_EQ(tap_count(53, 1000, 1e6), 2409);
  EXPECT_EQ(tap_count(53, 500, 1e6), 4819);
  EXPECT_EQ(tap_count(21, 1e9, 1e6), 1);
}

TEST(FilterDesign, AttenuationOfEachWindow) {
  const std::pair<Window, double> table[] = {{Window::rectangular, 21},
                                             {Window::hann, 44},
                                             {Window::hamming, 53},
                                             {Window::blackman, 74},
                                             {Window::blackman_harris, 92}};
  for (const auto& [window, attenuation] : table) EXPECT_EQ(attenuation_of({window}), attenuation);
  // Beta and attenuation are each other's inverse above 50 dB.
  EXPECT_NEAR(attenuation_of({Window::kaiser, kaiser_beta(80)}), 80, 1e-9);
  EXPECT_EQ(kaiser_beta(20), 0);
  EXPECT_NEAR(kaiser_beta(30), 2.1166, 1e-3);  // a point of Kaiser's own table
}

TEST(FilterDesign, EveryFilterIsSymmetricAndHasItsGain) {
  const double rate = 1e6;
  const double low = 120e3;
  const double high = 310e3;
  const auto check = [&](const std::vector<double>& h, std::int64_t taps, double where) {
    EXPECT_EQ(std::ssize(h), taps | 1);
    EXPECT_LT(asymmetry(h), 1e-13);
    EXPECT_NEAR(response_at(h, where, rate), 2.5, 1e-12);
  };
  for (int window = 0; window < 6; ++window)
    for (std::int64_t taps : {16, 33, 64, 301}) {
      const FilterWindow w{static_cast<Window>(window), 7};
      check(low_pass(low, rate, taps, w, 2.5), taps, 0);
      check(high_pass(low, rate, taps, w, 2.5), taps, rate / 2);
      check(band_pass(low, high, rate, taps, w, 2.5), taps, (low + high) / 2);
      check(band_reject(low, high, rate, taps, w, 2.5), taps, 0);
    }
}

TEST(FilterDesign, StopBandsAreAsDeepAsTheWindowPromises) {
  const double rate = 1e6;
  for (Window window : {Window::hann, Window::hamming, Window::blackman, Window::blackman_harris, Window::kaiser}) {
    const FilterWindow w{window};
    const double wanted = attenuation_of(w);
    const std::int64_t taps = tap_count(wanted, 40e3, rate);
    const auto low = low_pass(200e3, rate, taps, w);
    const auto high = high_pass(200e3, rate, taps, w);
    double worst = 0;
    for (double off = 45e3; off < 195e3; off += 500) {
      worst = std::max(worst, std::fabs(response_at(low, 200e3 + off, rate)));
      worst = std::max(worst, std::fabs(response_at(high, 200e3 - off, rate)));
    }
    EXPECT_LT(20 * std::log10(worst), -wanted + 3) << kWindowNames[static_cast<std::size_t>(window)];
    EXPECT_NEAR(response_at(low, 200e3, rate), 0.5, 0.01);
  }
}

TEST(FilterDesign, AHandMadeFilter) {
  // Three taps, rectangular, a quarter of the rate: 1/pi 1/2 1/pi, scaled to a sum of 1.
  const auto h = low_pass(0.25, 1, 3, {Window::rectangular});
  const double total = 2 / std::numbers::pi + 0.5;
  EXPECT_NEAR(h[0], 1 / std::numbers::pi / total, 1e-15);
  EXPECT_NEAR(h[1], 0.5 / total, 1e-15);
}

TEST(RootRaisedCosine, LimitsAreThoseOfTheFormulaNearby) {
  // At alpha 0.25 and 4 samples per symbol, |4 alpha t| = 1 falls on the samples 4 from the centre.
  const auto h = root_raised_cosine(1, 4, 0.25, 45);
  const auto beside = root_raised_cosine(1, 4, 0.2500001, 45);
  ASSERT_EQ(h.size(), 45u);
  for (std::size_t i = 0; i < h.size(); ++i) EXPECT_NEAR(h[i], beside[i], 1e-6) << i;
  EXPECT_NEAR(sum(h), 1, 1e-12);
  EXPECT_LT(asymmetry(h), 1e-15);
}

TEST(RootRaisedCosine, ZeroRollOffIsASinc) {
  const auto h = root_raised_cosine(1, 2, 0, 21);
  for (int n = 1; n <= 10; ++n) {
    const double sinc = std::sin(std::numbers::pi * n / 2) / (std::numbers::pi * n / 2);
    EXPECT_NEAR(h[static_cast<std::size_t>(10 + n)] / h[10], sinc, 1e-12);
  }
}

TEST(RootRaisedCosine, FullRollOffIsFinite) {
  for (double tap : root_raised_cosine(1, 4, 1, 33)) EXPECT_TRUE(std::isfinite(tap));
}

TEST(RootRaisedCosine, TwiceIsFreeOfInterSymbolInterference) {
  const auto h = root_raised_cosine(1, 4, 0.35, 45);
  const auto n = static_cast<int>(h.size());
  const auto pulse = [&](int shift) {
    double s = 0;
    for (int i = std::max(0, shift); i < std::min(n, n + shift); ++i)
      s += h[static_cast<std::size_t>(i)] * h[static_cast<std::size_t>(i - shift)];
    return s;
  };
  for (int symbol = 1; symbol < 8; ++symbol) EXPECT_LT(std::fabs(pulse(4 * symbol) / pulse(0)), 4e-3) << symbol;
}

TEST(RootRaisedCosine, AnEvenCountIsMadeOdd) {
  EXPECT_EQ(root_raised_cosine(1, 4, 0.35, 44, 3).size(), 45u);
}

}  // namespace
}  // namespace iqd
