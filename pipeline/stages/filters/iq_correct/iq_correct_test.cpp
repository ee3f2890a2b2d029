// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/filters/iq_correct/iq_correct.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numbers>

#include "tests/support/psk_signal.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::iq_correct {
namespace {

using testing::complex_noise;
using ::testing::HasSubstr;
using testing::run_stage;
using testing::same_bits;
using testing::StageOutputs;

using Samples = std::vector<cf32>;
using cf64 = std::complex<double>;

/// What a receiver hears whose Q is weaker by `gain_db` and late by `phase_deg`, with DC.
Samples heard(const Samples& x, double gain_db, double phase_deg, cf64 dc) {
  const double g = std::pow(10, -gain_db / 20), phase = phase_deg * std::numbers::pi / 180;
  Samples y;
  for (const cf32 v : x) {
    const cf64 u(v);
    y.emplace_back(cf64(u.real(), g * (u.imag() * std::cos(phase) - u.real() * std::sin(phase))) + dc);
  }
  return y;
}

Samples tone(std::int64_t samples, double frequency) {
  Samples x;
  for (std::int64_t n = 0; n < samples; ++n)
    x.emplace_back(std::polar(0.5, 2 * std::numbers::pi * frequency * static_cast<double>(n)));
  return x;
}

/// y = a x + b conj(x) + c by least squares: |b / a| and |c / a| in decibels.
struct Fault {
  double image_db, dc_db;
};
Fault fault_of(const Samples& x, const Samples& y, std::size_t from) {
  cf64 sum_x = 0, sum_xx = 0, sum_y = 0, sum_yx = 0, sum_yc = 0;
  double power = 0;
  for (std::size_t n = from; n < x.size(); ++n) {
    const cf64 u(x[n]), v(y[n]);
    sum_x += u, sum_xx += u * u, power += std::norm(u);
    sum_y += v, sum_yx += v * std::conj(u), sum_yc += v * u;
  }
  const double count = static_cast<double>(x.size() - from);
  // Without the means, two equations remain.
  const cf64 m = sum_x / count, k = sum_y / count;
  const cf64 p = power - count * std::norm(m), s = sum_xx - count * m * m;
  const cf64 yx = sum_yx - count * k * std::conj(m), yc = sum_yc - count * k * m;
  const cf64 determinant = p * p - s * std::conj(s);
  const cf64 a = (yx * p - yc * std::conj(s)) / determinant, b = (yc * p - yx * s) / determinant;
  const cf64 c = k - a * m - b * std::conj(m);
  return {20 * std::log10(std::abs(b / a)), 20 * std::log10(std::abs(c / a))};
}

TEST(IqCorrect, TakesOutDcAndTheImage) {
  const Samples x = complex_noise(184'320);
  const Samples y = heard(x, 1, 5, {0.08, -0.05});
  const Fault before = fault_of(x, y, 0);
  EXPECT_NEAR(before.image_db, -22.8, 0.2);
  const StageOutputs out = run_stage(entry(), "{}", y, 4000);
  const Fault after = fault_of(x, out.of<cf32>("out"), 100'000);
  EXPECT_LT(after.image_db, -46);
  EXPECT_LT(after.dc_db, -46);
  const auto levels = out.of<float>("levels");
  ASSERT_GE(levels.size(), kLevels.size());
  const float* const last = &levels[levels.size() - kLevels.size()];
  EXPECT_NEAR(last[0], 20 * std::log10(std::hypot(0.08, 0.05)), 0.5);
  EXPECT_NEAR(last[1], -22.8, 0.3);
  EXPECT_NEAR(last[2], 1, 0.1);
  EXPECT_NEAR(last[3], -5, 0.5);
}

/// The definition in double precision, chunk by chunk.
std::vector<cf64> reference(const Samples& x, double keeps) {
  std::vector<cf64> y;
  cf64 mean = 0, image = 0, sum = 0, square = 0;
  double count = 0, power = 0;
  for (std::size_t begin = 0; begin < x.size(); begin += kChunk) {
    sum *= keeps, square *= keeps, count *= keeps, power *= keeps;
    for (std::size_t n = begin; n < std::min(x.size(), begin + kChunk); ++n) {
      const cf64 u(x[n]), z = u - mean;
      y.push_back(z - image * std::conj(z));
      sum += u, square += u * u, count += 1, power += std::norm(u);
    }
    mean = sum / count;
    const cf64 s = square / count - mean * mean;
    const double p = power / count - std::norm(mean);
    image = s / (p + std::sqrt(p * p - std::norm(s)));
  }
  return y;
}

TEST(IqCorrect, IsTheDefinition) {
  const Samples x = heard(complex_noise(50'000), -0.7, 3, {-0.02, 0.3});
  for (const double period : {0.001, 0.1}) {
    const auto y = run_stage(entry(), fmt::format("{{period: {}}}", period), x).of<cf32>("out");
    const auto expected = reference(x, std::exp(-static_cast<double>(kChunk) / (period * 1e6)));
    ASSERT_EQ(y.size(), expected.size());
    for (std::size_t n = 0; n < y.size(); ++n)
      ASSERT_LT(std::abs(cf64(y[n]) - expected[n]), 2e-7) << period << " " << n;
  }
}

TEST(IqCorrect, HowTheStreamIsCutDoesNotMatter) {
  const Samples x = heard(complex_noise(12'000), 1, 5, {0.1, 0});
  const Samples whole = run_stage(entry(), "{}", x, 0, 2).of<cf32>("out");
  for (const std::int64_t block : {7, 100, 1000, 1024, 2049})
    EXPECT_TRUE(same_bits(run_stage(entry(), "{}", x, block, 2).of<cf32>("out"), whole)) << block;
}

TEST(IqCorrect, ABlockMayBeCorrectedByItself) {
  const Samples x = complex_noise(7680), y = heard(x, 1, 5, {0.08, -0.05});
  const StageOutputs out = run_stage(entry(), "{period: 0}", y);
  const Fault after = fault_of(x, out.of<cf32>("out"), 0);
  EXPECT_LT(after.image_db, -34);
  EXPECT_LT(after.dc_db, -34);
}

TEST(IqCorrect, ALineThatHasNotTurnedLeavesTheImageAsItWas) {
  Samples line;
  for (const float v : testing::real_noise(60'000)) line.emplace_back(v, 0.5F * v);
  for (const auto& [x, what] :
       {std::pair{line, "real"}, {tone(100'000, 70e-6), "14 turns"}, {tone(30'000, 3e-6), "less than one"}})
    EXPECT_EQ(run_stage(entry(), "{period: 0.1}", x).of<float>("levels")[1], -300) << what;
  for (const double frequency : {150e-6, 2e-3}) {
    const Samples x = tone(300'000, frequency);
    const Samples y = run_stage(entry(), "{period: 0.1}", heard(x, 1, 5, 0)).of<cf32>("out");
    EXPECT_LT(fault_of(x, y, 250'000).image_db, -34) << frequency;
  }
}

TEST(IqCorrect, WhatIsNotFiniteStaysInItsSample) {
  Samples x = heard(complex_noise(5000), 1, 5, 0);
  x[100] = {std::numeric_limits<float>::quiet_NaN(), 0};
  x[2100] = {0, std::numeric_limits<float>::infinity()};
  const auto y = run_stage(entry(), "{}", x).of<cf32>("out");
  for (std::size_t n = 0; n < y.size(); ++n)
    ASSERT_EQ(std::isfinite(y[n].real()) && std::isfinite(y[n].imag()), n != 100 && n != 2100) << n;
}

TEST(IqCorrect, SilenceStaysSilentAndDcBecomesSilence) {
  EXPECT_THAT(run_stage(entry(), "{}", Samples(4000)).of<cf32>("out"), ::testing::Each(cf32(0)));
  const auto y = run_stage(entry(), "{}", Samples(4000, cf32(0.3F, -0.1F))).of<cf32>("out");
  EXPECT_EQ(y[0], cf32(0.3F, -0.1F));
  for (std::size_t n = kChunk; n < y.size(); ++n) ASSERT_LT(std::abs(y[n]), 1e-7);
}

TEST(IqCorrect, AWideImageIsTakenForALine) {
  const auto image_of = [](float strength) {
    Samples y;
    for (const cf32 v : complex_noise(100'000)) y.push_back(v + strength * std::conj(v));
    return run_stage(entry(), "{}", y).of<float>("levels")[1];
  };
  EXPECT_NEAR(image_of(0.25F), -12, 0.2);
  EXPECT_EQ(image_of(0.5F), -300);
}

TEST(IqCorrect, SaysWhatIsMissing) {
  EXPECT_THAT(testing::StageUnderTest(entry(), "{}", {testing::stream_of(Element::cf32, 1, 0)}).complaints(),
              HasSubstr("period: needs the sample rate"));
}

}  // namespace
}  // namespace iqd::iq_correct
