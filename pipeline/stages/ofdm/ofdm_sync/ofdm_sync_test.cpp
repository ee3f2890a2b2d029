// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/ofdm_sync/ofdm_sync.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "tests/support/ofdm_sync_under_test.hpp"

namespace iqd::ofdm_sync {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StageUnderTest;

TEST(OfdmSync, FindsFramesBackToBackAndWithGaps) {
  const OfdmFormat format;
  Scene s{.format = format, .starts = {500, 500 + 7680, 500 + 2 * 7680 + 3001}};
  s.length = s.starts.back() + 7680 + 10;
  s.noise_db = -20;
  const auto x = rounded(receive(s));
  const Results r = sync("", x);
  EXPECT_EQ(r.start, s.starts);
  EXPECT_THAT(r.events, ElementsAre(3, 0, 0, 0));
  for (const float metric : r.metric) EXPECT_NEAR(metric, 1 / 1.01, 0.005);
}

/// Sample m of a frame times exp(-2 pi j offset m / rate), with the reported offset.
TEST(OfdmSync, FramesAreTheSamplesWithoutTheOffset) {
  Scene s = short_scene({300, 1700});
  s.offset_hz = 12345;
  const auto x = rounded(receive(s));
  const Results r = sync_short(x);
  ASSERT_EQ(r.start, s.starts);
  std::size_t i = 0;
  for (std::size_t f = 0; f < 2; ++f)
    for (const auto& row : x)
      for (std::int64_t m = 0; m < 1160; ++m, ++i) {
        const double turns = -static_cast<double>(r.offset_hz[f]) * static_cast<double>(m) / (kSpacing * 128);
        const auto exact = std::complex<double>(row[static_cast<std::size_t>(s.starts[f] + m)]) *
                           std::polar(1.0, 2 * std::numbers::pi * turns);
        ASSERT_LT(std::abs(std::complex<double>(r.frames[i]) - exact), 3e-7 * std::abs(exact) + 1e-12) << f << " " << m;
      }
}

TEST(OfdmSync, HowTheStreamIsCutDoesNotMatter) {
  Scene s = short_scene({0, 1160, 2600, 3760, 4920, 7000});
  s.offset_hz = -33e3;
  s.noise_db = -6;
  s.echoes = {{0, -3}, {7, 0}, {13, -6}};
  const auto x = rounded(receive(s));
  const Results whole = sync_short(x);
  EXPECT_EQ(whole.start.size(), s.starts.size());
  expect_cuts_do_not_matter(x, whole, [](const auto& rows, const Cut& cut) { return sync_short(rows, cut); });
  Rows<cf32> front;
  for (const auto& row : x) front.emplace_back(row.begin(), row.begin() + 1900);
  EXPECT_TRUE(same(sync_short(front, {.lengths = {1}}), sync_short(front)));
}

/// The grid follows the absolute position, and after a gap a stream may begin anywhere.
TEST(OfdmSync, AStreamMayBeginAnywhere) {
  const Scene s = short_scene({40, 1201, 3000});
  const auto x = rounded(receive(s));
  for (const std::int64_t first : {1, 2, 3, 1000003}) {
    const Results whole = sync_short(x, {.first_of_all = first});
    EXPECT_EQ(whole.start, (Starts{first + 40, first + 1201, first + 3000}));
    EXPECT_TRUE(same(sync_short(x, {.lengths = {333}, .first_of_all = first}), whole));
  }
}

TEST(OfdmSync, ATailIsWhatFollowsAsFarAsItExists) {
  Scene s = short_scene({300, 1460, 3000});
  s.offset_hz = 12345;
  const auto x = rounded(receive(s));
  const std::int64_t tail = 24 + 2 * 144 + 128, given = 1160 + tail;
  const auto sync_tail = [](const Rows<cf32>& rows, Cut cut = {}) {
    cut.rate_hz = kSpacing * 128;
    return sync(kShort + ", tail: true", rows, cut);
  };
  Rows<cf32> front;
  for (const auto& row : x) front.emplace_back(row.begin(), row.begin() + 3000 + 1160 + 100);
  const Results r = sync_tail(front), plain = sync_short(front);
  ASSERT_EQ(r.start, s.starts);
  EXPECT_EQ(r.events, plain.events);
  EXPECT_TRUE(same_bits(r.offset_hz, plain.offset_hz));
  ASSERT_EQ(std::ssize(r.frames), 3 * 2 * given);
  std::size_t i = 0;
  for (std::size_t f = 0; f < 3; ++f)
    for (const auto& row : front)
      for (std::int64_t m = 0; m < given; ++m, ++i) {
        const std::int64_t n = s.starts[f] + m;
        const double turns = -static_cast<double>(r.offset_hz[f]) * static_cast<double>(m) / (kSpacing * 128);
        const auto exact = n < std::ssize(row) ? std::complex<double>(row[static_cast<std::size_t>(n)]) *
                                                     std::polar(1.0, 2 * std::numbers::pi * turns)
                                               : 0;
        ASSERT_LT(std::abs(std::complex<double>(r.frames[i]) - exact), 3e-7 * std::abs(exact) + 1e-12) << f << " " << m;
      }
  expect_cuts_do_not_matter(front, r, sync_tail);
}

TEST(OfdmSync, AFrameNeedsItsEnd) {
  const auto x = rounded(receive(short_scene({500})));
  const auto front = [&](std::int64_t length) {
    Rows<cf32> y;
    for (const auto& row : x) y.emplace_back(row.begin(), row.begin() + length);
    return sync_short(y);
  };
  EXPECT_THAT(front(500 + 1160).events, ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(front(500 + 1159).events, ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(front(500 + 700).events, ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(front(500 + 300).events, ElementsAre(0, 0, 0, 0));  // ends before its known symbols do
}

TEST(OfdmSync, AFrameWithoutItsBeginningIsCut) {
  const auto x = rounded(receive(short_scene({0, 1160})));
  for (const std::int64_t lost : {1, 2, 3, 10, 16}) {
    Rows<cf32> rest;
    for (const auto& row : x) rest.emplace_back(row.begin() + lost, row.end());
    const Results r = sync_short(rest);
    // Up to two samples are attributed to the channel.
    if (lost <= 2) {
      EXPECT_EQ(r.start, (Starts{0, 1160 - lost})) << lost;
    } else {
      EXPECT_EQ(r.start, Starts{1160 - lost}) << lost;
    }
    EXPECT_THAT(r.events, ElementsAre(lost <= 2 ? 2 : 1, lost <= 2 ? 0 : 1, 0, 0)) << lost;
    EXPECT_TRUE(same(sync_short(rest, {.lengths = {lost == 3 ? 1 : 37, 90}}), r)) << lost;
  }
}

TEST(OfdmSync, FramesThatAreNotFiniteAreLeftOut) {
  const Scene s = short_scene({500, 1660, 2820, 4500});
  const auto clean = rounded(receive(s));
  for (const float bad : {kNan, kInf, -kInf, 1e30f}) {
    auto x = clean;
    x[1][1660 + 900].real(bad);  // in the data
    x[0][2820 + 1159].imag(bad);
    const Results r = sync_short(x);
    EXPECT_EQ(r.start, (Starts{500, 4500})) << bad;
    EXPECT_THAT(r.events, ElementsAre(2, 0, 2, 0)) << bad;
    EXPECT_TRUE(same(sync_short(x, {.lengths = {333}}), r)) << bad;
    for (cf32& v : x[1]) v = {bad, 0};  // an antenna of nothing else: frames are found, but not sent
    EXPECT_THAT(sync_short(x).events, ElementsAre(0, 0, 4, 0)) << bad;
  }
}

TEST(OfdmSync, EnergiesOutOfRangeAreLeftOut) {
  const auto clean = rounded(receive(short_scene({300})));
  for (const auto& [gain, found] : {std::pair{1e-15f, 1}, {1e-17f, 0}, {1e13f, 1}, {1e14f, 0}}) {
    auto x = clean;
    for (auto& row : x)
      for (cf32& v : row) v *= gain;
    EXPECT_THAT(sync_short(x).events, ElementsAre(found, 0, 1 - found, 0)) << gain;
  }
}

TEST(OfdmSync, RadioSamplesAsTheyCome) {
  const Scene s = short_scene({0, 1500, 2900});
  Rows<sc16> x;
  Rows<cf32> same_samples;
  for (const auto& row : rounded(receive(s))) {
    auto& to = x.emplace_back();
    auto& also = same_samples.emplace_back();
    for (const cf32 v : row) {
      to.push_back({static_cast<std::int16_t>(v.real() * 5000), static_cast<std::int16_t>(v.imag() * 5000)});
      also.emplace_back(static_cast<float>(to.back().re) / 32768, static_cast<float>(to.back().im) / 32768);
    }
  }
  const Cut cut{.lengths = {1000}, .rate_hz = kSpacing * 128};
  const Results r = sync(kShort, x, cut);
  EXPECT_EQ(r.start, s.starts);
  EXPECT_TRUE(same(r, sync(kShort, same_samples, cut)));
}

/// Frames in noise of these levels; each ends where the next begins.
Rows<cf32> overlapping(const Starts& starts, const std::vector<double>& noise_db) {
  Rows<cf32> x(2, std::vector<cf32>(static_cast<std::size_t>(starts.back() + 1160)));
  for (std::size_t f = 0; f < starts.size(); ++f) {
    Scene one = short_scene({starts[f]});
    one.seed = 50 + static_cast<unsigned>(f);
    one.noise_db = noise_db[f % noise_db.size()];
    const auto y = rounded(receive(one));
    for (std::size_t r = 0; r < x.size(); ++r) std::copy_n(y[r].begin() + starts[f], 1160, x[r].begin() + starts[f]);
  }
  return x;
}

TEST(OfdmSync, OfFramesNearerThanHalfTheOneThatFitsBest) {
  EXPECT_EQ(sync_short(overlapping({100, 100 + 560}, {-20, -3})).start, Starts{100});
  EXPECT_EQ(sync_short(overlapping({100, 100 + 560}, {-3, -20})).start, Starts{100 + 560});
  EXPECT_EQ(sync_short(overlapping({100, 100 + 600}, {-20, -3})).start, (Starts{100, 100 + 600}));
}

TEST(OfdmSync, HowAStreamOfManyCandidatesIsCutDoesNotMatter) {
  Starts starts;
  for (std::int64_t i = 0; i < 20; ++i) starts.push_back(100 + 545 * i + i * i);
  const auto x = overlapping(starts, {-20, -4, -10, -2, -7, -3, -15});
  const Results whole = sync_short(x);
  EXPECT_GT(whole.start.size(), 5u);
  EXPECT_LT(whole.start.size(), 19u);
  for (const std::int64_t length : {31, 200, 577, 1160, 2001})
    EXPECT_TRUE(same(sync_short(x, {.lengths = {length}}), whole)) << length;
}

TEST(OfdmSync, MoreThanThereIsRoomFor) {
  Starts starts;
  for (std::int64_t i = 0; i < 19; ++i) starts.push_back(100 + 700 * i);
  const auto x = overlapping(starts, {-30});  // 13860 samples: room for 12 and two more
  const Results r = sync_short(x);
  EXPECT_EQ(r.start, Starts(starts.begin(), starts.begin() + 14));
  EXPECT_THAT(r.events, ElementsAre(14, 0, 0, 5));
}

TEST(OfdmSync, WhatItNeedsAndGives) {
  StageUnderTest s(entry(), "{" + kWide + "}", {stream_of(Element::sc16, 4, 30.72e6)}, 30720);
  EXPECT_EQ(s.complaints(), "");
  EXPECT_EQ(s.out(0).text(), "cf32 [frame up to 3][rx 4][sample 30720]");
  EXPECT_EQ(s.out(1).text(), "i64 [frame up to 3]");
  EXPECT_EQ(s.out(2).text(), "f32 [frame up to 3]");
  EXPECT_EQ(s.out(3).text(), "f32 [frame up to 3]");
  EXPECT_EQ(s.out(4).text(), "i64 [event 4]");
  EXPECT_EQ(s.footprint().past, 15360 + 2048);
  EXPECT_EQ(s.footprint().future, 30720);  // needed to have a whole frame
  EXPECT_FALSE(s.chunk_exempt());
}

TEST(OfdmSync, RefusesWhatCannotBe) {
  const auto complaints = [](const std::string& yaml, const PortShape& in = stream_of(Element::cf32, 2, kRate)) {
    return StageUnderTest(entry(), yaml, {in}).complaints();
  };
  EXPECT_EQ(complaints("{}"), "");
  EXPECT_THAT(complaints("{threshold: 1.5}"), HasSubstr("threshold"));
  EXPECT_THAT(complaints("{fft: 500}"), HasSubstr("fft"));
  EXPECT_THAT(complaints("{max_offset: 2 MHz}"), HasSubstr("max_offset: must be at most 480 kHz"));
  EXPECT_THAT(complaints("{}", stream_of(Element::cf32, 65, kRate)), HasSubstr("1 to 64 antennas"));
  EXPECT_THAT(complaints("{}", stream_of(Element::cf32, 2, 0)), HasSubstr("needs the sample rate"));
}

}  // namespace
}  // namespace iqd::ofdm_sync
