// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/noma/noma_modulator/noma_modulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/pn_bits.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::noma_modulator {
namespace {

using ::testing::HasSubstr;
using testing::pn_bits;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

using Bits = std::vector<std::uint8_t>;

constexpr std::int64_t kFrame = 520;
constexpr NomaFormat kFormat{
    .air = {.fft = 64, .carriers = 24, .prefix = 9, .frame = kFrame, .tx = 1, .pilot_every = 2},
    .users = 3,
    .training = 2,
    .pilots = 40,
    .data = 60};

std::string with(const std::string& more) {
  return "{fft: 64, carriers: 24, prefix: 9, frame: 520, users: 3, training: 2, pilots: 40, data: 60" + more + "}";
}

/// Frames of one user; the bits of frame i begin at `first` + i `step`.
std::vector<cf32> frames_of(std::int64_t user, SymbolMap map, double amplitude, const Bits& bits, std::int64_t first,
                            std::int64_t step, std::int64_t frames) {
  const NomaFrameMaker maker(kFormat, map);
  std::vector<std::byte> scratch(maker.scratch_bytes());
  std::vector<cf32> y(static_cast<std::size_t>(frames * kFrame));
  for (std::int64_t i = 0; i < frames; ++i)
    maker.make(user, amplitude,
               std::span(bits).subspan(static_cast<std::size_t>(first + i * step),
                                       static_cast<std::size_t>(kFormat.user_bits(map))),
               y.data() + i * kFrame, scratch.data());
  return y;
}
/// Rows back to back, of frames whose bits are back to back.
std::vector<cf32> frames_of_all(SymbolMap map, const std::vector<double>& amplitudes, const Bits& bits,
                                std::int64_t frames) {
  std::vector<cf32> all;
  for (std::int64_t u = 0; u < kFormat.users; ++u) {
    const auto y = frames_of(u, map, amplitudes[static_cast<std::size_t>(u)], bits, u * kFormat.user_bits(map),
                             kFormat.frame_bits(map), frames);
    all.insert(all.end(), y.begin(), y.end());
  }
  return all;
}
/// Two transforms of the same size may be rounded differently.
void expect_near(const std::vector<cf32>& y, const std::vector<cf32>& expected) {
  ASSERT_EQ(y.size(), expected.size());
  for (std::size_t n = 0; n < y.size(); ++n) ASSERT_LT(std::abs(y[n] - expected[n]), 1e-5f) << n;
}

TEST(NomaModulator, SamplesBecomeFramesOfAllUsersWithAPayloadThatGoesOn) {
  for (const int order : {9, 15, 23}) {
    StageUnderTest stage(entry(),
                         with(", modulation: 64qam, amplitude: [1, 0.5, 0.25], payload: pn" + std::to_string(order)),
                         {stream_of(Element::cf32)});
    ASSERT_EQ(stage.complaints(), "");
    EXPECT_EQ(stage.out().text(), "cf32 [channel 3][n]");
    EXPECT_EQ(stage.out().rate_hz, 1e6);
    const Bits bits = pn_bits(order, 0, 3 * kFormat.frame_bits(SymbolMap::qam64));
    expect_near(stage.stream<cf32>(std::vector<cf32>(3 * kFrame)),
                frames_of_all(SymbolMap::qam64, {1, 0.5, 0.25}, bits, 3));
  }
}

TEST(NomaModulator, OneUserAloneSendsWhatItSendsAmongOthers) {
  StageUnderTest all(entry(), with(", modulation: bpsk, amplitude: 0.5"), {stream_of(Element::cf32)});
  const std::vector<cf32> x(2 * kFrame);
  const auto rows = all.stream<cf32>(x);
  for (std::int64_t u = 0; u < 3; ++u)
    for (const char* amplitude : {"0.5", "[0.5, 0.5, 0.5]"}) {
      StageUnderTest one(
          entry(), with(", modulation: bpsk, amplitude: " + std::string(amplitude) + ", user: " + std::to_string(u)),
          {stream_of(Element::cf32)});
      ASSERT_EQ(one.complaints(), "");
      EXPECT_EQ(one.out().text(), "cf32 [n]");
      expect_near(one.stream<cf32>(x), {rows.begin() + u * 2 * kFrame, rows.begin() + (u + 1) * 2 * kFrame});
    }
}

TEST(NomaModulator, HowTheStreamIsCutDoesNotMatter) {
  StageUnderTest stage(entry(), with(""), {stream_of(Element::cf32)});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<cf32> x(4 * kFrame + 77, {nan, nan});
  const auto whole = stage.stream<cf32>(x);
  EXPECT_TRUE(same_bits(stage.stream<cf32>(x, {1, 2, 519, 520, 77, 2000}), whole));
  EXPECT_TRUE(same_bits(stage.stream<cf32>(x, {13}), whole));
}

TEST(NomaModulator, BitsBecomeFrames) {
  StageUnderTest stage(entry(), with(", modulation: 16qam"), {stream_of(Element::u8)});
  ASSERT_EQ(stage.complaints(), "");
  const std::int64_t count = kFormat.frame_bits(SymbolMap::qam16);
  EXPECT_DOUBLE_EQ(stage.out().rate_hz, 1e6 * static_cast<double>(kFrame) / static_cast<double>(count));
  Bits bits = pn_bits(15, 5, 3 * count + 100);  // an incomplete frame is not sent
  const auto expected = frames_of_all(SymbolMap::qam16, {1, 1, 1}, bits, 3);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= static_cast<std::uint8_t>(i << 1);
  const auto whole = stage.stream<cf32>(bits);
  expect_near(whole, expected);
  EXPECT_TRUE(same_bits(stage.stream<cf32>(bits, {1, 1500, 99, 401}), whole));
}

TEST(NomaModulator, BitsOfOneUser) {
  StageUnderTest stage(entry(), with(", modulation: 256qam, user: 2"), {stream_of(Element::u8)});
  const std::int64_t count = kFormat.user_bits(SymbolMap::qam256);
  const Bits bits = pn_bits(23, 1000, 2 * count);
  expect_near(stage.stream<cf32>(bits), frames_of(2, SymbolMap::qam256, 1, bits, 0, count, 2));
}

TEST(NomaModulator, FarOutFramesGoOn) {
  const Config config{.format = kFormat, .payload = PnName::pn9};
  const Frames frames(config, std::vector<SymbolMap>(3, SymbolMap::qpsk));
  std::vector<std::byte> scratch(frames.scratch_bytes());
  const auto at = [&](std::int64_t frame) {
    std::vector<cf32> y(3 * 1000);
    frames.make(View<cf32, 2>(y.data(), {3, 1000}), frame * kFrame + 321, scratch.data());
    return y;
  };
  EXPECT_TRUE(same_bits(at((std::int64_t{1} << 40) / 511 * 511 + 7), at(7)));  // PN9 is back at its start
}

TEST(NomaModulator, BadKeysAreRefused) {
  const auto complaints = [](const std::string& keys, PortShape in) {
    return StageUnderTest(entry(), keys, {std::move(in)}).complaints();
  };
  const PortShape samples = stream_of(Element::cf32);
  EXPECT_EQ(complaints("{}", samples), "");
  EXPECT_THAT(complaints("{fft: 500}", samples), HasSubstr("fft: has to be a power of two"));
  EXPECT_THAT(complaints("{pilots: 721}", samples), HasSubstr("pilots: has to be 1 to 720"));
  EXPECT_THAT(complaints("{data: 4000}", samples), HasSubstr("data: has to be 1 to 3888"));
  EXPECT_THAT(complaints("{training: 32}", samples), HasSubstr("training: has to be 1 to 31"));
  EXPECT_THAT(complaints("{users: 33}", samples), HasSubstr("users"));
  EXPECT_THAT(complaints("{user: 6}", samples), HasSubstr("user: has to be one of the users 0 to 5"));
  EXPECT_THAT(complaints("{amplitude: [1, 2]}", samples), HasSubstr("amplitude: has to be one number for all 6 users"));
  EXPECT_THAT(complaints("{amplitude: []}", samples), HasSubstr("amplitude: has to be one number for all 6 users"));
  EXPECT_THAT(complaints("{modulation: 8psk}", samples), HasSubstr("modulation"));
  EXPECT_THAT(complaints("{payload: pn9}", stream_of(Element::u8)), HasSubstr("payload: applies to cf32 input only"));
  PortShape frames = samples;
  frames.item = {{"bin", 4}};
  EXPECT_THAT(complaints("{}", frames), HasSubstr("takes single bits or samples"));
}

}  // namespace
}  // namespace iqd::noma_modulator
