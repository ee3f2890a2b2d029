// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/transmit/aph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace iqd {
namespace {

using Complex = std::complex<double>;

double factorial(int n) {
  return n <= 1 ? 1 : n * factorial(n - 1);
}

/// psi_{2k+1}(x) by definition.
Complex psi(int k, Complex x, double power) {
  Complex sum = 0;
  for (int l = 0; l <= k; ++l) {
    const double binomial = factorial(k) / factorial(l) / factorial(k - l);
    sum += std::pow(-1.0, k - l) * std::sqrt(k + 1.0) / factorial(l + 1) * binomial * std::pow(std::abs(x), 2 * l) * x *
           std::pow(power, -(l + 0.5));
  }
  return sum;
}
Complex monomial(int k, Complex x) {
  return std::pow(std::abs(x), 2 * k) * x;
}

/// z for the newest of taps + 1 samples, term by term; `basis(k, x)` is psi_{2k+1}(x).
template <class Basis>
Complex definition(const AphOrders& o, const std::vector<Complex>& h, const std::vector<Complex>& x, Basis basis) {
  Complex z = h.back();
  std::size_t at = 0;
  for (int b = 0; b < o.main_branches(); ++b)
    for (int k = 0; k < o.taps; ++k) z += h[at++] * basis(b, x[static_cast<std::size_t>(k)]);
  for (int b = 0; b < o.conjugate_branches(); ++b)
    for (int k = 0; k < o.taps; ++k) z += h[at++] * std::conj(basis(b, x[static_cast<std::size_t>(k)]));
  return z;
}

std::vector<Complex> noise(int n, double deviation, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> part(0, deviation * std::sqrt(0.5));
  std::vector<Complex> x(static_cast<std::size_t>(n));
  for (Complex& v : x) v = {part(engine), part(engine)};
  return x;
}

TEST(Aph, CountsCoefficients) {
  EXPECT_EQ(AphOrders{}.coefficients(), 26);
  EXPECT_EQ((AphOrders{.main = 1, .conjugate = 0, .taps = 1}.coefficients()), 2);
  EXPECT_EQ((AphOrders{.main = 9, .conjugate = 7, .taps = 16}.coefficients()), AphOrders::kMostCoefficients);
  const AphOrders o;
  EXPECT_EQ(o.main_at(2, 4) + 1, o.conjugate_at(0, 0));
  EXPECT_EQ(o.conjugate_at(1, 4) + 1, o.constant_at());
}

TEST(Aph, TellsOrdersThatCannotBe) {
  EXPECT_EQ(AphOrders{}.fault(), "");
  EXPECT_EQ((AphOrders{.main = 9, .conjugate = 0, .taps = 16}.fault()), "");
  for (const int main : {-1, 0, 2, 11})
    EXPECT_NE((AphOrders{.main = main}.fault()).find("main order"), std::string::npos) << main;
  for (const int conjugate : {-1, 2, 9})
    EXPECT_NE((AphOrders{.conjugate = conjugate}.fault()).find("conjugate order"), std::string::npos) << conjugate;
  for (const int taps : {0, 17}) EXPECT_NE((AphOrders{.taps = taps}.fault()).find("taps"), std::string::npos) << taps;
}

TEST(Aph, OrthogonalIsOrthonormal) {
  // E|x|^2m = m! P^m, so E psi_{2i+1} psi*_{2j+1} is a sum over the products of their terms.
  for (const double power : {1.0, 0.0729, 40.0})
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 5; ++j) {
        const auto a = aph_orthogonal(i, power);
        const auto b = aph_orthogonal(j, power);
        double mean = 0;
        for (std::size_t l = 0; l < 5; ++l)
          for (std::size_t m = 0; m < 5; ++m) {
            const int order = static_cast<int>(l + m) + 1;
            mean += a[l] * b[m] * factorial(order) * std::pow(power, order);
          }
        EXPECT_NEAR(mean, i == j ? 1 : 0, 1e-11) << i << " " << j << " " << power;
      }
}

TEST(Aph, MonomialCoefficientsGiveWhatOrthogonalOnesGive) {
  for (const AphOrders o :
       {AphOrders{}, AphOrders{.main = 9, .conjugate = 7, .taps = 3}, AphOrders{.main = 3, .conjugate = 0, .taps = 16}})
    for (const double power : {1.0, 0.0729}) {
      const auto h = noise(o.coefficients(), 1, 1);
      const auto folded = to_monomial(o, h, power);
      double error = 0;
      double size = 0;
      for (unsigned trial = 0; trial < 200; ++trial) {
        const auto x = noise(o.taps, std::sqrt(power), 2 + trial);
        const Complex z = definition(o, h, x, [&](int k, Complex v) { return psi(k, v, power); });
        error = std::max(error, std::abs(definition(o, folded, x, monomial) - z));
        size = std::max(size, std::abs(z));
      }
      // The terms of the higher polynomials cancel: psi9 is a tenth of its largest.
      EXPECT_LT(error, (o.main <= 5 ? 2e-15 : 1e-14) * size) << o.main << " " << o.conjugate << " " << power;
    }
}

TEST(Aph, IdentityLetsThrough) {
  const AphOrders o;
  const auto x = noise(o.taps, 1, 5);
  EXPECT_EQ(definition(o, aph_identity(o), x, monomial), x[0]);
}

}  // namespace
}  // namespace iqd
