// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/sync/agc/agc.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/stage_under_test.hpp"

namespace iqd::agc {
namespace {

using testing::complex_noise;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

/// The definition, in double precision.
std::vector<cf32> reference(const std::vector<cf32>& x, double target, std::int64_t window, std::int64_t ahead,
                            double max_gain_db) {
  std::vector<cf32> y;
  for (std::int64_t n = 0; n < std::ssize(x); ++n) {
    double energy = 0, samples = 0;
    for (std::int64_t k = std::max<std::int64_t>(0, n + ahead - window + 1);
         k <= std::min(n + ahead, std::ssize(x) - 1); ++k)
      energy += std::norm(std::complex<double>(x[static_cast<std::size_t>(k)])), samples += 1;
    const double gain = std::min(target / std::sqrt(energy / samples), std::pow(10, max_gain_db / 20));
    y.emplace_back(std::complex<double>(x[static_cast<std::size_t>(n)]) * gain);
  }
  return y;
}

TEST(Agc, IsTheDefinition) {
  auto x = complex_noise(3000);
  for (std::size_t n = 1000; n < 2000; ++n) x[n] *= 1e-4f;  // a fade
  for (const auto& [window, ahead] :
       {std::pair<std::int64_t, std::int64_t>{1, 0}, {2, 1}, {100, 0}, {100, 50}, {256, 255}, {5000, 0}}) {
    StageUnderTest s(entry(), fmt::format("{{target: 0.5, window: {}, ahead: {}, max_gain: 70}}", window, ahead),
                     {stream_of(Element::cf32)});
    const auto y = s.stream<cf32>(x, {700});
    const auto expected = reference(x, 0.5, window, ahead, 70);
    ASSERT_EQ(y.size(), expected.size());
    for (std::size_t n = 0; n < y.size(); ++n)
      ASSERT_LE(std::abs(y[n] - expected[n]), 1e-6f * (1e-3f + std::abs(expected[n])))
          << window << " " << ahead << " " << n;
  }
}

TEST(Agc, BringsAnyLevelToTheTarget) {
  for (const float level : {1e-6f, 1.0f, 1e6f}) {
    auto x = complex_noise(5000);
    for (cf32& v : x) v *= level;
    StageUnderTest s(entry(), "{target: 0.25, window: 1000, max_gain: 200}", {stream_of(Element::cf32)});
    double power = 0;
    for (const cf32 y : s.stream<cf32>(x)) power += std::norm(std::complex<double>(y)) / 5000;
    EXPECT_NEAR(std::sqrt(power), 0.25, 0.01) << level;
  }
}

TEST(Agc, AConstantIsAtTheTargetFromTheStart) {
  StageUnderTest s(entry(), "{window: 64}", {stream_of(Element::cf32)});
  for (const cf32 y : s.stream<cf32>(std::vector<cf32>(300, cf32(0, -0.01f)))) EXPECT_NEAR(y.imag(), -1, 1e-6f);
}

TEST(Agc, SilenceIsNotLiftedBeyondMaxGain) {
  StageUnderTest s(entry(), "{window: 16, max_gain: 20}", {stream_of(Element::cf32)});
  const auto y = s.stream<cf32>(std::vector<cf32>(100, cf32(1e-9f, 0)));
  for (const cf32 v : y) EXPECT_NEAR(v.real(), 1e-8f, 1e-14f);
  EXPECT_THAT(s.stream<cf32>(std::vector<cf32>(100)), ::testing::Each(cf32(0)));
}

TEST(Agc, HowTheStreamIsCutDoesNotMatter) {
  StageUnderTest s(entry(), "{window: 97, ahead: 13}", {stream_of(Element::cf32, 2)});
  const auto x = complex_noise(4000);
  const auto whole = s.stream<cf32>(x);
  EXPECT_TRUE(same_bits(s.stream<cf32>(x, {1, 2, 3, 96, 97, 98, 500}), whole));
  EXPECT_TRUE(same_bits(s.stream<cf32>(x, {1}), whole));
}

TEST(Agc, WhatIsNotFiniteStaysWhereItIs) {
  auto x = complex_noise(200);
  x[50] = {std::numeric_limits<float>::quiet_NaN(), 0};
  x[120] = {0, std::numeric_limits<float>::infinity()};
  StageUnderTest s(entry(), "{window: 20}", {stream_of(Element::cf32)});
  const auto y = s.stream<cf32>(x);
  for (std::size_t n = 0; n < y.size(); ++n)
    EXPECT_EQ(std::isfinite(y[n].real()) && std::isfinite(y[n].imag()), n != 50 && n != 120) << n;
}

TEST(Agc, RefusesWhatCannotBe) {
  const auto complaints = [](const char* keys) {
    return StageUnderTest(entry(), keys, {stream_of(Element::cf32)}).complaints();
  };
  EXPECT_THAT(complaints("{window: 10, ahead: 10}"),
              HasSubstr("ahead: is 10, but has to be less than the window of 10"));
  EXPECT_THAT(complaints("{target: 0}"), HasSubstr("target"));
  EXPECT_THAT(complaints("{window: 0}"), HasSubstr("window"));
}

}  // namespace
}  // namespace iqd::agc
