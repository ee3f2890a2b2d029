// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/channels/fading_channel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "signal/filters/filter_kernel.hpp"

namespace iqd {
namespace {

using complex = std::complex<double>;
using cf32 = std::complex<float>;

/// Signals of both antennas with margins around them.
struct Sent {
  explicit Sent(std::int64_t samples, std::int64_t reach) : before(reach + kFilterMargin) {
    std::mt19937 engine(5);
    std::normal_distribution<float> normal;
    for (auto& antenna : x)
      for (std::int64_t n = 0; n < before + samples + kFilterMargin; ++n)
        antenna.emplace_back(normal(engine), normal(engine));
  }
  const cf32* at(std::size_t t, std::int64_t n) const { return x[t].data() + before + n; }

  std::int64_t before;
  std::vector<cf32> x[2];
};

std::vector<cf32> received(const FadingChannel& channel, const Sent& sent, std::int64_t first, std::int64_t samples) {
  const cf32* const from[] = {sent.at(0, first), sent.at(1, first)};
  std::vector<cf32> y(static_cast<std::size_t>(samples));
  channel.receive(1, first, from, y);
  return y;
}

TEST(FadingChannel, ReceivesTheSumOverAntennasAndTaps) {
  for (const Fading fading : {Fading::none, Fading::block, Fading::doppler}) {
    const FadingChannel channel({.rx = 2,
                                 .tx = 2,
                                 .powers = {3, 0, 1, 0.2},
                                 .fading = fading,
                                 .block = 300,
                                 .doppler = {1e-5, 1e-5},
                                 .seed = 9});
    const Sent sent(1000, channel.reach());
    const auto y = received(channel, sent, 0, 1000);
    for (std::int64_t n = 0; n < 1000; ++n) {
      complex expected = 0;
      for (std::int64_t t = 0; t < 2; ++t)
        for (std::int64_t d = 0; d <= channel.reach(); ++d)
          expected += channel.gain(1, t, d, n) * complex(*sent.at(static_cast<std::size_t>(t), n - d));
      ASSERT_LT(std::abs(complex(y[static_cast<std::size_t>(n)]) - expected), 1e-5) << n;
    }
    for (std::int64_t n = 0; n < 1000; n += 77) {
      const auto part = received(channel, sent, n, std::min<std::int64_t>(77, 1000 - n));
      EXPECT_TRUE(std::equal(part.begin(), part.end(), y.begin() + n)) << n;
    }
  }
}

TEST(FadingChannel, DrawsAreGaussianAndIndependent) {
  constexpr std::int64_t kDraws = 20000;
  const FadingChannel channel({.rx = 2, .tx = 2, .powers = exponential_profile(2, 3), .block = 10, .seed = 3});
  double power = 0, fourth = 0;
  complex antennas = 0, taps = 0, draws = 0, squares = 0;
  for (std::int64_t i = 0; i < kDraws; ++i) {
    complex h[3];
    for (std::int64_t d = 0; d < 3; ++d) h[d] = channel.gain(1, 0, d, 10 * i);
    EXPECT_EQ(h[0], channel.gain(1, 0, 0, 10 * i + 9));
    power += std::norm(h[0]) + std::norm(h[1]) + std::norm(h[2]);
    fourth += std::norm(h[0]) * std::norm(h[0]);
    antennas += h[0] * std::conj(channel.gain(0, 1, 0, 10 * i));
    taps += h[0] * std::conj(h[1]);
    draws += h[0] * std::conj(channel.gain(1, 0, 0, 10 * i + 10));
    squares += h[0] * h[0];
  }
  // The means of 20,000 deviate by less than 1 %, those of the fourth power by 2 %.
  EXPECT_NEAR(power / kDraws, 1, 0.05);
  const double first = 1 / (1 + std::exp(-0.5) + std::exp(-1.0));
  EXPECT_NEAR(fourth / kDraws / (first * first), 2, 0.2);
  for (const complex mean : {antennas, taps, draws, squares}) EXPECT_LT(std::abs(mean) / kDraws, 0.05);
}

TEST(FadingChannel, ADopplerShiftDecorrelatesAsItShould) {
  constexpr double kDoppler = 1e-4;
  constexpr std::int64_t kPaths = 64, kTimes = 200;
  const FadingChannel channel(
      {.rx = 8, .tx = 8, .fading = Fading::doppler, .doppler = std::vector(8, kDoppler), .seed = 4});
  double power = 0;
  for (const std::int64_t lag : {0, 1000, 3000, 6000}) {
    complex mean = 0;
    for (std::int64_t p = 0; p < kPaths; ++p)
      for (std::int64_t i = 0; i < kTimes; ++i)
        mean += channel.gain(p / 8, p % 8, 0, 7919 * i + lag) * std::conj(channel.gain(p / 8, p % 8, 0, 7919 * i));
    mean /= static_cast<double>(kPaths * kTimes);
    if (lag == 0) power = mean.real();
    EXPECT_LT(std::abs(mean - std::cyl_bessel_j(0, 2 * std::numbers::pi * kDoppler * static_cast<double>(lag))), 0.05)
        << lag;
  }
  EXPECT_NEAR(power, 1, 0.05);
  const complex before = channel.gain(0, 0, 0, 1'000'000), behind = channel.gain(0, 0, 0, 1'000'010);
  EXPECT_NE(before, behind);
  EXPECT_LT(std::abs(before - behind), 0.02);
}

TEST(FadingChannel, WithoutADopplerShiftTheDrawStays) {
  const FadingChannel channel({.fading = Fading::doppler, .seed = 4});
  EXPECT_EQ(channel.gain(0, 0, 0, 0), channel.gain(0, 0, 0, std::int64_t{1} << 40));
}

TEST(FadingChannel, TransmittersMayMoveAtDifferentSpeeds) {
  constexpr double kSlow = 1e-5, kFast = 1e-3;
  const FadingChannel channel({.rx = 64, .tx = 3, .fading = Fading::doppler, .doppler = {kSlow, kFast}, .seed = 4});
  const auto correlation = [&](std::int64_t t, std::int64_t lag) {
    complex mean = 0;
    for (std::int64_t r = 0; r < 64; ++r)
      for (std::int64_t i = 0; i < 100; ++i)
        mean += channel.gain(r, t, 0, 7919 * i + lag) * std::conj(channel.gain(r, t, 0, 7919 * i)) / 6400.0;
    return mean.real();
  };
  EXPECT_GT(correlation(0, 383), 0.95);
  EXPECT_LT(correlation(1, 383), 0.1) << "J0 of its first zero";
  EXPECT_EQ(channel.gain(5, 2, 0, 0), channel.gain(5, 2, 0, 1 << 30)) << "0 if not given";
}

TEST(FadingChannel, WithoutFadingAntennasAreOrthogonal) {
  for (const std::int64_t rx : {4, 8}) {
    const FadingChannel channel({.rx = rx, .tx = 4, .powers = {1, 3}, .fading = Fading::none});
    for (std::int64_t a = 0; a < 4; ++a)
      for (std::int64_t b = 0; b < 4; ++b) {
        complex product = 0;
        for (std::int64_t r = 0; r < rx; ++r) product += channel.gain(r, a, 1, 0) * std::conj(channel.gain(r, b, 1, 5));
        EXPECT_LT(std::abs(product - (a == b ? 0.75 * static_cast<double>(rx) : 0)), 1e-12);
        EXPECT_NEAR(std::norm(channel.gain(rx - 1, a, 0, 0)), 0.25, 1e-12);
      }
  }
}

TEST(FadingChannel, SeedsDiffer) {
  const FadingChannel one({.seed = 1}), two({.seed = 2});
  EXPECT_NE(one.gain(0, 0, 0, 0), two.gain(0, 0, 0, 0));
}

TEST(ExponentialProfile, HasItsSpread) {
  const auto powers = exponential_profile(5, 100);
  double sum = 0, mean = 0, square = 0;
  for (std::size_t d = 0; d < powers.size(); ++d) {
    const auto delay = static_cast<double>(d);
    sum += powers[d], mean += powers[d] * delay, square += powers[d] * delay * delay;
  }
  // Sums over samples; for a spread of 5 the sum differs from the integral by less than 1 %.
  EXPECT_NEAR(std::sqrt(square / sum - mean * mean / (sum * sum)), 5, 0.05);
  EXPECT_EQ(exponential_profile(0, 3), (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(exponential_profile(0, 0).size(), 1u);
}

}  // namespace
}  // namespace iqd
