// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/filters/deemphasis/deemphasis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "tests/support/stage_under_test.hpp"

namespace iqd::deemphasis {
namespace {

using ::testing::HasSubstr;
using testing::real_noise;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

constexpr double kRate = 240e3;

StageUnderTest stage(const std::string& keys = "{}", std::int64_t channels = 1, double rate = kRate) {
  return {entry(), keys, {stream_of(Element::f32, channels, rate)}};
}

TEST(Deemphasis, IsTheRecursionWithoutAnEnd) {
  const auto x = real_noise(20000);
  auto s = stage("{tau: 75 us}");
  const auto y = s.stream<float>(x, {1, 7, 333});
  const double a = std::exp(-1 / (kRate * 75e-6));
  double state = 0, worst = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    state = a * state + (1 - a) * x[n];
    worst = std::max(worst, std::abs(state - y[n]));
  }
  EXPECT_LT(worst, 3e-7);  // 2^-24 for the samples left out, and a float's rounding
}

TEST(Deemphasis, TonesComeOutAsTheCircuitGivesThem) {
  for (const double hz : {100.0, 1000.0, 5000.0, 15000.0}) {
    std::vector<float> x;
    for (int n = 0; n < 24000; ++n) x.push_back(static_cast<float>(std::cos(2 * std::numbers::pi * hz * n / kRate)));
    auto s = stage();
    const auto y = s.stream<float>(x);
    std::complex<double> sum = 0;
    for (int n = 12000; n < 24000; ++n)  // whole periods of all tones
      sum +=
          static_cast<double>(y[static_cast<std::size_t>(n)]) * std::polar(1.0, -2 * std::numbers::pi * hz * n / kRate);
    const double circuit = 1 / std::sqrt(1 + std::pow(2 * std::numbers::pi * hz * 50e-6, 2));
    EXPECT_NEAR(20 * std::log10(std::abs(sum) / 6000 / circuit), 0, 0.06) << hz;
  }
}

TEST(Deemphasis, HowTheStreamIsCutDoesNotMatter) {
  const auto x = real_noise(2 * 3001);
  auto s = stage("{}", 2);
  const auto whole = s.stream<float>(x);
  EXPECT_TRUE(same_bits(s.stream<float>(x, {1, 2, 3, 500}), whole));
  EXPECT_TRUE(same_bits(s.stream<float>(x, {128}), whole));
  EXPECT_TRUE(same_bits(s.stream<float>(x, {1}), whole));
}

TEST(Deemphasis, ANanIsForgotten) {
  std::vector<float> x(3000, 1.0f);
  x[1000] = std::numeric_limits<float>::quiet_NaN();
  auto s = stage();
  const auto y = s.stream<float>(x, {100});
  const auto reach = static_cast<std::size_t>(Pole(50e-6, kRate).past());
  for (std::size_t n = 0; n < x.size(); ++n) EXPECT_TRUE(!std::isnan(y[n]) || (n >= 1000 && n <= 1000 + reach)) << n;
  EXPECT_TRUE(std::isnan(y[1000]) && std::isnan(y[1127]));
  EXPECT_NEAR(y[2999], 1, 1e-6);
}

TEST(Deemphasis, RefusesWhatCannotBe) {
  EXPECT_THAT(stage("{tau: 0}").complaints(), HasSubstr("tau: has to be above 0"));
  EXPECT_THAT(stage("{tau: 1 s}").complaints(), HasSubstr("at most 50000 samples: 0.208333 s"));
  EXPECT_THAT(stage("{tau: -50 us}").complaints(), HasSubstr("above 0"));
  EXPECT_THAT(stage("{}", 1, 0).complaints(), HasSubstr("needs the sample rate of its input"));
  EXPECT_THAT(stage("{}", 1, 1).complaints(), HasSubstr("50 us are 5e-05 samples at the input's rate of 1 S/s"));
  EXPECT_THAT(stage("{}", 1, 1999).complaints(), HasSubstr("the minimum is 0.1"));
  EXPECT_EQ(stage("{}", 1, 2001).complaints(), "");
}

}  // namespace
}  // namespace iqd::deemphasis
