// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/filters/resampler/resampler.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/integer.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::resampler {
namespace {

using testing::complex_noise;
using ::testing::HasSubstr;
using testing::real_noise;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

/// exp(j 2 pi f n) at n = m step.
std::vector<cf32> tone(double frequency, std::int64_t count, double step = 1) {
  std::vector<cf32> x;
  for (std::int64_t m = 0; m < count; ++m) {
    const double turns = frequency * static_cast<double>(m) * step;
    x.emplace_back(std::polar(1.0, 2 * std::numbers::pi * (turns - std::floor(turns))));
  }
  return x;
}

/// The largest difference, except at both ends.
double worst(const std::vector<cf32>& y, const std::vector<cf32>& expected, std::int64_t ends) {
  EXPECT_EQ(y.size(), expected.size());
  double off = 0;
  for (std::int64_t m = ends; m < std::ssize(y) - ends; ++m)
    off = std::max<double>(off, std::abs(y[static_cast<std::size_t>(m)] - expected[static_cast<std::size_t>(m)]));
  return off;
}

struct Case {
  const char* keys;
  double ratio;
};
constexpr Case kCases[] = {{"ratio: 3/2", 1.5},
                           {"ratio: 2/3", 2.0 / 3},
                           {"ratio: 147/160", 147.0 / 160},
                           {"ratio: 7", 7},
                           {"ratio: 1/12", 1.0 / 12},
                           {"ratio: 25/768", 25.0 / 768},
                           {"ratio: 3.14159265358979", 3.14159265358979},
                           {"ratio: 0.7071067811865475", 0.7071067811865475},
                           {"rate: 33333.37 S/s", 0.03333337}};

/// Tones in the pass band are sampled at the new instants, without delay or phase shift; images are 80 dB down or more.
TEST(Resampler, TonesThatPassAreSampledAtTheOtherInstants) {
  for (const Case& c : kCases)
    for (const double part : {0.0, 0.3, -0.55, 0.79}) {
      const double frequency = part * 0.5 * std::min(1.0, c.ratio);
      StageUnderTest s(entry(), fmt::format("{{{}}}", c.keys), {stream_of(Element::cf32)});
      ASSERT_EQ(s.complaints(), "");
      const auto y = s.stream<cf32>(tone(frequency, 12000));
      const auto ends = static_cast<std::int64_t>(std::ceil(static_cast<double>(s.footprint().past + 2) * c.ratio));
      ASSERT_GT(std::ssize(y), 2 * ends + 5) << c.keys;
      EXPECT_LT(worst(y, tone(frequency, std::ssize(y), 1 / c.ratio), ends), 1e-4) << c.keys << " " << part;
    }
}

TEST(Resampler, WhatTheLowerRateCannotHoldIsHeldBack) {
  for (const Case& c : kCases)
    for (const double times : {1.01, 1.3, 1.9}) {
      const double frequency = 0.5 * c.ratio * times;
      if (frequency > 0.5) continue;
      StageUnderTest s(entry(), fmt::format("{{{}}}", c.keys), {stream_of(Element::cf32)});
      const auto y = s.stream<cf32>(tone(frequency, 12000));
      const auto ends = static_cast<std::int64_t>(std::ceil(static_cast<double>(s.footprint().past + 2) * c.ratio));
      EXPECT_LT(worst(y, std::vector<cf32>(y.size()), ends), 1e-4) << c.keys << " " << times;
    }
}

/// The prototype's response, from all rows' taps together, from half the lower rate on.
TEST(Resampler, HoldsBackWhatWasAskedFor) {
  for (const Ratio& ratio : {Ratio{3, 2}, {2, 3}, {1, 2}, {2, 1}, {147, 160}, {1, 4}})
    for (const auto& [attenuation, bandwidth] : {std::pair(90.0, 0.8), {60, 0.8}, {120, 0.8}, {40, 0.5}, {100, 0.9}}) {
      const PolyphaseTaps taps = resampling_taps(ratio, attenuation, bandwidth);
      const double lower = std::min(1.0, static_cast<double>(ratio.up) / static_cast<double>(ratio.down));
      double most = 0;
      for (double f = lower / 2; f < lower; f += 0.2 * lower / static_cast<double>(taps.taps)) {
        std::complex<double> sum = 0;
        for (std::int64_t row = 0; row < taps.rows; ++row)
          for (std::int64_t j = 0; j < taps.taps; ++j) {
            const double t = static_cast<double>(row) / static_cast<double>(taps.rows) + static_cast<double>(j);
            const double h = taps.re[static_cast<std::size_t>(row * taps.taps + taps.taps - 1 - j)];
            sum += h * std::polar(1.0, 2 * std::numbers::pi * f * t);
          }
        most = std::max(most, std::abs(sum));
      }
      EXPECT_LT(20 * std::log10(most / static_cast<double>(taps.rows)), -attenuation + 0.01)
          << ratio.up << "/" << ratio.down << " " << attenuation << " " << bandwidth;
    }
}

TEST(Resampler, AConstantStaysWhatItIs) {
  for (const Case& c : kCases) {
    StageUnderTest s(entry(), fmt::format("{{{}}}", c.keys), {stream_of(Element::f32)});
    const auto y = s.stream<float>(std::vector<float>(9000, 0.75f));
    EXPECT_NEAR(y[y.size() / 2], 0.75f, 2e-6) << c.keys;
  }
}

TEST(Resampler, HowTheStreamIsCutDoesNotMatter) {
  const auto x = complex_noise(4000);
  const auto real = real_noise(4000);
  for (const Case& c : kCases) {
    StageUnderTest s(entry(), fmt::format("{{{}}}", c.keys), {stream_of(Element::cf32)});
    const auto whole = s.stream<cf32>(x);
    EXPECT_EQ(std::ssize(whole), static_cast<std::int64_t>(std::ceil(4000 * c.ratio))) << c.keys;
    StageUnderTest two(entry(), fmt::format("{{{}}}", c.keys), {stream_of(Element::f32, 2)});
    for (const std::vector<std::int64_t>& lengths :
         std::vector<std::vector<std::int64_t>>{{1}, {0, 59, 3, 1, 4, 128}, {1000, 1, 999}}) {
      EXPECT_TRUE(same_bits(s.stream<cf32>(x, lengths), whole)) << c.keys;
      EXPECT_TRUE(same_bits(two.stream<float>(real, lengths), two.stream<float>(real))) << c.keys;
    }
  }
}

TEST(Resampler, OneToOneIsACopy) {
  const auto x = complex_noise(100);
  StageUnderTest s(entry(), "{ratio: 4/4}", {stream_of(Element::cf32)});
  EXPECT_TRUE(same_bits(s.stream<cf32>(x), x));
  EXPECT_EQ(s.footprint(), Footprint());
}

TEST(Resampler, ABadSampleSpoilsItsOwnOutputsOnly) {
  for (const char* keys : {"{ratio: 3/2}", "{ratio: 0.7071067811865475}"}) {
    std::vector<cf32> x(1000, cf32(1, 0));
    x[500] = {std::numeric_limits<float>::quiet_NaN(), 1e-42f};
    StageUnderTest s(entry(), keys, {stream_of(Element::cf32)});
    const auto y = s.stream<cf32>(x);
    const Ratio ratio = *ratio_of(std::string(keys).find("3/2") != std::string::npos ? "3/2" : "0.7071067811865475");
    for (std::int64_t m = 0; m < std::ssize(y); ++m) {
      const std::int64_t at = place_of(ratio, m).at;
      const bool takes = at - s.footprint().past <= 500 && 500 <= at + s.footprint().future;
      EXPECT_EQ(std::isnan(y[static_cast<std::size_t>(m)].real()), takes) << m;
      EXPECT_TRUE(std::isfinite(y[static_cast<std::size_t>(m)].imag())) << m;
    }
  }
}

TEST(Resampler, ShapeAndRate) {
  StageUnderTest s(entry(), "{rate: 1 MS/s}", {stream_of(Element::cf32, 2, 30.72e6)});
  ASSERT_EQ(s.complaints(), "");
  EXPECT_EQ(s.out().text(), "cf32 [channel 2][n]");
  EXPECT_DOUBLE_EQ(s.out().rate_hz, 1e6);
  EXPECT_EQ(s.footprint().granule, 768);
  EXPECT_EQ(s.footprint().yield, 25);
}

TEST(Resampler, RatiosAreTheNearestOfWholeNumbers) {
  const auto ratio = [](const char* text) {
    const auto r = ratio_of(text);
    return r ? fmt::format("{}/{}", r->up, r->down) : "none";
  };
  EXPECT_EQ(ratio("6/4"), "3/2");
  EXPECT_EQ(ratio("0.75"), "3/4");
  EXPECT_EQ(ratio("2"), "2/1");
  for (const char* bad : {"", "0", "-1", "1/0", "3/2x", "nan", "inf", "1e400", "a/b", "-1/2", "67108865/3"})
    EXPECT_EQ(ratio(bad), "none") << bad;
  const Ratio audio = nearest_ratio(44100 / 30.72e6);
  EXPECT_EQ(audio.up, 147);
  EXPECT_EQ(audio.down, 102400);
  for (const double r : {std::numbers::pi, 1 / std::numbers::e, 30719999.87 / 1e6, 0.000244140625001}) {
    const Ratio near = nearest_ratio(r);
    EXPECT_NEAR(static_cast<double>(near.up) / static_cast<double>(near.down) / r, 1, 1e-8) << r;
    EXPECT_LE(std::max(near.up, near.down), 1 << 26);
  }
}

TEST(Resampler, RefusesWhatCannotBe) {
  const auto complaints = [](const std::string& yaml, double rate = 1e6) {
    return StageUnderTest(entry(), yaml, {stream_of(Element::cf32, 1, rate)}).complaints();
  };
  EXPECT_THAT(complaints("{}"), HasSubstr("either `ratio`"));
  EXPECT_THAT(complaints("{ratio: 2, rate: 2 MS/s}"), HasSubstr("either `ratio`"));
  EXPECT_THAT(complaints("{ratio: much}"), HasSubstr("`much` is not a ratio"));
  EXPECT_THAT(complaints("{ratio: 5000}"), HasSubstr("between 1/4096 and 4096"));
  EXPECT_THAT(complaints("{rate: 1 S/s}"), HasSubstr("between 1/4096 and 4096"));
  EXPECT_THAT(complaints("{rate: 48 kS/s}", 1), HasSubstr("48000 times the input's rate of 1 S/s"));
  EXPECT_THAT(complaints("{rate: 1 MS/s}", 0), HasSubstr("not known"));
  EXPECT_THAT(complaints("{ratio: 2, bandwidth: 1}"), HasSubstr("bandwidth"));
  EXPECT_THAT(complaints("{ratio: 2, attenuation: 5 dB}"), HasSubstr("attenuation"));
}

}  // namespace
}  // namespace iqd::resampler
