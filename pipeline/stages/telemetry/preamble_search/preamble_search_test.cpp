// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/preamble_search/preamble_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <random>

#include "pipeline/stages/telemetry/preamble_search/preamble_search_for_test.hpp"
#include "pipeline/stages/telemetry/preamble_search/preamble_search_model.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::preamble_search {
namespace {

using testing::complex_noise;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StageUnderTest;
using testing::stream_of;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

/// found, cut, not_finite, crowded
Counts first_events(const Counts& events) {
  return {events.begin(), events.begin() + 4};
}

TEST(PreambleSearch, FindsPacketsBackToBackAndWithGaps) {
  const PacketFormat inet;
  const Starts starts{300, 300 + 12672, 300 + 2 * 12672 + 5001, 300 + 3 * 12672 + 5009};
  const auto x = stream_with(inet, starts, starts.back() + 12672 + 300);
  const Results r = search("", x);
  EXPECT_EQ(r.start, starts);
  EXPECT_THAT(first_events(r.events), ElementsAre(4, 0, 0, 0));
  ASSERT_EQ(std::ssize(r.windows), 4 * 13184);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    EXPECT_EQ(r.metric[i], r.correlation[static_cast<std::size_t>(starts[i])]);
    EXPECT_GT(r.metric[i], 0.95);
    EXPECT_TRUE(std::equal(x.begin() + starts[i] - 256, x.begin() + starts[i] + 12672 + 256,
                           r.windows.begin() + static_cast<std::int64_t>(i) * 13184));
  }
}

TEST(PreambleSearch, TheCorrelationIsWhatTheFormulaSays) {
  auto x = stream_with(short_format(), {300}, 2500);
  add_noise(x, 0.2);
  const auto q = soqpsk::preamble_waveform(short_format(), soqpsk::Template::exact);
  const Results r = search(kShort, x);
  for (std::size_t n = 0; n < x.size(); ++n) {
    double level = 0, energy = 0, template_energy = 0;
    for (std::size_t m = 0; m < 8 && n + 256 <= x.size(); ++m) {
      std::complex<double> c = 0;
      for (std::size_t l = 0; l < 32; ++l) {
        const std::complex<double> v(x[n + 32 * m + l]);
        c += v * std::conj(q[l]);
        energy += std::norm(v);
        template_energy += std::norm(q[l]) / 8;
      }
      level += std::norm(c);
    }
    // float32: some 300 operations in a row
    EXPECT_NEAR(r.correlation[n], energy > 0 ? level / (template_energy * energy) : 0, 2e-6) << n;
  }
}

TEST(PreambleSearch, HowTheStreamIsCutDoesNotMatter) {
  const Starts starts{0, 1408, 3000, 4408, 5816, 7900};
  const auto x = stream_with(short_format(), starts, 7900 + 1408 + 256);
  const Results whole = search(kShort, x);
  EXPECT_EQ(whole.start, starts);
  for (const std::vector<std::int64_t>& lengths :
       {std::vector<std::int64_t>{29}, {1, 1407, 1, 1591, 1408}, {3000, 4900}, {97, 5000, 3}, {1408}, {1472}, {1344}})
    EXPECT_TRUE(same(search(kShort, x, lengths), whole)) << lengths[0];
  const std::vector<cf32> front(x.begin(), x.begin() + 1800);
  EXPECT_TRUE(same(search(kShort, front, {1}), search(kShort, front)));
}

TEST(PreambleSearch, ThePacketAtTheVeryStartHasZerosBeforeIt) {
  const auto x = stream_with(short_format(), {0}, 1408 + 256);
  const Results r = search(kShort, x);
  ASSERT_THAT(r.start, ElementsAre(0));
  EXPECT_THAT(std::vector<cf32>(r.windows.begin(), r.windows.begin() + 256), Each(cf32(0, 0)));
  EXPECT_TRUE(std::equal(x.begin(), x.end(), r.windows.begin() + 256));
}

TEST(PreambleSearch, APacketNeeds256SamplesBehindIt) {
  EXPECT_THAT(first_events(search(kShort, stream_with(short_format(), {500}, 500 + 1408 + 256)).events),
              ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(first_events(search(kShort, stream_with(short_format(), {500}, 500 + 1408 + 255)).events),
              ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(first_events(search(kShort, stream_with(short_format(), {500}, 500 + 384)).events),
              ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(first_events(search(kShort, stream_with(short_format(), {500}, 500 + 350)).events),
              ElementsAre(0, 0, 0, 0))
      << "without its sync word it may be anything";
}

/// The rest of its preamble leads to its sync word, which shows where it began.
TEST(PreambleSearch, APacketWithoutItsBeginningIsCut) {
  const auto x = stream_with(short_format(), {0, 1408}, 1408 + 1408 + 256);
  for (const std::int64_t lost : {5, 20, 32, 33, 100, 150}) {
    const std::vector<cf32> rest(x.begin() + lost, x.end());
    const Results r = search(kShort, rest);
    EXPECT_EQ(r.start, Starts{1408 - lost}) << lost;
    EXPECT_THAT(first_events(r.events), ElementsAre(1, 1, 0, 0)) << lost;
    EXPECT_TRUE(same(search(kShort, rest, {1, 60}), r)) << lost;
    EXPECT_TRUE(same(search(kShort, rest, {17, 90}), r)) << lost;
  }
}

/// Echoes may move a peak before the first sample: the packet still begins at that sample.
TEST(PreambleSearch, APeakJustBeforeTheFirstSampleIsAStartThere) {
  const auto x = stream_with(short_format(), {0, 1408}, 1408 + 1408 + 256);
  for (const std::int64_t early : {1, 4}) {
    const std::vector<cf32> rest(x.begin() + early, x.end());
    EXPECT_EQ(search(kShort, rest).start, (Starts{0, 1408 - early})) << early;
    EXPECT_EQ(search(kShort, rest, {17, 90}).start, (Starts{0, 1408 - early})) << early;
  }
}

TEST(PreambleSearch, NothingIsFoundInNoise) {
  const Results r = search(kShort, complex_noise(60000));
  EXPECT_THAT(first_events(r.events), ElementsAre(0, 0, 0, 0));
  EXPECT_GT(*std::max_element(r.correlation.begin(), r.correlation.end()), 0.05);
}

TEST(PreambleSearch, NothingIsFoundInZerosOrInWhatIsTooWeakToSquare) {
  for (const cf32 v : {cf32(0, 0), cf32(1e-30f, 0), cf32(kNan, 0), cf32(0, kInf), cf32(1e30f, 0)}) {
    const Results r = search(kShort, std::vector<cf32>(3000, v));
    EXPECT_THAT(first_events(r.events), ElementsAre(0, 0, 0, 0)) << v;
    EXPECT_THAT(r.correlation, Each(0)) << v;
  }
}

TEST(PreambleSearch, AConstantIsNoPacket) {
  EXPECT_TRUE(search(kShort, std::vector<cf32>(9000, cf32(1, 0))).start.empty());
}

TEST(PreambleSearch, ClippedPacketsAreFound) {
  auto x = stream_with(short_format(), {500, 1908}, 4000);
  for (cf32& v : x) v = {std::clamp(v.real(), -0.3f, 0.3f), std::clamp(v.imag(), -0.3f, 0.3f)};
  EXPECT_EQ(search(kShort, x).start, (Starts{500, 1908}));
}

TEST(PreambleSearch, WindowsThatAreNotFiniteAreLeftOut) {
  const Starts starts{500, 1908, 3316, 5000, 7000};
  const auto clean = stream_with(short_format(), starts, 9000);
  for (const float bad : {kNan, kInf, -kInf, 1e30f}) {
    auto x = clean;
    x[1908 + 1000].real(bad);  // in the data
    x[5000 + 10].imag(bad);    // in the preamble: found a few samples late
    const Results r = search(kShort, x);
    EXPECT_EQ(r.start, (Starts{500, 3316, 7000})) << bad;
    EXPECT_THAT(first_events(r.events), ElementsAre(3, 0, 2, 0)) << bad;
    EXPECT_TRUE(same(search(kShort, x, {333}), r)) << bad;
    // A sample spoils only the values that it is part of.
    const Results good = search(kShort, clean);
    for (std::int64_t n = 1908 + 1000 - 600; n < 1908 + 1000 + 300; ++n) {
      const auto i = static_cast<std::size_t>(n);
      const bool spoilt = n > 1908 + 1000 - 256 && n <= 1908 + 1000;
      EXPECT_EQ(r.correlation[i], spoilt ? 0 : good.correlation[i]) << n;
    }
  }
}

TEST(PreambleSearch, EnergiesOutOfRangeAreLeftOut) {
  for (const auto& [gain, found] : {std::pair{1e-15f, 1}, {1e-17f, 0}, {1e13f, 1}, {1e15f, 0}}) {
    auto x = stream_with(short_format(), {300}, 2200);
    for (cf32& v : x) v *= gain;
    EXPECT_THAT(first_events(search(kShort, x).events), ElementsAre(found, 0, 1 - found, 0)) << gain;
  }
}

TEST(PreambleSearch, PacketsCloserThanTheirLength) {
  const std::int64_t closest = 1408 - 64;
  EXPECT_EQ(search(kShort, stream_with(short_format(), {300, 302 + closest}, 3500)).start,
            (Starts{300, 302 + closest}));
  EXPECT_EQ(search(kShort, stream_with(short_format(), {300, 298 + closest}, 3500)).start, Starts{300})
      << "of two that are as good, the first";
  auto closer = stream_with(short_format(), {300, 300 + 700}, 3000);
  for (std::size_t n = 300; n < 500; ++n) closer[n] = 0;
  EXPECT_EQ(search(kShort, closer).start, Starts{300 + 700}) << "the second is better";
  EXPECT_EQ(search(kShort, closer, {101}).start, Starts{300 + 700});
}

TEST(PreambleSearch, OffsetGainAndNoise) {
  const PacketFormat format = short_format();
  Starts starts(12);
  for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = 400 + 1500 * static_cast<std::int64_t>(i);
  std::mt19937 engine(5);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (const double offset : {-0.09, -0.05, 0.0, 0.05, 0.09}) {
    std::vector<cf32> x = stream_with(format, starts, starts.back() + 1700);
    add_noise(x, 2 / std::pow(10.0, 0.8));  // 8 dB
    const double gain = std::pow(10.0, unit(engine));
    std::complex<double> fading = 1;
    for (std::size_t n = 0; n < x.size(); ++n) {
      if (n % 1500 == 0) fading = std::polar(gain * std::pow(10.0, 0.15 * unit(engine)), 3 * unit(engine));
      x[n] = cf32(std::complex<double>(x[n]) * fading * std::polar(1.0, offset * static_cast<double>(n)));
    }
    const Starts found = search(kShort, x).start;
    EXPECT_EQ(found, reference(format, x, 0.25)) << offset;
    const Starts rounded = search(kShort + ", template: grid45", x).start;
    ASSERT_EQ(rounded.size(), found.size()) << offset;
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_LE(std::abs(rounded[i] - found[i]), 1) << offset;
    // Near the end of the range, an offset also moves the peak by one sample.
    ASSERT_EQ(found.size(), starts.size()) << offset;
    for (std::size_t i = 0; i < starts.size(); ++i)
      EXPECT_LE(std::abs(found[i] - starts[i]), std::fabs(offset) > 0.05 ? 1 : 0) << offset;
  }
}

TEST(PreambleSearch, TheSyncWordTellsPeriodsApart) {
  auto late = stream_with(short_format(), {500}, 2500);
  for (std::size_t n = 500; n < 532; ++n) late[n] = 0;
  EXPECT_EQ(search(kShort, late).start, Starts{500});

  auto early = stream_with(short_format(), {500}, 2500);
  for (std::size_t n = 0; n < 32; ++n) {
    early[500 - 32 + n] = early[500 + 64 + n];  // one period more in front
    early[500 + 224 + n] *= 0.5f;
  }
  EXPECT_EQ(search(kShort, early).start, Starts{500});
  for (const std::int64_t cut : {467, 468, 469, 499, 500, 501, 532, 533})  // found in the block where it starts
    EXPECT_TRUE(same(search(kShort, early, {cut, 2000}), search(kShort, early))) << cut;
}

TEST(PreambleSearch, OtherPackets) {
  PacketFormat f;
  f.preamble = "B1C5F0";
  f.repeats = 5;
  f.sync_word = "1ACFFC1D7";  // one period and a half
  f.payload_bits = 402;
  f.samples_per_bit = 4;
  const Starts starts{10, 10 + f.samples(), 5000, 10000};
  const auto x = stream_with(f, starts, 10000 + f.samples() + 256);
  const std::string keys =
      "preamble: B1C5F0, repeats: 5, sync_word: 1ACFFC1D7, payload_bits: 402, samples_per_bit: 4, template: grid45";
  const Results r = search(keys, x);
  EXPECT_EQ(r.start, starts);
  EXPECT_TRUE(same(search(keys, x, {777}), r));
}

TEST(PreambleSearch, PacketsThatAreHardlyMoreThanTheirPreamble) {
  PacketFormat f;
  f.preamble = "C";
  f.repeats = 10;
  f.sync_word = "0347";
  f.payload_bits = 4;
  auto x = stream_with(f, {100, 100 + f.samples(), 600}, 1100);
  add_noise(x, 0.1);
  const std::string keys = "preamble: C, repeats: 10, sync_word: \"0347\", payload_bits: 4, threshold: 0.8";
  const Results r = search(keys, x);
  EXPECT_EQ(r.start, reference(f, x, 0.8));
  EXPECT_EQ(r.start.size(), 3u);
  EXPECT_TRUE(same(search(keys, x, {13}), r));
}

/// Many peaks that differ only by noise.
TEST(PreambleSearch, IsTheDefinitionToTheLetter) {
  PacketFormat f;
  f.preamble = "CD9";
  f.repeats = 4;
  f.sync_word = "0347B2";
  f.payload_bits = 10;
  const auto x = complex_noise(100000, 11);
  const std::string keys = "preamble: CD9, repeats: 4, sync_word: \"0347B2\", payload_bits: 10, threshold: 0.05";
  const Results r = search(keys, x);
  Starts expected = reference(f, x, 0.05);
  std::erase_if(expected, [&](std::int64_t n) { return n < 0 || n + f.samples() + 256 > std::ssize(x); });
  EXPECT_EQ(r.start, expected);
  EXPECT_GT(r.start.size(), 200u);
}

TEST(PreambleSearch, RadioSamplesAsTheyCome) {
  std::vector<sc16> x;
  std::vector<cf32> same_samples;
  for (const cf32 v : stream_with(short_format(), {0, 1500, 2908}, 5000)) {
    x.push_back({static_cast<std::int16_t>(v.real() * 20000), static_cast<std::int16_t>(v.imag() * 20000)});
    same_samples.emplace_back(static_cast<float>(x.back().re) / 32768, static_cast<float>(x.back().im) / 32768);
  }
  const Results r = search(kShort, x, {1000});
  EXPECT_EQ(r.start, (Starts{0, 1500, 2908}));
  EXPECT_TRUE(same(r, search(kShort, same_samples)));
}

TEST(PreambleSearch, MoreThanThereIsRoomFor) {
  Starts starts(120);
  for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = 200 + 1344 * static_cast<std::int64_t>(i);
  const auto x = stream_with(short_format(), starts, starts.back() + 1408 + 255);
  const std::int64_t room = (std::ssize(x) + 1407) / 1408 + 2;
  ASSERT_LT(room, 119);
  // The last one's end is missing.
  const Results r = search(kShort, x);
  EXPECT_EQ(r.start, Starts(starts.begin(), starts.begin() + room));
  EXPECT_THAT(first_events(r.events), ElementsAre(room, 1, 0, 119 - room));
}

TEST(PreambleSearch, WhatItNeedsAndGives) {
  StageUnderTest s(entry(), "{}", {stream_of(Element::cf32)}, 16 * 12672);
  EXPECT_EQ(s.out(0).text(), "cf32 [packet up to 18][window 13184]");
  EXPECT_EQ(s.out(1).text(), "i64 [packet up to 18]");
  EXPECT_EQ(s.out(2).text(), "f32 [packet up to 18]");
  EXPECT_EQ(s.out(3).text(), "f32 [n]");
  EXPECT_EQ(s.out(4).text(), "i64 [event 7]");
  EXPECT_EQ(s.out(5).text(), "u8") << "stays empty";
  EXPECT_EQ(s.out(6).text(), "f32") << "stays empty";
  EXPECT_EQ(s.out(0).rate_hz, 1e6);
  EXPECT_EQ(s.footprint().past, 12672 + 128);
  EXPECT_EQ(s.footprint().future, 12671 + 128 + 256 + 128 - 1);
  EXPECT_TRUE(s.chunk_exempt());
  StageUnderTest carry(entry(), "{chain: carry, flywheel: on}", {stream_of(Element::cf32)}, 16 * 12672);
  EXPECT_EQ(carry.footprint().past, 256);
  EXPECT_EQ(carry.out(5).text(), "u8 [packet up to 18]");
  EXPECT_EQ(carry.out(6).text(), "f32 [packet up to 18]");
}

TEST(PreambleSearch, RefusesWhatCannotBe) {
  const auto complaints = [](const std::string& yaml) {
    return StageUnderTest(entry(), yaml, {stream_of(Element::cf32)}).complaints();
  };
  EXPECT_THAT(complaints("{threshold: 1.5}"), HasSubstr("threshold"));
  EXPECT_THAT(complaints("{threshold: .nan}"), HasSubstr("threshold"));
  EXPECT_THAT(complaints("{preamble: XYZ}"), HasSubstr("preamble"));
  EXPECT_THAT(complaints("{template: round}"), HasSubstr("template"));
}

}  // namespace
}  // namespace iqd::preamble_search
