// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <string>

#include "tests/support/ofdm_sync_under_test.hpp"

namespace iqd::ofdm_sync {
namespace {

using ::testing::ElementsAre;

struct Air {
  double snr_db;
  double offset_hz;
};

void PrintTo(const Air& air, std::ostream* out) {
  *out << air.snr_db << " dB, " << air.offset_hz << " Hz off";
}

class OfdmSyncInNoise : public ::testing::TestWithParam<Air> {};

TEST_P(OfdmSyncInNoise, StartsAreExactAndOffsetsClose) {
  const OfdmFormat format;
  Scene s{.format = format, .starts = {100, 100 + 7680, 100 + 3 * 7680}};
  s.length = s.starts.back() + 7680;
  s.noise_db = -GetParam().snr_db;
  s.offset_hz = GetParam().offset_hz;
  s.seed = 77;
  const Results r = sync("", rounded(receive(s)));
  EXPECT_EQ(r.start, s.starts);
  EXPECT_THAT(r.events, ElementsAre(3, 0, 0, 0));
  // With two antennas, one standard deviation at 10 dB is 0.002 carriers.
  const double close = GetParam().snr_db >= 10 ? 0.007 : 0.04;
  for (const float offset : r.offset_hz) EXPECT_NEAR(offset / kSpacing, s.offset_hz / kSpacing, close);
}

INSTANTIATE_TEST_SUITE_P(All, OfdmSyncInNoise,
                         ::testing::Values(Air{0, -60e3}, Air{0, -37e3}, Air{0, 0}, Air{0, 22.5e3}, Air{0, 60e3},
                                           Air{10, -60e3}, Air{10, -15e3}, Air{10, 1e3}, Air{10, 44.9e3},
                                           Air{20, -30e3}, Air{30, 14.9e3}, Air{30, 60e3}),
                         [](const auto& i) { return std::to_string(i.index); });

TEST(OfdmSync, FourAntennasOfTwentyMegahertz) {
  Scene s{.format = wide_format(), .rx = 4, .starts = {1000, 1000 + 30720}};
  s.length = s.starts.back() + 30720;
  s.rate_hz = 30.72e6;
  s.noise_db = 0;
  s.offset_hz = -51e3;
  const Results r = sync(kWide, rounded(receive(s)), {.rate_hz = s.rate_hz});
  EXPECT_EQ(r.start, s.starts);
  for (const float offset : r.offset_hz) EXPECT_NEAR(offset, s.offset_hz, 0.01 * kSpacing);
}

/// The noise of each antenna is independent: together they detect what one does not.
TEST(OfdmSync, ManyAntennas) {
  for (const std::int64_t rx : {16, 64}) {
    Scene s = short_scene({300, 1700, 2900});
    s.rx = rx;
    s.noise_db = 0;
    s.offset_hz = 7e3;
    const auto x = rounded(receive(s));
    const Results r = sync_short(x);
    EXPECT_EQ(r.start, s.starts) << rx;
    EXPECT_THAT(r.events, ElementsAre(3, 0, 0, 0)) << rx;
    for (const float offset : r.offset_hz) EXPECT_NEAR(offset, s.offset_hz, 0.02 * kSpacing) << rx;
    EXPECT_TRUE(same(sync_short(x, {.lengths = {777}}), r)) << rx;
  }
}

/// The frame starts with the first path, and all others are within one prefix. With 300 carriers of 512, paths are
/// resolved to about two samples.
TEST(OfdmSync, StartsWithTheFirstPath) {
  const OfdmFormat format;
  const std::vector<std::vector<Echo>> channels{{{0, 0}, {35, 0}},
                                                {{0, -10}, {20, 0}},
                                                {{0, 0}, {5, -3}, {36, -10}},
                                                {{0, -6}, {36, 0}},
                                                {{0, 0}, {12, -1}, {24, -2}}};
  for (const auto& echoes : channels)
    for (const double snr_db : {10, 25}) {
      Scene s{.format = format, .starts = {100, 100 + 7680, 100 + 2 * 7680}, .echoes = echoes};
      s.length = s.starts.back() + 7680 + 40;
      s.noise_db = -snr_db;
      s.offset_hz = 20e3;
      const Results r = sync("", rounded(receive(s)));
      ASSERT_EQ(r.start.size(), 3u) << echoes[1].delay;
      for (std::size_t f = 0; f < 3; ++f)
        EXPECT_LE(std::abs(r.start[f] - s.starts[f]), 2) << echoes[1].delay << " " << snr_db;
    }
}

/// One antenna is weaker, has a weaker signal, is dead, or is full of noise.
TEST(OfdmSync, AntennasThatDiffer) {
  Scene s = short_scene({100, 1400, 2600});
  s.noise_db = -10;
  for (const std::vector<double>& levels : {std::vector<double>{0, -40}, {-40, 0}, {0, -400}, {60, -60}}) {
    s.level_db = levels;
    EXPECT_EQ(sync_short(s).start, s.starts) << levels[0];
  }
  s.level_db = {};
  auto x = rounded(receive(s));
  const auto noise = testing::complex_noise(std::ssize(x[0]), 9);
  for (const float level : {0.01f, 1.0f, 100.0f}) {
    for (std::size_t n = 0; n < noise.size(); ++n) x[0][n] = level * noise[n];
    EXPECT_EQ(sync_short(x).start, s.starts) << level;
  }
  std::fill(x[0].begin(), x[0].end(), cf32(0.7f, -0.1f));  // a constant: alike in all places
  EXPECT_EQ(sync_short(x).start, s.starts);
}

/// The DC offset of radios, ten times the signal's power.
TEST(OfdmSync, AConstantIsNotInTheWay) {
  Scene s{.format = OfdmFormat{}, .starts = {300, 300 + 7680 + 500}};
  s.length = s.starts.back() + 7680 + 300;
  s.noise_db = -10;
  s.offset_hz = 21e3;
  auto x = rounded(receive(s));
  for (auto& row : x)
    for (cf32& v : row) v += cf32(2, -2.5f);
  const Results r = sync("", x);
  EXPECT_EQ(r.start, s.starts);
  for (const float offset : r.offset_hz) EXPECT_NEAR(offset, s.offset_hz, 0.01 * kSpacing);
  for (auto& row : x) row.assign(30000, cf32(2, -2.5f));
  EXPECT_THAT(sync("", x).events, ElementsAre(0, 0, 0, 0));
}

TEST(OfdmSync, OneOfEightAntennasIsEnough) {
  Scene s = short_scene({100, 1400, 2600});
  s.rx = 1;
  s.noise_db = -3;
  auto x = rounded(receive(s));
  for (unsigned r = 0; r < 7; ++r) x.push_back(testing::complex_noise(std::ssize(x[0]), 20 + r));
  EXPECT_EQ(sync_short(x).start, s.starts);
}

TEST(OfdmSync, NothingIsFoundInNoise) {
  const auto x = testing::complex_noise(400000);
  EXPECT_THAT(sync("", Rows<cf32>{x}).events, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(sync("", Rows<cf32>{x, testing::complex_noise(400000, 2)}).events, ElementsAre(0, 0, 0, 0));
}

/// Their halves are alike everywhere; only the known symbols distinguish them from frames.
TEST(OfdmSync, NothingIsFoundInTonesAndConstants) {
  for (const double frequency : {0.0, 0.1, 1.0, 7.5, 100.0, -63.3}) {
    Rows<cf32> x(1);
    for (int n = 0; n < 30000; ++n) x[0].emplace_back(std::polar(0.3, 2 * std::numbers::pi * frequency / 512 * n));
    EXPECT_THAT(sync("", x).events, ElementsAre(0, 0, 0, 0)) << frequency;
    const auto noise = testing::complex_noise(30000, 8);
    for (std::size_t n = 0; n < noise.size(); ++n) x[0][n] += 0.01f * noise[n];
    EXPECT_THAT(sync("", x).events, ElementsAre(0, 0, 0, 0)) << frequency;
  }
}

TEST(OfdmSync, NothingIsFoundInZerosOrInWhatIsTooWeakToSquare) {
  for (const cf32 v : {cf32(0, 0), cf32(1e-30f, 0), cf32(kNan, 0), cf32(0, kInf), cf32(1e30f, 0)})
    EXPECT_THAT(sync("", Rows<cf32>(2, std::vector<cf32>(30000, v))).events, ElementsAre(0, 0, 0, 0)) << v;
}

/// A symbol of two equal halves followed by data instead of the known symbols.
TEST(OfdmSync, TwoEqualHalvesAreNoFrame) {
  Scene s = short_scene({300, 1460});
  auto x = rounded(receive(s));
  for (auto& row : x) {
    const auto other = testing::complex_noise(288, 5);
    std::copy(other.begin(), other.end(), row.begin() + 300 + 216);
  }
  EXPECT_EQ(sync_short(x).start, Starts{1460});
}

/// A radio without a signal may deliver a constant, whose halves are more alike than those of a frame.
TEST(OfdmSync, AConstantBesideFramesHidesNone) {
  const Scene s = short_scene({500, 2500, 3660});
  auto x = rounded(receive(s));
  for (auto& row : x)
    for (std::int64_t n = 0; n < std::ssize(row); ++n)
      if (std::ranges::none_of(s.starts, [n](std::int64_t start) { return n >= start && n < start + 1160; }))
        row[static_cast<std::size_t>(n)] = cf32(3e-5f, 0);
  EXPECT_EQ(sync_short(x).start, s.starts);
}

TEST(OfdmSync, SaturatedSamples) {
  Scene s{.format = OfdmFormat{}, .starts = {300, 300 + 7680}};
  s.length = s.starts.back() + 7680 + 30;
  s.noise_db = -20;
  auto x = rounded(receive(s));
  for (auto& row : x)
    for (cf32& v : row) v = {std::clamp(v.real(), -0.4f, 0.4f), std::clamp(v.imag(), -0.4f, 0.4f)};
  EXPECT_EQ(sync("", x).start, s.starts);
}

/// The samples that a frame's symbols leave over lengthen the first prefix, here beyond a symbol; its halves are alike
/// throughout.
TEST(OfdmSync, TheFirstPrefixMayBeLong) {
  Scene s = short_scene({70, 70 + 1290, 3000});
  s.format.frame = 1290;
  s.offset_hz = -2.5 * kSpacing;
  for (const double snr_db : {3, 30}) {
    s.noise_db = -snr_db;
    const auto x = rounded(receive(s));
    const std::string keys = "fft: 128, carriers: 72, prefix: 16, frame: 1290, tx: 2, pilot_every: 12";
    const Results r = sync(keys, x, {.rate_hz = kSpacing * 128});
    EXPECT_EQ(r.start, s.starts) << snr_db;
    EXPECT_TRUE(same(sync(keys, x, {.lengths = {211}, .rate_hz = kSpacing * 128}), r)) << snr_db;
  }
}

TEST(OfdmSync, EightTransmitAntennas) {
  const std::string keys = "fft: 256, carriers: 180, prefix: 18, frame: 3300, tx: 8, pilot_every: 12";
  Scene s{.format = {.fft = 256, .carriers = 180, .prefix = 18, .frame = 3300, .tx = 8, .pilot_every = 12}};
  s.starts = {50, 50 + 3300};
  s.length = s.starts.back() + 3300;
  s.rate_hz = kSpacing * 256;
  s.offset_hz = 31e3;
  s.echoes = {{0, 0}, {17, 0}};
  s.noise_db = -3;
  const auto x = rounded(receive(s));
  const Results r = sync(keys, x, {.rate_hz = s.rate_hz});
  EXPECT_TRUE(same(sync(keys, x, {.lengths = {1500}, .rate_hz = s.rate_hz}), r));
  ASSERT_EQ(r.start.size(), 2u);
  for (std::size_t f = 0; f < 2; ++f) EXPECT_LE(std::abs(r.start[f] - s.starts[f]), 2);
}

/// Only offsets up to a number of carriers are tried.
TEST(OfdmSync, TheLargestOffset) {
  Scene s = short_scene({100, 1400});
  s.offset_hz = 8.3 * kSpacing;
  const auto x = rounded(receive(s));
  const Cut cut{.rate_hz = kSpacing * 128};
  EXPECT_TRUE(sync(kShort, x, cut).start.empty());
  const Results r = sync(kShort + ", max_offset: 150 kHz", x, cut);
  EXPECT_EQ(r.start, s.starts);
  for (const float offset : r.offset_hz) EXPECT_NEAR(offset, s.offset_hz, 0.01 * kSpacing);
}

}  // namespace
}  // namespace iqd::ofdm_sync
