// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/ofdm_modulator/ofdm_modulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/pn_bits.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::ofdm_modulator {
namespace {

using ::testing::HasSubstr;
using testing::pn_bits;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

using Bits = std::vector<std::uint8_t>;

constexpr OfdmFormat kFormat{.fft = 128, .carriers = 72, .prefix = 9, .frame = 1000, .tx = 3, .pilot_every = 12};
constexpr const char* kKeys = "fft: 128, carriers: 72, prefix: 9, frame: 1000, tx: 3, pilot_every: 12";

std::string with(const std::string& more) {
  return std::string("{") + kKeys + more + "}";
}

/// Consecutive rows of frames that carry these data bits.
std::vector<cf32> frames_of(const std::vector<Bits>& frames, Modulation modulation, double amplitude = 1,
                            const OfdmFormat& format = kFormat) {
  const OfdmFrameMaker maker(format, modulation, amplitude);
  std::vector<std::byte> scratch(maker.scratch_bytes());
  const std::int64_t n = std::ssize(frames) * kFormat.frame;
  std::vector<cf32> y(static_cast<std::size_t>(kFormat.tx * n));
  for (std::int64_t i = 0; i < std::ssize(frames); ++i) {
    std::vector<cf32*> rows;
    for (std::int64_t a = 0; a < kFormat.tx; ++a) rows.push_back(y.data() + a * n + i * kFormat.frame);
    maker.make(frames[static_cast<std::size_t>(i)], rows, scratch.data());
  }
  return y;
}
/// Interleaves the words of a frame: written by rows, read by columns.
Bits coded(const WordCode& code, const Bits& information, std::int64_t count) {
  const WordEncoder encoder(code);
  const std::int64_t n = code.n(), k = code.information(), words = count / n;
  Bits bits = pn_bits(15, 0, count);
  for (std::int64_t w = 0; w < words; ++w) {
    const Bits word =
        encoder.encoded(std::span(information).subspan(static_cast<std::size_t>(w * k), static_cast<std::size_t>(k)));
    for (std::int64_t i = 0; i < n; ++i)
      bits[static_cast<std::size_t>(i * words + w)] = word[static_cast<std::size_t>(i)];
  }
  return bits;
}
/// Two transforms of the same size may round differently.
void expect_near(const std::vector<cf32>& y, const std::vector<cf32>& expected) {
  ASSERT_EQ(y.size(), expected.size());
  for (std::size_t n = 0; n < y.size(); ++n) ASSERT_LT(std::abs(y[n] - expected[n]), 1e-5f) << n;
}

TEST(OfdmModulator, SamplesBecomeFramesWithAPayloadThatGoesOn) {
  for (const int order : {9, 15, 23}) {
    StageUnderTest stage(entry(), with(", modulation: 64qam, amplitude: 0.5, payload: pn" + std::to_string(order)),
                         {stream_of(Element::cf32)});
    ASSERT_EQ(stage.complaints(), "");
    EXPECT_EQ(stage.out().text(), "cf32 [channel 3][n]");
    EXPECT_EQ(stage.out().rate_hz, 1e6);
    const std::int64_t count = kFormat.bits(Modulation::qam64);
    std::vector<Bits> frames;
    for (std::int64_t i = 0; i < 3; ++i) frames.push_back(pn_bits(order, i * count, count));
    expect_near(stage.stream<cf32>(std::vector<cf32>(3000)), frames_of(frames, Modulation::qam64, 0.5));
  }
}

TEST(OfdmModulator, HowTheStreamIsCutDoesNotMatter) {
  StageUnderTest stage(entry(), with(""), {stream_of(Element::cf32)});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<cf32> x(4321, {nan, nan});
  const auto whole = stage.stream<cf32>(x);
  EXPECT_TRUE(same_bits(stage.stream<cf32>(x, {1, 2, 999, 1000, 77, 2000}), whole));
  EXPECT_TRUE(same_bits(stage.stream<cf32>(x, {13}), whole));
}

TEST(OfdmModulator, MidamblesTakeThePlaceOfData) {
  StageUnderTest stage(entry(), with(", modulation: 16qam, midambles: 2"), {stream_of(Element::cf32)});
  ASSERT_EQ(stage.complaints(), "");
  OfdmFormat format = kFormat;
  format.midambles = 2;
  const std::int64_t count = format.bits(Modulation::qam16);
  std::vector<Bits> frames;
  for (std::int64_t i = 0; i < 2; ++i) frames.push_back(pn_bits(23, i * count, count));
  expect_near(stage.stream<cf32>(std::vector<cf32>(2000)), frames_of(frames, Modulation::qam16, 1, format));
}

TEST(OfdmModulator, BitsBecomeFrames) {
  StageUnderTest stage(entry(), with(", modulation: 16qam"), {stream_of(Element::u8)});
  ASSERT_EQ(stage.complaints(), "");
  const std::int64_t count = kFormat.bits(Modulation::qam16);
  EXPECT_DOUBLE_EQ(stage.out().rate_hz, 1e6 * 1000 / static_cast<double>(count));
  Bits bits = pn_bits(15, 5, 3 * count + 100);  // bits that do not fill a frame are not sent
  std::vector<Bits> frames;
  for (std::int64_t i = 0; i < 3; ++i) frames.emplace_back(bits.begin() + i * count, bits.begin() + (i + 1) * count);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= static_cast<std::uint8_t>(i << 1);
  const auto whole = stage.stream<cf32>(bits);
  expect_near(whole, frames_of(frames, Modulation::qam16));
  EXPECT_TRUE(same_bits(stage.stream<cf32>(bits, {1, 1500, 99, 401}), whole));
}

TEST(OfdmModulator, WithACodeFramesCarryItsWords) {
  struct Case {
    WordCode code;
    const char* keys;
    std::int64_t information;
  };
  for (const Case& c :
       {Case{whole_code(ldpc_codes()[0]), "code: 80216e_2304_1_2", 2 * 1152},
        Case{nr_code_of({.k = 1000, .e = 1500}, WordCrc::crc24b), "nr: {k: 1000, e: 1500}, crc: 24b", 3 * 976}}) {
    const std::int64_t count = kFormat.bits(Modulation::qam256);
    ASSERT_EQ(count / c.code.n() * c.code.information(), c.information);
    std::vector<Bits> frames;
    for (std::int64_t i = 0; i < 2; ++i)
      frames.push_back(coded(c.code, pn_bits(23, i * c.information, c.information), count));
    const auto expected = frames_of(frames, Modulation::qam256);
    const std::string keys = with(std::string(", modulation: 256qam, ") + c.keys);
    StageUnderTest known(entry(), keys, {stream_of(Element::cf32)});
    expect_near(known.stream<cf32>(std::vector<cf32>(2000)), expected);
    StageUnderTest given(entry(), keys, {stream_of(Element::u8)});
    expect_near(given.stream<cf32>(pn_bits(23, 0, 2 * c.information)), expected);
  }
}

/// Each antenna sends what it would if all had its modulation.
TEST(OfdmModulator, AntennasMayDiffer) {
  constexpr int kBits[] = {4, 0, 6};
  constexpr Modulation kLike[] = {Modulation::qam16, Modulation::qpsk, Modulation::qam64};
  const std::int64_t points = kFormat.data_carriers() * kFormat.data_symbols();
  StageUnderTest stage(entry(), with(", modulation: [16qam, silent, 64qam]"), {stream_of(Element::u8)});
  ASSERT_EQ(stage.complaints(), "");
  EXPECT_DOUBLE_EQ(stage.out().rate_hz, 1e6 * 1000 / static_cast<double>(points * 10));
  const Bits bits = pn_bits(23, 0, 2 * points * 10);
  const auto y = stage.stream<cf32>(bits);
  ASSERT_EQ(std::ssize(y), 6000);
  for (int a = 0; a < 3; ++a) {
    const int own = bits_of(kLike[a]);
    std::vector<Bits> frames(2, Bits(static_cast<std::size_t>(points * 3 * own)));
    for (std::int64_t f = 0; f < 2; ++f)
      for (std::int64_t p = 0; p < points; ++p)
        for (int b = 0; b < kBits[a]; ++b)
          frames[static_cast<std::size_t>(f)][static_cast<std::size_t>((p * 3 + a) * own + b)] =
              bits[static_cast<std::size_t>((f * points + p) * 10 + (a == 2 ? 4 : 0) + b)];
    const auto row = [a](const std::vector<cf32>& rows) {
      return std::vector<cf32>(rows.begin() + 2000 * a, rows.begin() + 2000 * (a + 1));
    };
    if (a != 1) {
      expect_near(row(y), row(frames_of(frames, kLike[a])));
      continue;
    }
    const auto own_row = row(y);  // power of a synchronisation symbol, three of training, and pilots
    double power = 0;
    for (const cf32 x : own_row) power += std::norm(x);
    const double symbols = 4 + static_cast<double>(kFormat.data_symbols() * kFormat.pilots()) / 72;
    EXPECT_NEAR(power / 2, symbols * 137, 0.15 * symbols * 137);
  }
  EXPECT_THAT(StageUnderTest(entry(), with(", modulation: [qpsk, qpsk]"), {stream_of(Element::u8)}).complaints(),
              HasSubstr("modulation: has to be qpsk"));
  EXPECT_THAT(StageUnderTest(entry(), with(", modulation: silent"), {stream_of(Element::u8)}).complaints(),
              HasSubstr("one of them has to send"));
}

TEST(OfdmModulator, FarOutFramesGoOn) {
  Config config;
  config.format = kFormat;
  config.payload = PnName::pn9;
  const Frames frames(config, AntennaBits(Modulation::qpsk, kFormat.tx));
  std::vector<std::byte> scratch(frames.scratch_bytes());
  const auto at = [&](std::int64_t frame) {
    std::vector<cf32> y(3000);
    frames.make(View<cf32, 2>(y.data(), {3, 1000}), frame * 1000 + 321, scratch.data());
    return y;
  };
  EXPECT_TRUE(same_bits(at((std::int64_t{1} << 40) / 511 * 511 + 7), at(7)));  // PN9 is at the same position again
}

TEST(OfdmModulator, OneAntennaIsOneChannel) {
  StageUnderTest stage(entry(), "{tx: 1}", {stream_of(Element::cf32)});
  EXPECT_EQ(stage.out().text(), "cf32 [n]");
}

TEST(OfdmModulator, BadKeysAreRefused) {
  const auto complaints = [](const std::string& keys, PortShape in) {
    return StageUnderTest(entry(), keys, {std::move(in)}).complaints();
  };
  const PortShape samples = stream_of(Element::cf32);
  EXPECT_EQ(complaints("{}", samples), "");
  EXPECT_THAT(complaints("{fft: 500}", samples), HasSubstr("fft: has to be a power of two"));
  EXPECT_THAT(complaints("{carriers: 301}", samples), HasSubstr("carriers: has to be an even number"));
  EXPECT_THAT(complaints("{frame: 2000}", samples), HasSubstr("frame: has to be 2192 to"));
  EXPECT_THAT(complaints("{modulation: 8psk}", samples), HasSubstr("modulation"));
  EXPECT_THAT(complaints("{code: turbo}", samples), HasSubstr("code: 'turbo' is not one of none, 80216e"));
  EXPECT_THAT(complaints(with(", code: 80216e_2304_1_2"), samples),
              HasSubstr("a word has 2304 bits, but a frame only"));
  EXPECT_THAT(complaints(with(", nr: {k: 5000, e: 10000}"), samples),
              HasSubstr("nr.e: a word has 10000 bits, but a frame only"));
  EXPECT_THAT(complaints("{crc: 16}", samples), HasSubstr("crc: needs a code"));
  EXPECT_THAT(complaints("{payload: pn9}", stream_of(Element::u8)), HasSubstr("payload: is for a cf32 input"));
  PortShape frames = samples;
  frames.item = {{"bin", 4}};
  EXPECT_THAT(complaints("{}", frames), HasSubstr("takes single bits or samples"));
}

}  // namespace
}  // namespace iqd::ofdm_modulator
