// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/toeplitz.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <memory>
#include <random>

namespace iqd::equalizer {
namespace {

using Complex = std::complex<double>;

/// The residual g - T c relative to g, in double precision.
struct Problem {
  std::array<Complex, kBand> t{};
  std::array<cf32, kRows> g{};
  std::array<cf32, kRows> c{};

  void solve() {
    const auto factor = std::make_unique<ToeplitzFactor>();
    solve_toeplitz(t, g, *factor, c);
  }
  double residual() const {
    double left = 0;
    double all = 0;
    for (std::int64_t i = 0; i < kRows; ++i) {
      Complex sum = g[i];
      for (std::int64_t j = std::max<std::int64_t>(0, i - kBand + 1); j < std::min(kRows, i + kBand); ++j)
        sum -= (i >= j ? t[i - j] : std::conj(t[j - i])) * Complex(c[j]);
      left += std::norm(sum);
      all += std::norm(Complex(g[i]));
    }
    return std::sqrt(left / all);
  }
};

/// The autocorrelation of noise, with a load on its diagonal.
Problem noisy(double load, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::array<Complex, kBand> h;
  for (Complex& v : h) v = {normal(engine), normal(engine)};
  Problem problem;
  for (std::int64_t k = 0; k < kBand; ++k)
    for (std::int64_t n = k; n < kBand; ++n) problem.t[k] += h[n] * std::conj(h[n - k]);
  problem.t[0] *= 1 + load;
  for (cf32& v : problem.g) v = cf32(Complex(normal(engine), normal(engine)));
  return problem;
}

TEST(Toeplitz, TheIdentityGivesWhatItGets) {
  Problem p = noisy(0, 1);
  p.t = {};
  p.t[0] = 4;
  p.solve();
  for (std::size_t i = 0; i < kRows; ++i) EXPECT_EQ(p.c[i], p.g[i] / 4.0f);
}

TEST(Toeplitz, SolvesBandsOfAnyCondition) {
  for (unsigned seed = 1; seed < 10; ++seed)
    for (const double load : {1.0, 1e-3, 1e-6}) {
      Problem p = noisy(load, seed);
      p.solve();
      EXPECT_LT(p.residual(), 2e-6 / std::sqrt(load)) << load << ' ' << seed;
    }
}

}  // namespace
}  // namespace iqd::equalizer
