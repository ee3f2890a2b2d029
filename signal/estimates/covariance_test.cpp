// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/estimates/covariance.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

namespace iqd {
namespace {

using Complex = std::complex<double>;

/// The mean of x x^H over `count` vectors of white noise, and of a direction with this amplitude.
Covariance sampled(int order, int count, double direction, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0, std::sqrt(0.5));
  Covariance s;
  for (int n = 0; n < count; ++n) {
    double re[kMostCovariance], im[kMostCovariance];
    const double own = normal(engine), other = normal(engine);
    for (int i = 0; i < order; ++i)
      re[i] = normal(engine) + direction * own, im[i] = normal(engine) + direction * other;
    s.add(re, im, order);
  }
  s.scale(1.0 / count, order);
  return s;
}
Complex element(const Covariance& s, int i, int j) {
  return i >= j ? Complex(s.re[i][j], s.im[i][j]) : Complex(s.re[j][i], -s.im[j][i]);
}

TEST(CovarianceRoot, WhitensAndColours) {
  for (int order = 1; order <= kMostCovariance; ++order) {
    const Covariance s = sampled(order, 50, 3);
    Covariance root = s;
    take_root(root, order);
    Covariance inverse = root;
    invert_root(inverse, order);
    const Covariance white = colour(inverse, s, order);
    Covariance unit;
    for (int i = 0; i < order; ++i) unit.re[i][i] = 1;
    const Covariance back = colour(root, unit, order);
    for (int i = 0; i < order; ++i)
      for (int j = 0; j <= i; ++j) {
        EXPECT_NEAR(std::abs(element(white, i, j) - Complex(i == j)), 0, 1e-10) << order;
        EXPECT_NEAR(std::abs(element(back, i, j) - element(s, i, j)), 0, 1e-12) << order;
      }
  }
}

TEST(CovarianceRoot, ASilentAntennaStaysSilent) {
  Covariance s = sampled(3, 50, 1);
  for (int i = 0; i < 3; ++i) s.re[1][i] = s.im[1][i] = s.re[i][1] = s.im[i][1] = 0;
  take_root(s, 3);
  invert_root(s, 3);
  EXPECT_EQ(element(s, 1, 0), Complex());
  EXPECT_EQ(element(s, 1, 1), Complex());
  EXPECT_EQ(element(s, 2, 1), Complex());
  EXPECT_GT(s.re[2][2], 0);
}

TEST(CommonPower, IsWhatTheOtherAntennasShow) {
  const auto of = [](const Covariance& s, int order) {
    Covariance inverse = s;
    take_root(inverse, order);
    invert_root(inverse, order);
    return common_power(s, inverse, order);
  };
  Covariance two;
  two.re[0][0] = 2, two.re[1][1] = 5, two.re[1][0] = 0.6, two.im[1][0] = -0.8;
  EXPECT_NEAR(of(two, 2), 1 / (1 - 0.1), 1e-12) << "|0.6 - 0.8j|^2 / (2 · 5) of an antenna is in the other, too";
  Covariance apart;
  apart.re[0][0] = 7, apart.re[2][2] = 1e-9;
  EXPECT_NEAR(of(apart, 3), 1, 1e-12) << "the middle one is silent";
  EXPECT_EQ(of({}, 2), 1);
  // One interferer of 10 in unit noise: of eight antennas seven show it, and 1 + 10 / (1 + 7 · 10) is left.
  Covariance many;
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j <= i; ++j) many.re[i][j] = 10 + (i == j);
  EXPECT_NEAR(of(many, 8), 11 / (1 + 10.0 / 71), 1e-9);
}

TEST(CovarianceShrink, LeavesNoDirectionInWhiteNoiseAndKeepsOneThatIsThere) {
  double strays = 0, stays = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Covariance white = sampled(4, 35, 0, seed), coloured = sampled(4, 35, 10, seed);
    const double before = std::abs(element(coloured, 3, 0)), trace = white.trace(4);
    shrink(white, 35, 4, 4);
    shrink(coloured, 35, 4, 4);
    EXPECT_NEAR(white.trace(4), trace, 1e-12);
    strays += std::abs(element(white, 3, 0)) / 20;
    stays += std::abs(element(coloured, 3, 0)) / before / 20;
  }
  EXPECT_LT(strays, 0.06) << "35 samples stray by 0.17";
  EXPECT_GT(stays, 0.95);
}

TEST(CovarianceShrink, AnAntennaWithoutPowerDoesNotCount) {
  Covariance s, two;
  s.re[0][0] = two.re[0][0] = 3, s.re[2][2] = two.re[1][1] = 1, s.re[2][0] = two.re[1][0] = 0.5;
  shrink(s, 4, 3, 2);
  shrink(two, 4, 2, 2);
  EXPECT_EQ(s.re[0][0], two.re[0][0]);
  EXPECT_EQ(s.re[2][0], two.re[1][0]);
  EXPECT_EQ(s.re[1][1], 0);
}

}  // namespace
}  // namespace iqd
