// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/sample_level.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace iqd {
namespace {

double real_of(sc16 v) {
  return v.re;
}
double imag_of(sc16 v) {
  return v.im;
}
double real_of(cf32 v) {
  return v.real();
}
double imag_of(cf32 v) {
  return v.imag();
}

/// The definition, sample by sample.
template <class T> SampleLevel level_of(const std::vector<T>& x, double clip) {
  SampleLevel level;
  for (const T& v : x) {
    const double re = std::fabs(real_of(v)), im = std::fabs(imag_of(v));
    level.square_sum += re * re + im * im;
    level.peak = std::max({level.peak, re, im});
    level.clipped += re >= clip || im >= clip;
  }
  level.samples = std::ssize(x);
  return level;
}

void expect_same(const SampleLevel& is, const SampleLevel& should, double tolerance) {
  EXPECT_NEAR(is.square_sum, should.square_sum, tolerance * should.square_sum);
  EXPECT_EQ(is.peak, should.peak);
  EXPECT_EQ(is.clipped, should.clipped);
  EXPECT_EQ(is.samples, should.samples);
}

TEST(SampleLevel, OfWholeNumbersIsExact) {
  std::mt19937 random(1);
  for (const std::size_t n : {0u, 1u, 3u, 7u, 8u, 15u, 16u, 17u, 33u, 1000u, 65536u}) {
    // About every ninth sample is at one end, some at both.
    std::uniform_int_distribution<int> any(-36000, 36000);
    std::vector<sc16> x(n);
    for (sc16& v : x)
      v = {static_cast<std::int16_t>(std::clamp(any(random), -32768, 32767)),
           static_cast<std::int16_t>(std::clamp(any(random), -32768, 32767))};
    SampleLevel level;
    add_level(x, 32768, level);
    expect_same(level, level_of(x, 32767), 0);
  }
}

TEST(SampleLevel, TheEndsOfTheScale) {
  const auto clipped = [](sc16 v, int full_scale) {
    SampleLevel level;
    add_level(std::vector<sc16>(64, v), full_scale, level);
    EXPECT_EQ(level.square_sum, 64 * (real_of(v) * real_of(v) + imag_of(v) * imag_of(v)));
    return level.clipped;
  };
  EXPECT_EQ(clipped({-32768, -32768}, 32768), 64) << "their squares are 2^31 together";
  EXPECT_EQ(clipped({32767, 0}, 32768), 64);
  EXPECT_EQ(clipped({0, -32767}, 32768), 64);
  EXPECT_EQ(clipped({32766, -32766}, 32768), 0);
  EXPECT_EQ(clipped({2047, 0}, 2048), 64);
  EXPECT_EQ(clipped({0, -2048}, 2048), 64);
  EXPECT_EQ(clipped({2046, -2046}, 2048), 0);
}

TEST(SampleLevel, OfFloats) {
  std::mt19937 random(2);
  std::normal_distribution<float> any(0, 0.5F);
  for (const std::size_t n : {0u, 1u, 2u, 3u, 4u, 5u, 63u, 64u, 1023u, 1024u, 100'001u}) {
    std::vector<cf32> x(n);
    for (cf32& v : x) v = {any(random), any(random)};
    SampleLevel level;
    add_level(x, 1, level);
    expect_same(level, level_of(x, 1), 1e-5);
  }
}

TEST(SampleLevel, WhatIsNoNumberIsNothingAndNotClipped) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<cf32> x(100, cf32{0.5F, 0});
  for (const std::size_t at : {0u, 50u, 99u}) x[at] = {kNan, 0.5F};
  x[1] = {0.5F, kInf};
  x[2] = {-kInf, kNan};
  x[3] = {1e30F, 0};
  x[4] = {0, -1};
  x[5] = {kNan, 2};
  for (const auto& [full_scale, clipped] : {std::pair{1.0F, 3}, {kInf, 0}}) {
    SampleLevel level;
    add_level(x, full_scale, level);
    EXPECT_EQ(level.clipped, clipped) << "the large ones, if there is a scale";
    EXPECT_EQ(level.peak, 2);
    EXPECT_NEAR(level.square_sum, 92 * 0.25 + 4 * 0.25 + 1 + 4, 1e-5);
  }
}

}  // namespace
}  // namespace iqd
