// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/measure/spectrum/spectrum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tests/support/stage_under_test.hpp"

namespace iqd::spectrum {
namespace {

using testing::complex_noise;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

/// A tone on this bin of `size`; negative bins are below 0 Hz.
std::vector<cf32> tone(std::int64_t bin, std::int64_t size, std::int64_t n, double amplitude = 1) {
  std::vector<cf32> x;
  for (std::int64_t i = 0; i < n; ++i)
    x.emplace_back(
        std::polar(amplitude, 2 * std::numbers::pi * static_cast<double>(bin * i % size) / static_cast<double>(size)));
  return x;
}

TEST(Spectrum, AFullScaleToneOnABinIsZeroDecibels) {
  for (const char* window : {"rectangular", "hann", "blackman_harris", "kaiser"})
    for (std::int64_t bin : {0, 1, -1, 30, -32}) {
      StageUnderTest s(entry(), "{size: 64, window: " + std::string(window) + "}", {stream_of(Element::cf32)});
      ASSERT_EQ(s.complaints(), "");
      const auto y = s.once<float>(tone(bin, 64, 640), 0, 640);
      EXPECT_NEAR(y[static_cast<std::size_t>(32 + bin)], 0, 1e-3) << window << bin;
      EXPECT_EQ(std::max_element(y.begin(), y.end()) - y.begin(), 32 + bin);
    }
}

TEST(Spectrum, AnOddSizeHasItsMiddleToo) {
  StageUnderTest s(entry(), "{size: 63}", {stream_of(Element::cf32)});
  const auto y = s.once<float>(tone(0, 63, 630, 0.1), 0, 630);
  EXPECT_NEAR(y[31], -20, 1e-3);
}

TEST(Spectrum, SilenceIsTheFloorAndNanIsNan) {
  StageUnderTest s(entry(), "{size: 8}", {stream_of(Element::cf32)});
  EXPECT_EQ(s.once<float>(std::vector<cf32>(16), 0, 16), std::vector<float>(8, -200.0f));
  std::vector<cf32> x(16);
  x[3] = std::numeric_limits<float>::quiet_NaN();
  for (float y : s.once<float>(x, 0, 16)) EXPECT_TRUE(std::isnan(y));
}

TEST(Spectrum, FramesAreAlignedAndWhollyNew) {
  StageUnderTest s(entry(), "{size: 16, window: rectangular}", {stream_of(Element::cf32)});
  // Loud everywhere except in frame 16 … 31, the only one that lies wholly in 1 … 46.
  std::vector<cf32> x(64, cf32(1, 0));
  std::fill(x.begin() + 16, x.begin() + 32, cf32());
  EXPECT_EQ(s.once<float>(x, 1, 47), std::vector<float>(16, -200.0f));
  EXPECT_EQ(s.count(), 1);
  EXPECT_TRUE(s.once<float>(x, 1, 31).empty());
  EXPECT_EQ(s.count(), 0);
  EXPECT_TRUE(s.chunk_exempt());
}

TEST(Spectrum, AveragesPowers) {
  auto x = tone(1, 16, 32);
  std::fill(x.begin() + 16, x.end(), cf32());
  StageUnderTest all(entry(), "{size: 16}", {stream_of(Element::cf32)});
  EXPECT_NEAR(all.once<float>(x, 0, 32)[9], 10 * std::log10(0.5), 1e-4);
  StageUnderTest first(entry(), "{size: 16, average: 1}", {stream_of(Element::cf32)});
  EXPECT_NEAR(first.once<float>(x, 0, 32)[9], 0, 1e-4);
}

TEST(Spectrum, WhiteNoiseIsFlatAtItsPower) {
  StageUnderTest s(entry(), "{size: 32, window: rectangular}", {stream_of(Element::cf32)});
  const auto x = complex_noise(32 * 4000);
  double power = 0;
  for (const cf32 v : x) power += std::norm(v) / static_cast<double>(x.size());
  for (float db : s.once<float>(x, 0, std::ssize(x))) EXPECT_NEAR(db, 10 * std::log10(power / 32), 0.3);
}

TEST(Spectrum, ChannelsAreIndependent) {
  StageUnderTest s(entry(), "{size: 16}", {stream_of(Element::cf32, 2)});
  EXPECT_EQ(s.out().text(), "f32 [channel 2][bin 16]");
  auto x = tone(3, 16, 64);
  const auto other = tone(-5, 16, 64);
  x.insert(x.end(), other.begin(), other.end());
  const auto y = s.once<float>(x, 0, 64);
  EXPECT_NEAR(y[8 + 3], 0, 1e-4);
  EXPECT_NEAR(y[16 + 8 - 5], 0, 1e-4);
  EXPECT_LT(y[8 - 5], -100);
}

TEST(Spectrum, AWindowOfNothingIsRefused) {
  EXPECT_NE(StageUnderTest(entry(), "{size: 2}", {stream_of(Element::cf32)}).complaints(), "");
  EXPECT_EQ(StageUnderTest(entry(), "{size: 1}", {stream_of(Element::cf32)}).complaints(), "");
}

}  // namespace
}  // namespace iqd::spectrum
