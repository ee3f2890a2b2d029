// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/soqpsk_modulator/soqpsk_modulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/support/pn_bits.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::soqpsk_modulator {
namespace {

using ::testing::HasSubstr;
using testing::pn_bits;
using testing::same_bits;
using testing::StageUnderTest;
using testing::stream_of;

std::vector<std::uint8_t> random_bits(std::size_t n) {
  std::mt19937 engine(11);
  std::vector<std::uint8_t> bits(n);
  for (auto& b : bits) b = static_cast<std::uint8_t>(engine() & 1);
  return bits;
}

std::vector<cf32> single(const std::vector<std::complex<double>>& x, double amplitude = 1) {
  std::vector<cf32> y;
  for (const auto v : x) y.emplace_back(amplitude * v);
  return y;
}

/// The bits of packets 0 … count - 1, by their definition.
std::vector<std::uint8_t> packets(std::int64_t count, const PacketFormat& format, int order, bool differential) {
  std::vector<std::uint8_t> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto pilot = format.pilot();
    all.insert(all.end(), pilot.begin(), pilot.end());
    auto payload = pn_bits(order, i * format.payload_bits, format.payload_bits);
    if (differential) soqpsk::encode_differential(payload);
    all.insert(all.end(), payload.begin(), payload.end());
  }
  return all;
}

template <class T> std::vector<T> part(const std::vector<T>& x, std::int64_t from, std::int64_t n) {
  return {x.begin() + from, x.begin() + from + n};
}

TEST(SoqpskModulator, ModulatesBits) {
  const auto bits = random_bits(500);
  for (const std::int64_t s : {2, 4, 8}) {
    StageUnderTest stage(entry(), "{amplitude: 0.25, samples_per_bit: " + std::to_string(s) + "}",
                         {stream_of(Element::u8)});
    ASSERT_EQ(stage.complaints(), "");
    EXPECT_EQ(stage.out().rate_hz, 1e6 * static_cast<double>(s));
    EXPECT_EQ(stage.out().element, Element::cf32);
    EXPECT_TRUE(same_bits(stage.stream<cf32>(bits), single(soqpsk::modulate(bits, s), 0.25))) << s;
  }
}

TEST(SoqpskModulator, OfOtherValuesTheLowestBitCounts) {
  const auto bits = random_bits(100);
  auto others = bits;
  for (std::size_t i = 0; i < others.size(); ++i) others[i] = static_cast<std::uint8_t>(others[i] | (i * 2 & 0xfe));
  StageUnderTest stage(entry(), "{}", {stream_of(Element::u8)});
  EXPECT_TRUE(same_bits(stage.stream<cf32>(others), stage.stream<cf32>(bits)));
}

TEST(SoqpskModulator, HowBitsAreCutDoesNotMatter) {
  StageUnderTest stage(entry(), "{samples_per_bit: 4}", {stream_of(Element::u8, 3)});
  const auto bits = random_bits(3 * 301);
  const auto whole = stage.stream<cf32>(bits);
  EXPECT_TRUE(same_bits(part(whole, 1204, 1204), single(soqpsk::modulate(part(bits, 301, 301), 4))));
  EXPECT_TRUE(same_bits(stage.stream<cf32>(bits, {1}), whole));
  EXPECT_TRUE(same_bits(stage.stream<cf32>(bits, {3, 1, 10, 2, 7}), whole));
}

TEST(SoqpskModulator, FewBitsWillDo) {
  StageUnderTest stage(entry(), "{}", {stream_of(Element::u8)});
  for (std::size_t n = 1; n < 12; ++n) {
    const auto bits = random_bits(n);
    EXPECT_TRUE(same_bits(stage.stream<cf32>(bits), single(soqpsk::modulate(bits, 2)))) << n;
  }
}

TEST(SoqpskModulator, MakesPacketsOneBehindTheOther) {
  StageUnderTest stage(entry(), "{}", {stream_of(Element::cf32)});
  ASSERT_EQ(stage.complaints(), "");
  const PacketFormat format;
  const std::int64_t n = 3 * format.samples();
  const auto y = stage.stream<cf32>(std::vector<cf32>(static_cast<std::size_t>(n)));
  const auto expected = single(soqpsk::modulate(packets(4, format, 23, false), 2));
  // Before the first packet, the modulator assumes another one.
  EXPECT_TRUE(same_bits(part(y, 8, n - 8), part(expected, 8, n - 8)));
}

TEST(SoqpskModulator, MakesPacketsOfOtherKinds) {
  const PacketFormat format{
      .preamble = "9A", .repeats = 5, .sync_word = "B5A31", .payload_bits = 1000, .samples_per_bit = 4};
  const std::string keys = "preamble: 9A, repeats: 5, sync_word: B5A31, payload_bits: 1000, samples_per_bit: 4";
  for (const int order : {9, 15})
    for (const bool differential : {false, true}) {
      StageUnderTest stage(entry(),
                           "{" + keys + ", payload: pn" + std::to_string(order) +
                               ", differential: " + (differential ? "true" : "false") + "}",
                           {stream_of(Element::cf32)});
      ASSERT_EQ(stage.complaints(), "");
      const std::int64_t n = 6 * format.samples() - 100;
      const auto y = stage.stream<cf32>(std::vector<cf32>(static_cast<std::size_t>(n)));
      const auto expected = single(soqpsk::modulate(packets(6, format, order, differential), 4));
      EXPECT_TRUE(same_bits(part(y, 16, n - 16), part(expected, 16, n - 16))) << order << differential;
    }
}

TEST(SoqpskModulator, BetweenPacketsIsSilence) {
  StageUnderTest stage(entry(), "{gap: 77, payload_bits: 100, amplitude: 3}", {stream_of(Element::cf32)});
  const PacketFormat format{.payload_bits = 100};
  const auto y = stage.stream<cf32>(std::vector<cf32>(3000));
  const auto bits = packets(6, format, 23, false);
  for (std::int64_t i = 0; i < 4; ++i) {
    const std::int64_t at = i * (format.samples() + 77);
    const auto packet = single(soqpsk::modulate(part(bits, i * format.bits(), format.bits()), 2), 3);
    EXPECT_TRUE(same_bits(part(y, at, format.samples()), packet)) << i;
    EXPECT_TRUE(same_bits(part(y, at + format.samples(), 77), std::vector<cf32>(77))) << i;
  }
}

TEST(SoqpskModulator, HowPacketsAreCutDoesNotMatter) {
  for (const char* keys : {"{payload_bits: 16}", "{payload_bits: 2, gap: 1}", "{payload_bits: 50, gap: 500}"}) {
    StageUnderTest stage(entry(), keys, {stream_of(Element::cf32, 2)});
    const std::vector<cf32> x(2 * 5000);
    const auto whole = stage.stream<cf32>(x);
    EXPECT_TRUE(same_bits(stage.stream<cf32>(x, {1, 2, 3, 77, 416}), whole)) << keys;
    EXPECT_TRUE(same_bits(stage.stream<cf32>(x, {1}), whole)) << keys;
    EXPECT_TRUE(same_bits(part(whole, 5000, 5000), part(whole, 0, 5000))) << keys;
  }
}

TEST(SoqpskModulator, WhatTheSamplesAreDoesNotMatter) {
  StageUnderTest stage(entry(), "{}", {stream_of(Element::cf32)});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(
      same_bits(stage.stream<cf32>(std::vector<cf32>(1000, {nan, nan})), stage.stream<cf32>(std::vector<cf32>(1000))));
}

TEST(SoqpskModulator, FarOutPacketsGoOn) {
  const Config config{.format = {.payload_bits = 6000}, .gap = 3, .differential = true};
  const soqpsk::Modulator modulator(2);
  const Packets made(config);
  const std::int64_t packet = std::int64_t{1} << 40;
  std::vector<cf32> y(static_cast<std::size_t>(made.distance()));
  make_packets(modulator, made, View<cf32, 2>(y.data(), {1, made.distance()}), packet * made.distance());

  auto bits = config.format.pilot();
  auto payload = pn_bits(23, packet * 6000, 6000);
  soqpsk::encode_differential(payload);
  bits.insert(bits.end(), payload.begin(), payload.end());
  auto expected = single(soqpsk::modulate(bits, 2));
  expected.resize(y.size());
  EXPECT_TRUE(same_bits(y, expected));
}

TEST(SoqpskModulator, BadKeysAreRefused) {
  const auto complaints = [](const char* keys, PortShape in) {
    return StageUnderTest(entry(), keys, {in}).complaints();
  };
  EXPECT_THAT(complaints("{preamble: XY}", stream_of(Element::cf32)), HasSubstr("preamble: 'XY' is not hexadecimal"));
  EXPECT_THAT(complaints("{gap: -1}", stream_of(Element::cf32)), HasSubstr("gap"));
  EXPECT_THAT(complaints("{samples_per_bit: 3}", stream_of(Element::u8)), HasSubstr("has to be 2, 4 or 8"));
  EXPECT_THAT(complaints("{differential: true}", stream_of(Element::u8)), HasSubstr("differential: is for packets"));
  PortShape frames = stream_of(Element::cf32);
  frames.item = {{"bin", 4}};
  EXPECT_THAT(complaints("{}", frames), HasSubstr("takes single bits or samples"));
}

}  // namespace
}  // namespace iqd::soqpsk_modulator
