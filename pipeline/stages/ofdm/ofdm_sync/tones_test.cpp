// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Frames beside steady tones: the key `reject_tones`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "tests/support/ofdm_sync_under_test.hpp"

namespace iqd::ofdm_sync {
namespace {

using ::testing::ElementsAre;

/// The worst error of the offset in carriers.
double worst_offset(const Results& r, const Scene& s) {
  double worst = 0;
  for (const float offset : r.offset_hz) worst = std::max(worst, std::abs(offset - s.offset_hz) / kSpacing);
  return worst;
}

/// At 30 dB, a tone is 5 dB above all carriers together. Without the key, most frames are lost and their offsets wrong.
TEST(OfdmSyncTones, FramesAreFoundBesideATone) {
  std::size_t without = 0;
  unsigned seed = 0;
  for (const std::int64_t rx : {1, 2, 4})
    for (const double at : {40.5, -97.2, 130.0, -6.5, 1.0, 0.4}) {
      const Scene s = scene_beside_tone(30, at, rx, ++seed);
      const auto x = rounded(receive(s));
      const Results r = sync(kRejects, x);
      expect_near(r.start, s.starts, 4, at);
      // One standard deviation is 0.007 with four antennas and 0.016 with one.
      EXPECT_LE(worst_offset(r, s), rx == 1 ? 0.08 : 0.05) << at << " " << rx;
      without += sync("", x).start.size();
    }
  EXPECT_LT(without, 75u);  // of 90
}

TEST(OfdmSyncTones, StartsAreExactWithOnePath) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    Scene s = scene_beside_tone(30, 17.5 + 9 * seed, 2, seed);
    s.echoes = {{}};
    EXPECT_EQ(sync(kRejects, rounded(receive(s))).start, s.starts) << seed;
  }
}

/// If the signal's power is spread over many paths, the carriers next to a tone are as strong, and look like an early
/// path.
TEST(OfdmSyncTones, ATonesCarriersAreNoPath) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    Scene s = scene_beside_tone(30, 17.5 + 9 * seed, 2, seed);
    s.echoes = {{0, 0}, {5, 0}, {10, -1}, {15, -2}, {21, -3}};
    expect_near(sync(kRejects, rounded(receive(s))).start, s.starts, 3, s.tone_at);
  }
}

/// Prefixes are as far apart as symbols: at 6.5 carriers a tone has nearly the same phase in all of them.
TEST(OfdmSyncTones, AToneThatRepeatsWithThePrefixesDoesNotMoveTheOffset) {
  for (const double at : {-6.5, 7.5, 0.93 * 7, 0.93 * 8}) {
    const Scene s = scene_beside_tone(30, at, 4, 9);
    const Results r = sync(kRejects, rounded(receive(s)));
    ASSERT_EQ(r.start.size(), s.starts.size()) << at;
    EXPECT_LE(worst_offset(r, s), 0.04) << at;
  }
}

/// M is the largest within one prefix of the start, on the grid.
TEST(OfdmSyncTones, TheMetricFollowsTheFormula) {
  for (const double tone_db : {-30.0, 20.0, 30.0, 38.0}) {
    const Scene s = scene_beside_tone(tone_db, 40.5);
    const auto x = receive(s);
    const Results r = sync(kRejects, rounded(x));
    ASSERT_GE(r.start.size(), 3u) << tone_db;
    for (std::size_t f = 0; f < r.start.size(); ++f) {
      double largest = 0;
      for (std::int64_t g = r.start[f] / 16 * 16 - 128; g <= r.start[f] + 160; g += 16)
        largest = std::max(largest, likeness_beside_tones(x, s.format, g));
      EXPECT_NEAR(r.metric[f], largest, 1e-5) << tone_db << " " << f;
    }
  }
}

/// Without a tone, the key costs a little of the offset's precision and nothing else.
TEST(OfdmSyncTones, WithoutAToneTheSameFramesAreFound) {
  for (const double noise_db : {-30, -10, -3})
    for (unsigned seed = 1; seed <= 4; ++seed) {
      Scene s = scene_beside_tone(0, 0, 2, seed);
      s.tone_db = {};
      s.noise_db = noise_db;
      const auto x = rounded(receive(s));
      const Results with = sync(kRejects, x), without = sync("", x);
      EXPECT_EQ(without.start.size(), s.starts.size());
      EXPECT_EQ(with.start, without.start) << noise_db << " " << seed;
      EXPECT_EQ(with.events, without.events);
      EXPECT_LE(worst_offset(with, s), worst_offset(without, s) + 0.01);
    }
}

/// Every other frame is weaker. Half of what a tone is measured from is then the neighbours.
TEST(OfdmSyncTones, StrongFramesHideNoWeakOnes) {
  Scene s = scene_beside_tone(0, 0);
  s.tone_db = {};
  s.noise_db = -40;
  for (const float gain : {0.3f, 0.1f}) {
    auto x = rounded(receive(s));
    for (auto& row : x)
      for (const std::size_t f : {1, 3})
        for (std::int64_t n = s.starts[f]; n < s.starts[f] + 7680; ++n) row[static_cast<std::size_t>(n)] *= gain;
    EXPECT_EQ(sync(kRejects, x).start, sync("", x).start) << gain;
    EXPECT_EQ(sync(kRejects, x).start.size(), s.starts.size()) << gain;
  }
}

TEST(OfdmSyncTones, NothingIsFoundInTonesAndNoise) {
  const auto noise = testing::complex_noise(200000, 3), more = testing::complex_noise(200000, 4);
  for (const double level : {0.0, 1e-3, 0.1, 1.0, 10.0, 1e6})
    for (const double at : {0.0, 0.3, 7.5, -63.3}) {
      Rows<cf32> x{noise, more};
      for (auto& row : x)
        for (std::size_t n = 0; n < row.size(); ++n)
          row[n] += cf32(std::polar(level, 2 * std::numbers::pi * at / 512 * static_cast<double>(n)));
      EXPECT_THAT(sync(kRejects, x).events, ElementsAre(0, 0, 0, 0)) << level << " " << at;
      for (auto& row : x)
        for (std::size_t n = 0; n < row.size(); ++n)
          row[n] = cf32(std::polar(level, 2 * std::numbers::pi * at / 512 * static_cast<double>(n)));
      EXPECT_THAT(sync(kRejects, x).events, ElementsAre(0, 0, 0, 0)) << level << " " << at << " alone";
    }
}

/// The DC offset of radios, 10 dB above the signal, and a tone.
TEST(OfdmSyncTones, AConstantAndATone) {
  const Scene s = scene_beside_tone(30, -40.5, 2, 5);
  auto x = rounded(receive(s));
  for (auto& row : x)
    for (cf32& v : row) v += cf32(2, -2.5f);
  const Results r = sync(kRejects, x);
  expect_near(r.start, s.starts, 4, s.tone_at);
  EXPECT_LE(worst_offset(r, s), 0.05);
}

}  // namespace
}  // namespace iqd::ofdm_sync
