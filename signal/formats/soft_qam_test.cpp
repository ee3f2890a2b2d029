// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/soft_qam.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

namespace iqd::qam {
namespace {

/// By the probabilities of all points.
SoftSymbol by_definition(int bits, const std::vector<float>& llr) {
  const int half = bits / 2;
  const double unit = 1 / std::sqrt(static_cast<double>(power(half)));
  std::complex<double> mean = 0;
  double square = 0;
  for (unsigned re = 0; re < 1u << half; ++re)
    for (unsigned im = 0; im < 1u << half; ++im) {
      double p = 1;
      for (int b = 0; b < half; ++b)
        for (const int axis : {0, 1}) {
          const bool one = ((axis == 0 ? re : im) >> (half - 1 - b) & 1) != 0;
          const double l = llr[static_cast<std::size_t>(2 * b + axis)];
          p /= 1 + std::exp(one ? l : -l);
        }
      const std::complex<double> point(unit * amplitude(half, re), unit * amplitude(half, im));
      mean += p * point;
      square += p * std::norm(point);
    }
  return {static_cast<float>(mean.real()), static_cast<float>(mean.imag()),
          static_cast<float>(square - std::norm(mean))};
}

TEST(SoftQam, IsTheMeanOverAllPoints) {
  std::mt19937 engine(1);
  for (const int bits : {2, 4, 6, 8})
    for (const float strength : {0.1f, 1.0f, 5.0f, 15.0f}) {
      std::normal_distribution<float> normal(0, strength);
      std::vector<float> llr;
      for (int b = 0; b < bits; ++b) llr.push_back(normal(engine));
      const SoftSymbol got = soft_symbol(bits, llr.data()), want = by_definition(bits, llr);
      EXPECT_NEAR(got.re, want.re, 2e-6) << bits << ' ' << strength;
      EXPECT_NEAR(got.im, want.im, 2e-6) << bits << ' ' << strength;
      EXPECT_NEAR(got.variance, want.variance, 4e-6) << bits << ' ' << strength;
    }
}

TEST(SoftQam, NothingKnownAndAllKnown) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  const std::vector<float> nothing{0, nan, 0, nan}, all{infinite, -infinite, infinite, -infinite};
  const SoftSymbol any = soft_symbol(4, nothing.data()), sure = soft_symbol(4, all.data());
  EXPECT_EQ(any.re, 0);
  EXPECT_EQ(any.im, 0);
  EXPECT_NEAR(any.variance, 1, 1e-6);
  EXPECT_NEAR(sure.re, 1 / std::sqrt(10.0), 1e-6);
  EXPECT_NEAR(sure.im, -3 / std::sqrt(10.0), 1e-6);
  EXPECT_NEAR(sure.variance, 0, 1e-6);
}

}  // namespace
}  // namespace iqd::qam
