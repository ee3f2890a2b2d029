// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/filters/dc_block/dc_block.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tests/support/stage_under_test.hpp"

namespace iqd::dc_block {
namespace {

using testing::complex_noise;
using testing::real_noise;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

/// The definition, in double precision, with weights over the samples that exist.
template <class T, class Wide> std::vector<T> reference(const std::vector<T>& x, std::int64_t length) {
  std::vector<T> y;
  for (std::int64_t n = 0; n < std::ssize(x); ++n) {
    Wide sum = 0;
    double weights = 0;
    for (std::int64_t k = -length + 1; k < length; ++k) {
      if (n + k < 0 || n + k >= std::ssize(x)) continue;
      const auto weight = static_cast<double>(length - std::abs(k));
      sum += weight * Wide(x[static_cast<std::size_t>(n + k)]);
      weights += weight;
    }
    y.push_back(T(Wide(x[static_cast<std::size_t>(n)]) - sum / weights));
  }
  return y;
}

TEST(DcBlock, IsTheDefinition) {
  const auto x = complex_noise(1500);
  for (const std::int64_t length : {1, 2, 3, 64, 333, 2000}) {
    StageUnderTest s(entry(), fmt::format("{{length: {}}}", length), {stream_of(Element::cf32)});
    const auto y = s.stream<cf32>(x, {400}), expected = reference<cf32, std::complex<double>>(x, length);
    for (std::size_t n = 0; n < x.size(); ++n) ASSERT_LT(std::abs(y[n] - expected[n]), 1e-6f) << length << " " << n;
  }
}

TEST(DcBlock, TakesRealSamples) {
  const auto x = real_noise(1500);
  StageUnderTest s(entry(), "{length: 50}", {stream_of(Element::f32)});
  const auto y = s.stream<float>(x, {400}), expected = reference<float, double>(x, 50);
  for (std::size_t n = 0; n < x.size(); ++n) ASSERT_NEAR(y[n], expected[n], 1e-6f) << n;
}

TEST(DcBlock, AConstantBecomesNothing) {
  StageUnderTest s(entry(), "{length: 100}", {stream_of(Element::cf32)});
  for (const cf32 y : s.stream<cf32>(std::vector<cf32>(1000, cf32(3, -7)), {90})) EXPECT_LT(std::abs(y), 1e-6f);
}

/// The response is real, so the phase stays: 1 - sin^2(pi f L) / (L sin(pi f))^2.
TEST(DcBlock, ATonePassesByTheResponse) {
  constexpr std::int64_t kLength = 32;
  for (const double f : {0.005, 0.01875, 0.1, 0.4}) {
    std::vector<cf32> x;
    for (int n = 0; n < 400; ++n) x.emplace_back(std::polar(1.0, 2 * std::numbers::pi * f * n));
    StageUnderTest s(entry(), "{length: 32}", {stream_of(Element::cf32)});
    const auto y = s.stream<cf32>(x);
    const double pi = std::numbers::pi, average = std::sin(pi * f * kLength) / (kLength * std::sin(pi * f));
    for (std::size_t n = 100; n < 300; ++n)
      ASSERT_LT(std::abs(y[n] - cf32(std::complex<double>(x[n]) * (1 - average * average))), 1e-6f) << f;
  }
}

TEST(DcBlock, HowTheStreamIsCutDoesNotMatter) {
  StageUnderTest s(entry(), "{length: 77}", {stream_of(Element::cf32, 2)});
  const auto x = complex_noise(4000);
  const auto whole = s.stream<cf32>(x);
  EXPECT_TRUE(same_bits(s.stream<cf32>(x, {1, 2, 3, 76, 77, 78, 500}), whole));
  EXPECT_TRUE(same_bits(s.stream<cf32>(x, {1}), whole));
}

TEST(DcBlock, ANanStaysWithinItsReach) {
  auto x = complex_noise(300);
  x[150] = {std::numeric_limits<float>::quiet_NaN(), 0};
  StageUnderTest s(entry(), "{length: 20}", {stream_of(Element::cf32)});
  const auto y = s.stream<cf32>(x);
  for (std::size_t n = 0; n < y.size(); ++n) EXPECT_EQ(std::isnan(y[n].real()), n > 130 && n < 170) << n;
}

}  // namespace
}  // namespace iqd::dc_block
