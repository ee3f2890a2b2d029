// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/filters/fft/fft.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tests/support/stage_under_test.hpp"

namespace iqd::fft {
namespace {

using testing::complex_noise;
using ::testing::HasSubstr;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;
using Wide = std::complex<double>;

/// The definition, one frame, in double precision.
std::vector<Wide> reference(std::vector<Wide> x, const Config& c) {
  const auto n = static_cast<std::int64_t>(x.size());
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  for (std::int64_t i = 0; i < n; ++i) x[at(i)] *= window_at(c.window, i, n, c.beta);
  std::vector<Wide> in = x;
  if (c.shift && c.inverse)
    for (std::int64_t i = 0; i < n; ++i) in[at(i)] = x[at((i + n / 2) % n)];
  std::vector<Wide> out(x.size());
  for (std::int64_t k = 0; k < n; ++k) {
    Wide sum = 0;
    for (std::int64_t i = 0; i < n; ++i)
      sum += in[at(i)] * std::polar(1.0, (c.inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(i * k % n) /
                                             static_cast<double>(n));
    out[at(c.shift && !c.inverse ? (k + n / 2) % n : k)] = sum;
  }
  return out;
}

std::string yaml_of(const Config& c) {
  return fmt::format("{{size: {}, inverse: {}, shift: {}, window: {}}}", c.size, c.inverse, c.shift,
                     kWindowNames[static_cast<std::size_t>(c.window)]);
}

/// The largest error of a frame, relative to its rms.
double worst(const std::vector<cf32>& y, const std::vector<cf32>& x, const Config& c) {
  double off = 0;
  for (std::int64_t f = 0; f < std::ssize(x) / c.size; ++f) {
    const auto expected = reference(std::vector<Wide>(x.begin() + f * c.size, x.begin() + (f + 1) * c.size), c);
    double power = 0;
    for (const Wide& v : expected) power += std::norm(v) / static_cast<double>(c.size);
    for (std::int64_t k = 0; k < c.size; ++k)
      off = std::max(
          off, std::abs(Wide(y[static_cast<std::size_t>(f * c.size + k)]) - expected[static_cast<std::size_t>(k)]) /
                   std::sqrt(power));
  }
  return off;
}

TEST(Fft, AgreesWithTheDefinition) {
  for (std::int64_t size : {1, 2, 3, 4, 5, 6, 7, 8, 16, 31, 64, 97, 128, 360})
    for (const bool inverse : {false, true})
      for (const bool shift : {false, true})
        for (Window window : {Window::rectangular, Window::hamming, Window::kaiser}) {
          const Config c{.size = size, .inverse = inverse, .window = window, .shift = shift};
          StageUnderTest s(entry(), yaml_of(c), {stream_of(Element::cf32)});
          ASSERT_EQ(s.complaints(), "");
          const auto x = complex_noise(size * 20 + size / 2);
          const auto y = s.stream<cf32>(x);
          ASSERT_EQ(std::ssize(y), size * 20);
          EXPECT_LT(worst(y, x, c), 2e-6) << yaml_of(c);
        }
}

TEST(Fft, HowTheStreamIsCutDoesNotMatter) {
  for (std::int64_t size : {5, 16, 100})
    for (const char* more : {"", ", window: hann", ", shift: true", ", inverse: true, shift: true"}) {
      StageUnderTest s(entry(), fmt::format("{{size: {}{}}}", size, more), {stream_of(Element::cf32, 2)});
      const auto x = complex_noise(2 * 3333);
      const auto whole = s.stream<cf32>(x);
      EXPECT_EQ(std::ssize(whole), 3333 / size * size * 2);
      EXPECT_TRUE(same_bits(s.stream<cf32>(x, {1}), whole)) << size << more;
      EXPECT_TRUE(same_bits(s.stream<cf32>(x, {7, 0, 450, 33}), whole)) << size << more;
    }
}

TEST(Fft, ForwardAndInverseAreSizeTimesTheInput) {
  StageUnderTest there(entry(), "{size: 97, shift: true}", {stream_of(Element::cf32)});
  StageUnderTest back(entry(), "{size: 97, shift: true, inverse: true}", {stream_of(Element::cf32)});
  const auto x = complex_noise(97);
  const auto y = back.stream<cf32>(there.stream<cf32>(x));
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_LT(std::abs(y[i] / 97.0f - x[i]), 1e-6f);
}

TEST(Fft, BadSamplesSpoilTheirFrame) {
  auto x = complex_noise(64);
  x[20] = std::numeric_limits<float>::quiet_NaN();
  StageUnderTest s(entry(), "{size: 16}", {stream_of(Element::cf32)});
  const auto y = s.stream<cf32>(x);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(std::isfinite(std::abs(y[i])), i / 16 != 1);
}

TEST(Fft, ShapeAndRate) {
  StageUnderTest s(entry(), "{size: 256}", {stream_of(Element::cf32, 2, 1.024e6)});
  EXPECT_EQ(s.out().text(), "cf32 [channel 2][frame][bin 256]");
  EXPECT_EQ(s.out().rate_hz, 4000);
  EXPECT_TRUE(s.footprint().whole);
}

TEST(Fft, RefusesWhatCannotBe) {
  EXPECT_THAT(StageUnderTest(entry(), "{size: 0}", {stream_of(Element::cf32)}).complaints(), HasSubstr("size"));
}

}  // namespace
}  // namespace iqd::fft
