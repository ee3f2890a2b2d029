// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "pipeline/stages/math/elementwise/elementwise_cases.hpp"

namespace iqd::elementwise {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(ElementwiseEdges, MagnitudesAtTheEdges) {
  const std::vector<cf32> x{{0, 0}, {-0.0f, 3}, {3, -4}, {kInf, 1}, {kNan, 1}, {1e18f, 1e18f}, {3e38f, 0}, {1e-30f, 0}};
  const auto magnitude = applied<float>(op::complex_to_mag{}, x);
  EXPECT_EQ(magnitude[0], 0);
  EXPECT_EQ(magnitude[1], 3);
  EXPECT_EQ(magnitude[2], 5);
  EXPECT_EQ(magnitude[3], kInf);
  EXPECT_TRUE(std::isnan(magnitude[4]));
  EXPECT_FLOAT_EQ(magnitude[5], 1.41421356e18f);
  EXPECT_EQ(magnitude[6], kInf);  // its square is too large
  EXPECT_EQ(magnitude[7], 0);     // its square is too small
  const auto y = applied<cf32>(op::conjugate{}, x);
  EXPECT_TRUE(std::signbit(y[0].imag()));
  EXPECT_TRUE(std::signbit(y[1].real()));
  EXPECT_EQ(y[3], cf32(kInf, -1));
}

/// Every pair of these values, including zeros of both signs.
TEST(ElementwiseEdges, AnglesAtTheEdgesAreThoseOfAtan2) {
  const std::vector<float> values{0.0f, -0.0f, 1, -1, 1e-45f, -1e-45f, 3e38f, -3e38f, kInf, -kInf, kNan};
  std::vector<cf32> x;
  for (const float re : values)
    for (const float im : values) x.emplace_back(re, im);
  const auto angle = applied<float>(op::complex_to_arg{}, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float expected = x[i] == cf32(0, 0) ? x[i].imag() : std::atan2(x[i].imag(), x[i].real());
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(angle[i])) << x[i];
    } else {
      EXPECT_NEAR(angle[i], expected, 4e-7) << x[i];
      EXPECT_EQ(std::signbit(angle[i]), std::signbit(expected)) << x[i];
    }
  }
}

TEST(ElementwiseEdges, AnglesOfNumbersOfAllSizes) {
  std::mt19937 engine(5);
  std::uniform_real_distribution<float> exponent(-37, 37), near(-2, 2);
  std::vector<cf32> x;
  for (int i = 0; i < 100000; ++i) {
    const float re = std::pow(10.0f, exponent(engine));
    x.emplace_back(i % 2 ? re : -re, i % 3 ? re * near(engine) : std::pow(10.0f, exponent(engine)));
  }
  const auto angle = applied<float>(op::complex_to_arg{}, x);
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(static_cast<double>(angle[i]), std::arg(Wide(x[i])), 4e-7) << x[i];
}

TEST(ElementwiseEdges, LogarithmsOfNumbersOfAllSizes) {
  std::vector<float> x;
  for (double v = 1e-18; v < 3.4e38; v *= 1.003) x.push_back(static_cast<float>(v));
  for (float v = 0.5f; v < 2; v += 1e-4f) x.push_back(v);
  const auto y = applied<float>(op::log10{{1, 0}}, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::log10(std::max(static_cast<double>(x[i]), static_cast<double>(1e-18f)));
    ASSERT_NEAR(static_cast<double>(y[i]), exact, 1e-7 + 6e-8 * std::fabs(exact)) << x[i];
  }
  EXPECT_EQ(applied<float>(op::log10{{1, 0}}, std::vector<float>{1, 10, 100}), (std::vector<float>{0, 1, 2}));
}

TEST(ElementwiseEdges, LogarithmsAtTheEdges) {
  const std::vector<float> a{0, -0.0f, -5, kNan, kInf, -kInf, 1e-40f, 1, 0, 5, kInf};
  const std::vector<float> b{1, 1, 1, 1, 1, 1, 1, 0, 0, kNan, kInf};
  const auto y = applied<float>(op::log10{{10, 1}}, a);
  for (const std::size_t clamped : {0, 1, 2, 3, 5, 6}) EXPECT_FLOAT_EQ(y[clamped], -179) << a[clamped];
  EXPECT_EQ(y[4], kInf);
  const auto snr = applied<float>(op::snr_helper{{10, 1}}, std::vector{a, b});
  for (const std::size_t clamped : {0, 1, 2, 3, 5, 6, 8, 9, 10}) EXPECT_FLOAT_EQ(snr[clamped], 179) << clamped;
  EXPECT_EQ(snr[4], kInf);
  EXPECT_EQ(snr[7], kInf);  // positive / 0
}

TEST(ElementwiseEdges, AnyAngleBecomesANumber) {
  std::vector<float> angle{0, -0.0f, 3.14159274f, -3.14159274f, 1e30f, -3e38f, kInf, kNan};
  for (float a = 1e-6f; a < 1e9f; a *= 1.01f) angle.insert(angle.end(), {a, -a});
  const auto y = applied<cf32>(op::mag_phase_to_complex{}, std::vector{std::vector<float>(angle.size(), 2), angle});
  for (std::size_t i = 8; i < angle.size(); ++i)
    ASSERT_LE(std::abs(Wide(y[i]) - std::polar(2.0, static_cast<double>(angle[i]))), 8e-7) << angle[i];
  EXPECT_EQ(y[0], cf32(2, 0));
  EXPECT_EQ(y[2].real(), -2);
  EXPECT_NEAR(std::abs(y[4]), 2, 1e-6);
  EXPECT_NEAR(std::abs(y[5]), 2, 1e-6);
  EXPECT_TRUE(std::isnan(y[6].real()) && std::isnan(y[7].imag()));
}

}  // namespace
}  // namespace iqd::elementwise
