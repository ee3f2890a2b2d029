// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/positions.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace iqd {
namespace {

/// All small footprints, for brute force.
std::vector<Footprint> footprints(std::int64_t most = 5) {
  std::vector<Footprint> all;
  for (std::int64_t granule = 1; granule <= most; ++granule)
    for (std::int64_t yield = 1; yield <= most; ++yield)
      for (const bool whole : {false, true}) all.push_back({0, 0, granule, yield, whole});
  return all;
}

/// The input position where output position p starts: its granule, or its own place in it.
std::int64_t start_of(const Footprint& f, std::int64_t p) {
  return f.whole ? floor_div(p, f.yield) * f.granule : floor_div(p * f.granule, f.yield);
}
/// One past the last input position that it needs: the end of the granule, or of its own sample.
std::int64_t needs_before(const Footprint& f, std::int64_t p) {
  return f.whole ? (floor_div(p, f.yield) + 1) * f.granule : floor_div(p * f.granule, f.yield) + 1;
}

TEST(Positions, DivisionsRoundTowardsTheirSide) {
  for (std::int64_t a = -20; a <= 20; ++a)
    for (std::int64_t b = 1; b <= 7; ++b) {
      std::int64_t floor = -100;
      while ((floor + 1) * b <= a) ++floor;
      EXPECT_EQ(floor_div(a, b), floor) << a << "/" << b;
      EXPECT_EQ(ceil_div(a, b), floor + (floor * b < a)) << a << "/" << b;
    }
}

TEST(Positions, RatesAreKeptInLowestTerms) {
  for (std::int64_t a = 1; a <= 8; ++a)
    for (std::int64_t b = 1; b <= 8; ++b)
      for (std::int64_t c = 1; c <= 8; ++c)
        for (std::int64_t d = 1; d <= 8; ++d) {
          const Rate r = Rate{}.times(a, b).times(c, d);
          EXPECT_EQ(r.num * b * d, r.den * a * c);
          EXPECT_EQ(std::gcd(r.num, r.den), 1);
        }
}

/// Years of samples, and ratios of large numbers: the products alone would not fit.
TEST(Positions, FarPositionsScaleToTheOneThatFollows) {
  for (const Footprint& f : {Footprint{.granule = 67108859, .yield = 67108864}, {.granule = 67108864, .yield = 3}})
    for (const std::int64_t n : {std::int64_t{0}, std::int64_t{12345}, (std::int64_t{1} << 54) + 17}) {
      const std::int64_t p = first_from(f, n);
      // Position p lies at p granule / yield, at or after n; the one before it does not. Modulo 2^64.
      const auto bits = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
      const auto beyond = static_cast<std::int64_t>(bits(p) * bits(f.granule) - bits(n) * bits(f.yield));
      EXPECT_GE(beyond, 0) << n;
      EXPECT_LT(beyond, f.granule) << n;
    }
}

TEST(Positions, SampleOfIsTheSampleAtOrBefore) {
  for (std::int64_t num = 1; num <= 7; ++num)
    for (std::int64_t den = 1; den <= 7; ++den)
      for (std::int64_t p = 0; p < 60; ++p)
        EXPECT_EQ((Rate{num, den}.sample_of(p)), p * den / num) << p << " at " << num << "/" << den;
  // A year at 245.76 MS/s, decimated and interpolated: the product alone would not fit.
  const std::int64_t year = 245'760'000ll * 31'536'000;
  EXPECT_EQ((Rate{4096, 5461}.sample_of(year / 5461 * 4096)), year / 5461 * 5461);
}

TEST(Positions, FirstFromIsTheFirstThatStartsThere) {
  for (const Footprint& f : footprints())
    for (std::int64_t n = 0; n < 40; ++n) {
      std::int64_t p = 0;
      while (start_of(f, p) < n) ++p;
      EXPECT_EQ(first_from(f, n), p) << n << " granule " << f.granule << " yield " << f.yield << " whole " << f.whole;
    }
}

TEST(Positions, MakeableBeforeIsWhatTheSamplesSufficeFor) {
  for (const Footprint& f : footprints())
    for (std::int64_t n = 0; n < 40; ++n) {
      std::int64_t p = 0;
      while (needs_before(f, p) <= n) ++p;
      EXPECT_EQ(makeable_before(f, n), p) << n << " granule " << f.granule << " yield " << f.yield << f.whole;
    }
}

TEST(Positions, MostFromIsReachedAndNeverExceeded) {
  for (const Footprint& f : footprints())
    for (std::int64_t n = 1; n < 20; ++n) {
      std::int64_t most = 0;
      for (std::int64_t at = 0; at < 60; ++at) most = std::max(most, first_from(f, at + n) - first_from(f, at));
      EXPECT_EQ(most_from(f, n), most) << n << " granule " << f.granule << " yield " << f.yield << f.whole;
    }
}

/// New parts follow each other without hole or overlap for any cut of the stream.
TEST(Positions, SpansTileTheOutput) {
  for (const Footprint& f : footprints())
    for (std::int64_t block = 1; block < 12; ++block) {
      std::int64_t expected = 0;
      for (std::int64_t at = 0; at < 60; at += block) {
        const Span s = advance(f, {at, at + block + f.granule, at, at + block}, {});
        EXPECT_EQ(s.first_new, expected);
        EXPECT_EQ(s.end, s.end_new) << "granule " << f.granule << " yield " << f.yield << " whole " << f.whole;
        expected = s.end_new;
      }
    }
}

TEST(Positions, SpansAreCutToWhatExistsAndWhatIsNeeded) {
  const Footprint decimate{0, 0, 4, 1, false};
  const Span s = advance(decimate, {90, 210, 100, 200}, {2, 1});
  EXPECT_EQ(s.first_new, 25);
  EXPECT_EQ(s.end_new, 50);
  EXPECT_EQ(s.first, 23);  // two before, though 90 would give as many
  EXPECT_EQ(s.end, 51);
  const Span young = advance(decimate, {97, 200, 100, 200}, {2, 1});
  EXPECT_EQ(young.first, 25);  // the window begins at 97: nothing before 100 starts in it
  EXPECT_EQ(young.end, 50);
  EXPECT_EQ(advance({0, 0, 8, 8, true}, {0, 7, 0, 7}, {}).length(), 0) << "no whole frame";
}

/// A window with the computed reach holds everything that the outputs read.
void expect_reach_suffices(const Footprint& f, const Reach& out, std::int64_t first, std::int64_t length,
                           bool aligned) {
  const Reach in = reach_before(f, out, aligned);
  const std::int64_t end = first + length;
  const std::int64_t out_first = first_from(f, first) - out.past;
  const std::int64_t out_end = first_from(f, end) + out.future;
  for (std::int64_t p = std::max<std::int64_t>(0, out_first); p < out_end; ++p) {
    const std::int64_t base = f.whole ? p / f.yield * f.granule : p * f.granule / f.yield;
    const std::int64_t last = base + (f.whole ? f.granule - 1 : 0) + f.future;
    EXPECT_GE(base - f.past, first - in.past) << "position " << p;
    EXPECT_LT(last, end + in.future) << "position " << p;
  }
}

TEST(Positions, ReachSufficesForEveryBlock) {
  for (Footprint f : footprints(4))
    for (std::int64_t past = 0; past <= 3; past += 3)
      for (std::int64_t future = 0; future <= 2; future += 2)
        for (std::int64_t out_past = 0; out_past <= 3; ++out_past)
          for (std::int64_t out_future = 0; out_future <= 3; ++out_future)
            for (std::int64_t block = 1; block <= 9; ++block) {
              f.past = past, f.future = future;
              const bool aligned = block % f.granule == 0;
              for (std::int64_t at = 5 * block; at < 9 * block; at += block)
                expect_reach_suffices(f, {out_past, out_future}, at, block, aligned);
              if (::testing::Test::HasFailure())
                FAIL() << "granule " << f.granule << " yield " << f.yield << " whole " << f.whole << " block " << block;
            }
}

/// The reach is at most a granule more than the farthest sample that is read.
TEST(Positions, ReachIsNotWasted) {
  for (const Footprint& f : footprints())
    for (std::int64_t past = 0; past < 8; ++past) {
      const Reach in = reach_before(f, {past, 0}, true);
      EXPECT_LE(in.past * f.yield, (past + f.yield) * f.granule + f.yield);
      EXPECT_EQ(in.future, 0);
    }
}

}  // namespace
}  // namespace iqd
