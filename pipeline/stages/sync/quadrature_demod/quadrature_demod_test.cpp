// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/sync/quadrature_demod/quadrature_demod.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tests/support/stage_under_test.hpp"

namespace iqd::quadrature_demod {
namespace {

using testing::complex_noise;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

TEST(QuadratureDemod, AgreesWithTheDefinition) {
  StageUnderTest s(entry(), "{gain: -2.5}", {stream_of(Element::cf32)});
  EXPECT_EQ(s.out().text(), "f32 [n]");
  const auto x = complex_noise(3000);
  const auto y = s.stream<float>(x);
  EXPECT_EQ(y[0], 0);
  for (std::size_t n = 1; n < y.size(); ++n) {
    const std::complex<double> now(x[n]), before(x[n - 1]);
    const double turned = std::arg(now * std::conj(before));
    // An angle near pi may come out near -pi.
    const double off = std::remainder(static_cast<double>(y[n]) / -2.5 - turned, 2 * std::numbers::pi);
    ASSERT_LT(std::fabs(off), 5e-7) << n;
  }
}

TEST(QuadratureDemod, AToneIsItsFrequency) {
  constexpr double kStep = 2 * std::numbers::pi * -0.17;
  std::vector<cf32> x;
  for (int n = 0; n < 500; ++n) x.emplace_back(std::polar(3.0, kStep * n));
  StageUnderTest s(entry(), "{gain: 0.5}", {stream_of(Element::cf32)});
  const auto y = s.stream<float>(x);
  for (std::size_t n = 1; n < y.size(); ++n) EXPECT_NEAR(static_cast<double>(y[n]), kStep / 2, 3e-7);
}

TEST(QuadratureDemod, ASignalAtItsDeviationIsTheGain) {
  constexpr double kRate = 240e3, kDeviation = 75e3;
  std::vector<cf32> x;
  for (int n = 0; n < 100; ++n) x.emplace_back(std::polar(1.0, -2 * std::numbers::pi * kDeviation / kRate * n));
  for (const auto& [keys, value] : {std::pair("{deviation: 75 kHz}", -1.0), {"{deviation: 75 kHz, gain: 3}", -3.0}}) {
    StageUnderTest s(entry(), keys, {stream_of(Element::cf32, 1, kRate)});
    EXPECT_EQ(s.complaints(), "");
    EXPECT_NEAR(s.stream<float>(x).back(), value, 1e-6) << keys;
  }
}

TEST(QuadratureDemod, RefusesADeviationThatCannotBe) {
  const auto complaints = [](const char* keys, double rate) {
    return StageUnderTest(entry(), keys, {stream_of(Element::cf32, 1, rate)}).complaints();
  };
  EXPECT_THAT(complaints("{deviation: 75 kHz}", 0), HasSubstr("deviation: needs the sample rate"));
  EXPECT_THAT(complaints("{deviation: 75 kHz}", 1), HasSubstr("at most half the rate, 0.5 Hz"));
  EXPECT_THAT(complaints("{deviation: 0}", 1e6), HasSubstr("has to be above 0"));
  EXPECT_THAT(complaints("{deviation: -5 kHz}", 1e6), HasSubstr("has to be above 0"));
  EXPECT_THAT(complaints("{deviation: .nan}", 1e6), HasSubstr("deviation"));
}

TEST(QuadratureDemod, HowTheStreamIsCutDoesNotMatter) {
  StageUnderTest s(entry(), "{gain: 3}", {stream_of(Element::cf32, 2)});
  EXPECT_EQ(s.footprint().past, 1);
  const auto x = complex_noise(4000);
  const auto whole = s.stream<float>(x);
  EXPECT_TRUE(same_bits(s.stream<float>(x, {1, 2, 3, 16, 17, 77}), whole));
  EXPECT_TRUE(same_bits(s.stream<float>(x, {1}), whole));
  EXPECT_EQ(whole[0], 0);
  EXPECT_EQ(whole[2000], 0);  // the second row's first
}

TEST(QuadratureDemod, EdgeValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  StageUnderTest s(entry(), "{}", {stream_of(Element::cf32)});
  const std::vector<cf32> x{{nan, 1}, {1, 0}, {0, 0},   {-0.0f, 0}, {0, 0}, {1, 0},
                            {-1, 0},  {1, 0}, {1, nan}, {2, 0},     {2, 0}};
  const auto y = s.stream<float>(x);
  EXPECT_EQ(y[0], 0);  // no previous sample
  for (const std::size_t n : {1, 8, 9}) EXPECT_TRUE(std::isnan(y[n])) << n;
  for (const std::size_t n : {2, 3, 4, 5, 10}) EXPECT_EQ(y[n], 0) << n;
  for (const std::size_t n : {6, 7}) EXPECT_FLOAT_EQ(std::fabs(y[n]), std::numbers::pi_v<float>) << n;
  EXPECT_TRUE(s.stream<float>(std::vector<cf32>()).empty());
}

}  // namespace
}  // namespace iqd::quadrature_demod
