// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/filters/channelizer/channelizer.hpp"

#include <fftw3.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "signal/filters/fft_plan.hpp"
#include "signal/filters/filter_design.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::channelizer {
namespace {

using testing::complex_noise;
using ::testing::HasSubstr;
using testing::StageUnderTest;
using testing::stream_of;

/// The definition, in double precision: rotated, filtered, decimated.
std::vector<std::complex<double>> reference(const std::vector<cf32>& x, const std::vector<double>& h,
                                            std::int64_t channels, std::int64_t k, std::int64_t decimation) {
  std::vector<std::complex<double>> v, y;
  for (std::int64_t n = 0; n < std::ssize(x); ++n) {
    const double turn = static_cast<double>(n * k % channels) / static_cast<double>(channels);
    v.push_back(std::complex<double>(x[static_cast<std::size_t>(n)]) * std::polar(1.0, -2 * std::numbers::pi * turn));
  }
  for (std::int64_t n = 0; n < std::ssize(x); n += decimation) {
    std::complex<double> sum = 0;
    for (std::int64_t l = 0; l < std::ssize(h) && l <= n; ++l)
      sum += h[static_cast<std::size_t>(l)] * v[static_cast<std::size_t>(n - l)];
    y.push_back(sum);
  }
  return y;
}

std::string keys_of(std::int64_t channels, std::int64_t oversample, const std::vector<double>& h,
                    const std::string& more = "") {
  std::string list;
  for (const double tap : h) list += fmt::format("{:.17g}, ", tap);
  return fmt::format("{{channels: {}, oversample: {}, taps: [{}]{}}}", channels, oversample, list, more);
}

std::vector<double> taps_like(std::int64_t n) {
  std::vector<double> h;
  for (std::int64_t k = 0; k < n; ++k) h.push_back(std::sin(static_cast<double>(k) + 1) / std::sqrt(n));
  return h;
}

struct Case {
  std::int64_t channels, oversample, taps, samples;
};
// Fewer taps than channels, an incomplete last turn, odd numbers, less than a frame.
constexpr Case kCases[] = {{2, 1, 5, 100},      {8, 1, 96, 1000},    {8, 2, 96, 1000}, {8, 8, 20, 200},
                           {10, 5, 33, 500},    {16, 4, 7, 700},     {17, 1, 50, 600}, {64, 2, 700, 3000},
                           {100, 1, 350, 2500}, {129, 3, 400, 3000}, {12, 1, 1, 100},  {8, 1, 96, 1}};

TEST(Channelizer, AgreesWithTheDefinition) {
  for (const Case& c : kCases) {
    const std::vector<double> h = taps_like(c.taps);
    const auto x = complex_noise(c.samples);
    StageUnderTest s(entry(), keys_of(c.channels, c.oversample, h), {stream_of(Element::cf32)});
    ASSERT_EQ(s.complaints(), "");
    const auto y = s.stream<cf32>(x);
    const auto per_row = static_cast<std::size_t>(std::ssize(y) / c.channels);
    for (std::int64_t k = 0; k < c.channels; ++k) {
      const auto expected = reference(x, h, c.channels, k, c.channels / c.oversample);
      ASSERT_EQ(per_row, expected.size());
      for (std::size_t m = 0; m < per_row; ++m)
        ASSERT_LT(std::abs(std::complex<double>(y[static_cast<std::size_t>(k) * per_row + m]) - expected[m]), 2e-6)
            << c.channels << "/" << c.oversample << " " << k << " " << m;
    }
  }
}

TEST(Channelizer, HowTheStreamIsCutDoesNotMatter) {
  for (const Case& c : kCases) {
    const auto x = complex_noise(c.samples);
    StageUnderTest s(entry(), keys_of(c.channels, c.oversample, taps_like(c.taps)), {stream_of(Element::cf32)});
    const auto whole = s.stream<cf32>(x);
    for (const std::vector<std::int64_t>& lengths :
         std::vector<std::vector<std::int64_t>>{{1}, {0, 59, 3, 1, 4, 128}, {1000, 1, 999}})
      EXPECT_TRUE(testing::same_bits(s.stream<cf32>(x, lengths), whole)) << c.channels;
  }
}

/// Two runs cut a stream differently, and FFTW may have measured other algorithms as faster.
TEST(Channelizer, WhatWasMeasuredBeforeDoesNotMatter) {
  for (const std::int64_t channels : {16, 100, 256, 1000, 2048}) {
    const auto x = complex_noise(4 * channels);
    const std::string keys = fmt::format("{{channels: {}, taps_per_channel: 2}}", channels);
    fftwf_forget_wisdom();
    StageUnderTest s(entry(), keys, {stream_of(Element::cf32)});
    const auto whole = s.stream<cf32>(x);
    fftwf_forget_wisdom();
    const FftPlan measured(channels, FftPlan::Direction::forward, channels < 64 ? 16 : 1);
    StageUnderTest after(entry(), keys, {stream_of(Element::cf32)});
    EXPECT_TRUE(testing::same_bits(after.stream<cf32>(x, {1, 2 * channels}), whole)) << channels;
  }
}

/// A tone next to a channel's middle appears in that channel, at its distance from the middle. The others stay silent.
TEST(Channelizer, ATonesChannelIsThatOfItsFrequency) {
  constexpr std::int64_t kChannels = 16;
  for (const std::int64_t at : {0, 1, 5, 8, 11, 15}) {
    const double frequency = (static_cast<double>(at) + 0.1) / kChannels;
    std::vector<cf32> x;
    for (int n = 0; n < 8000; ++n) x.emplace_back(std::polar(1.0, 2 * std::numbers::pi * frequency * n));
    StageUnderTest s(entry(), "{channels: 16}", {stream_of(Element::cf32)});
    const auto y = s.stream<cf32>(x);
    const std::int64_t per_row = std::ssize(y) / kChannels;
    for (std::int64_t k = 0; k < kChannels; ++k) {
      const cf32 last = y[static_cast<std::size_t>((k + 1) * per_row - 1)];
      EXPECT_NEAR(std::abs(last), k == at ? 1 : 0, 2e-4) << at << " " << k;
      if (k != at) continue;
      const cf32 turn = last * std::conj(y[static_cast<std::size_t>((k + 1) * per_row - 2)]);
      EXPECT_NEAR(std::arg(turn), 2 * std::numbers::pi * 0.1, 1e-4);
    }
  }
}

TEST(Channelizer, SelectedChannelsInTheirOrder) {
  const auto x = complex_noise(2000);
  const std::vector<double> h = taps_like(60);
  StageUnderTest all(entry(), keys_of(10, 2, h), {stream_of(Element::cf32, 1, 1e6)});
  StageUnderTest some(entry(), keys_of(10, 2, h, ", select: [9, 0, 9]"), {stream_of(Element::cf32, 1, 1e6)});
  const auto y = all.stream<cf32>(x);
  const auto z = some.stream<cf32>(x);
  ASSERT_EQ(z.size(), 3 * y.size() / 10);
  const std::int64_t n = std::ssize(y) / 10;
  for (std::int64_t m = 0; m < n; ++m) {
    EXPECT_EQ(z[static_cast<std::size_t>(m)], y[static_cast<std::size_t>(9 * n + m)]);
    EXPECT_EQ(z[static_cast<std::size_t>(n + m)], y[static_cast<std::size_t>(m)]);
    EXPECT_EQ(z[static_cast<std::size_t>(2 * n + m)], y[static_cast<std::size_t>(9 * n + m)]);
  }
  EXPECT_EQ(some.out().text(), "cf32 [channel 3][n]");
  EXPECT_EQ(some.out().rate_hz, 2e5);
  StageUnderTest one(entry(), "{channels: 10, select: [9]}", {stream_of(Element::cf32, 1, 1e6)});
  EXPECT_EQ(one.out().text(), "cf32 [n]");
  EXPECT_EQ(one.out().frequency_hz, -1e5);
}

TEST(Channelizer, ABadSampleSpoilsItsOwnOutputsOnly) {
  auto x = complex_noise(1000);
  x[400] = {0, std::numeric_limits<float>::infinity()};
  x[401] = {1e-42f, -0.0f};
  StageUnderTest s(entry(), keys_of(10, 1, taps_like(33)), {stream_of(Element::cf32)});
  const auto y = s.stream<cf32>(x);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t newest = i % 100 * 10;
    const bool spoilt = newest >= 400 && newest < 433;
    EXPECT_EQ(std::isnan(y[i].real()) && std::isnan(y[i].imag()), spoilt) << i;
    EXPECT_EQ(std::isfinite(y[i].real()) && std::isfinite(y[i].imag()), !spoilt) << i;
  }
}

TEST(Channelizer, ThePrototypePassesAChannelAndHoldsBackTheNextButOne) {
  Config config;
  config.channels = 32;
  const std::vector<double> h = prototype(config);
  EXPECT_EQ(h.size(), 32u * 12);
  EXPECT_NEAR(std::accumulate(h.begin(), h.end(), 0.0), 1, 1e-12);
  const auto response = [&](double frequency) {
    std::complex<double> sum = 0;
    for (std::size_t n = 0; n < h.size(); ++n)
      sum += h[n] * std::polar(1.0, -2 * std::numbers::pi * frequency * static_cast<double>(n));
    return std::abs(sum);
  };
  EXPECT_NEAR(response(0.25 / 32), 1, 1e-3);
  EXPECT_NEAR(response(0.5 / 32), 0.5, 1e-3);
  for (double f = 0.75; f < 16; f += 0.01) EXPECT_LT(response(f / 32), 1.1e-4) << f;
}

TEST(Channelizer, RefusesWhatCannotBe) {
  const auto complaints = [](const std::string& yaml) {
    return StageUnderTest(entry(), yaml, {stream_of(Element::cf32)}).complaints();
  };
  EXPECT_THAT(complaints("{}"), HasSubstr("channels"));
  EXPECT_THAT(complaints("{channels: 1}"), HasSubstr("channels"));
  EXPECT_THAT(complaints("{channels: 8, oversample: 3}"), HasSubstr("3 does not divide the 8 channels"));
  EXPECT_THAT(complaints("{channels: 8, select: [8]}"), HasSubstr("no channel 8: of 8 channels the last is 7"));
  EXPECT_THAT(complaints("{channels: 8, taps: [1, .inf]}"), HasSubstr("is not a finite number"));
  EXPECT_THAT(complaints("{channels: 32768, taps_per_channel: 4096}"), HasSubstr("taps; the maximum is"));
}

}  // namespace
}  // namespace iqd::channelizer
