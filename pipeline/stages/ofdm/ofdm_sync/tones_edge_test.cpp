// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The key `reject_tones`: cuts of the stream, the arithmetic, and values at the edges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>

#include "pipeline/stages/ofdm/ofdm_sync/block_sums.hpp"
#include "tests/support/ofdm_sync_under_test.hpp"

namespace iqd::ofdm_sync {
namespace {

using ::testing::ElementsAre;

TEST(OfdmSyncTones, HowTheStreamIsCutDoesNotMatter) {
  Scene s = short_scene_beside_tone({0, 1160, 2600, 3760, 4920, 7000});
  s.offset_hz = -33e3;
  s.noise_db = -15;
  s.echoes = {{0, -3}, {7, 0}, {13, -6}};
  const auto x = rounded(receive(s));
  const Results whole = sync_short_beside_tone(x);
  EXPECT_EQ(whole.start.size(), s.starts.size());
  expect_cuts_do_not_matter(x, whole, sync_short_beside_tone);
  for (const std::int64_t first : {1, 3, 1000003}) {
    const Results moved = sync_short_beside_tone(x, {.first_of_all = first});
    EXPECT_EQ(moved.start.size(), whole.start.size()) << first;
    EXPECT_TRUE(same(sync_short_beside_tone(x, {.lengths = {333}, .first_of_all = first}), moved)) << first;
  }
}

/// Frames that are nearer than half a frame, and nearly as good as each other: which of them count depends on the last
/// digits of Q, and so on what a tone is measured from, half a frame further on both sides.
TEST(OfdmSyncTones, HowAStreamOfManyCandidatesIsCutDoesNotMatter) {
  Scene s = short_scene({100});
  s.starts.clear();
  for (std::int64_t i = 0; i < 40; ++i) s.starts.push_back(100 + 545 * i);
  s.length = s.starts.back() + 1160;
  auto x = receive(s);
  for (std::size_t f = 0; f < s.starts.size(); ++f) {  // each ends where the next begins
    Scene one = short_scene({s.starts[f]});
    one.seed = 50;
    one.tone_db = 23.5;
    one.tone_at = 10.3;
    const auto y = receive(one);
    for (std::size_t r = 0; r < x.size(); ++r)
      std::copy_n(y[r].begin() + s.starts[f], 1160, x[r].begin() + s.starts[f]);
  }
  const Results whole = sync_short_beside_tone(rounded(x));
  EXPECT_GT(whole.start.size(), 10u);
  EXPECT_LT(whole.start.size(), 39u);
  for (const std::int64_t length : {31, 200, 577, 1160, 2001})
    EXPECT_TRUE(same(sync_short_beside_tone(rounded(x), {.lengths = {length}}), whole)) << length;
}

/// The vectors' arithmetic is that of a GPU's threads, to the last bit, for all numbers.
TEST(OfdmSyncTones, VectorsAndSinglePointsAgree) {
  Config config;
  config.format = short_format();
  config.reject_tones = true;
  const Pattern pattern(config, kSpacing * 128, 1);
  const Grid& grid = pattern.grid;
  constexpr std::int64_t kPlaces = 1000;
  const std::int64_t around = grid.others * grid.apart, steps = kPlaces + grid.blocks + kSteps;
  const auto noise = testing::complex_noise(3 * steps, 7);
  std::vector<std::vector<float>> sums(kSums, std::vector<float>(static_cast<std::size_t>(steps + kMargin)));
  for (std::size_t k = 0; k < static_cast<std::size_t>(steps); ++k) {
    // Levels apart, and once in a while what is no number, or too small or large to divide by.
    const float level = std::pow(10.0f, std::floor(5 * noise[3 * k].real()));
    sums[2][k] = level * std::norm(noise[3 * k + 1]);
    sums[0][k] = 0.5f * sums[2][k], sums[1][k] = -0.3f * sums[2][k] * noise[3 * k + 2].imag();
    sums[3][k] = std::sqrt(level) * noise[3 * k + 2].real(), sums[4][k] = 0;
    if (k % 150 == 149) sums[k / 150 % kSums][k] = k % 2 ? kNan : kInf;
    if (k % 400 > 350) sums[0][k] = sums[1][k] = sums[2][k] = sums[3][k] = k % 2 ? 0 : 1e-40f;
  }
  const Sums all{sums[0].data(), sums[1].data(), sums[2].data(), sums[3].data(), sums[4].data()};
  std::vector<std::vector<float>> alikes(kAlikes);
  for (auto& row : alikes) row.resize(static_cast<std::size_t>(kPlaces + 2 * around + 2 * kMargin));
  float* const to[kAlikes] = {alikes[0].data() + around, alikes[1].data() + around, alikes[2].data() + around};
  compare_halves(grid, all, kPlaces, to);
  for (float* const row : to) std::fill_n(row + kPlaces, around + kMargin, 0.0f);
  const Alikes compared{to[0], to[1], to[2], kPlaces};
  std::vector<float> likeness(kPlaces + kMargin);
  find_likeness_beside_tones(grid, &compared, kPlaces, likeness.data());
  int counted = 0;
  for (std::int64_t j = 0; j < kPlaces; ++j) {
    const Alike own = halves_at(grid, all, j);
    const float inverse = inverse_energy(own);
    ASSERT_EQ(to[2][j], inverse) << j;
    ASSERT_EQ(to[0][j], inverse > 0 ? own.c.re : 0) << j;
    ASSERT_EQ(to[1][j], inverse > 0 ? own.c.im : 0) << j;
    Combined one;
    one.add(halves_beside_tones(grid, compared, j).c);
    ASSERT_EQ(likeness[static_cast<std::size_t>(j)], one.value()) << j;
    counted += one.value() > 0;
  }
  EXPECT_GT(counted, 300);
  EXPECT_LT(counted, 990);
}

/// A tone is measured at 60 grid points, no more, so they are further apart; the halo is the longest there is.
TEST(OfdmSyncTones, LongFramesOfShortSymbols) {
  const std::string keys = "fft: 64, carriers: 42, prefix: 9, frame: 6000, tx: 1, pilot_every: 10, " + kRejects;
  Scene s{.format = {.fft = 64, .carriers = 42, .prefix = 9, .frame = 6000, .tx = 1, .pilot_every = 10}, .rx = 4};
  s.starts = {2000, 8000, 15000};
  s.length = 22000;
  s.rate_hz = kSpacing * 64;
  s.noise_db = -20;
  s.tone_db = 16;
  s.tone_at = -12.4;
  const auto x = rounded(receive(s));
  const Results whole = sync(keys, x, {.rate_hz = s.rate_hz});
  expect_near(whole.start, s.starts, 2, s.tone_at);
  for (const std::int64_t length : {777, 6001})
    EXPECT_TRUE(same(sync(keys, x, {.lengths = {length}, .rate_hz = s.rate_hz}), whole)) << length;
}

TEST(OfdmSyncTones, NothingIsFoundInZerosOrInWhatIsTooWeakToSquare) {
  for (const cf32 v : {cf32(0, 0), cf32(1e-30f, 0), cf32(1e-22f, 0), cf32(kNan, 0), cf32(0, kInf), cf32(1e30f, 0)}) {
    Rows<cf32> x(2, std::vector<cf32>(30000, v));
    EXPECT_THAT(sync(kRejects, x).events, ElementsAre(0, 0, 0, 0)) << v;
    const auto noise = testing::complex_noise(30000, 3);
    for (std::size_t n = 0; n < noise.size(); ++n) x[0][n] = v * noise[n];
    EXPECT_THAT(sync(kRejects, x).events, ElementsAre(0, 0, 0, 0)) << v << " times noise";
  }
}

/// A NaN takes its own frame along. The halves that it is part of do not count for the others.
TEST(OfdmSyncTones, FramesThatAreNotFiniteAreLeftOut) {
  const Scene s = short_scene_beside_tone({500, 1660, 2820, 4500});
  const auto clean = rounded(receive(s));
  ASSERT_EQ(sync_short_beside_tone(clean).start, s.starts);
  for (const float bad : {kNan, kInf, -kInf, 1e30f}) {
    auto x = clean;
    x[1][1660 + 900].real(bad);
    x[0][2820 + 1159].imag(bad);
    const Results r = sync_short_beside_tone(x);
    EXPECT_EQ(r.start, (Starts{500, 4500})) << bad;
    EXPECT_THAT(r.events, ElementsAre(2, 0, 2, 0)) << bad;
    EXPECT_TRUE(same(sync_short_beside_tone(x, {.lengths = {333}}), r)) << bad;
  }
}

/// Levels where squares are hardly numbers. Antennas so far apart do not disturb each other.
TEST(OfdmSyncTones, LevelsDoNotMatter) {
  Scene s = short_scene_beside_tone({100, 1400, 2600});
  const auto clean = rounded(receive(s));
  const Results expected = sync_short_beside_tone(clean);
  ASSERT_EQ(expected.start, s.starts);
  for (const float gain : {0x1p-48f, 0x1p20f, 0x1p40f}) {
    auto x = clean;
    for (auto& row : x)
      for (cf32& v : row) v *= gain;
    const Results r = sync_short_beside_tone(x);
    EXPECT_EQ(r.start, s.starts) << gain;
    EXPECT_TRUE(same_bits(r.metric, expected.metric)) << gain;
    x = clean;
    for (cf32& v : x[0]) v *= gain;
    EXPECT_EQ(sync_short_beside_tone(x).start, s.starts) << gain;
  }
}

TEST(OfdmSyncTones, RadioSamplesAsTheyCome) {
  const Scene s = short_scene_beside_tone({0, 1500, 2900});
  Rows<sc16> x;
  Rows<cf32> same_samples;
  for (const auto& row : rounded(receive(s))) {
    auto& to = x.emplace_back();
    auto& also = same_samples.emplace_back();
    for (const cf32 v : row) {
      to.push_back({static_cast<std::int16_t>(v.real() * 4000), static_cast<std::int16_t>(v.imag() * 4000)});
      also.emplace_back(static_cast<float>(to.back().re) / 32768, static_cast<float>(to.back().im) / 32768);
    }
  }
  const std::string keys = kShort + ", " + kRejects;
  const Cut cut{.lengths = {1000}, .rate_hz = kSpacing * 128};
  const Results r = sync(keys, x, cut);
  EXPECT_EQ(r.start, s.starts);
  EXPECT_TRUE(same(r, sync(keys, same_samples, cut)));
}

/// Half a frame more on both sides; behind the block, what was needed to have a whole frame counts towards it.
TEST(OfdmSyncTones, WhatItNeeds) {
  const auto footprint = [](const std::string& keys) {
    testing::StageUnderTest s(entry(), "{" + keys + "}", {stream_of(Element::sc16, 4, 30.72e6)}, 30720);
    EXPECT_EQ(s.complaints(), "");
    return s.footprint();
  };
  const Footprint with = footprint(kWide + ", " + kRejects), without = footprint(kWide);
  EXPECT_EQ(with.past, without.past + 15360);
  EXPECT_EQ(without.future, 30720);
  // From the new samples' end: the latest g, half a frame, one L, half a frame, and the halves there.
  EXPECT_EQ(with.future, 1024 + 144 + 15360 + 1024 + 15360 + 1024 + 1024);
}

}  // namespace
}  // namespace iqd::ofdm_sync
