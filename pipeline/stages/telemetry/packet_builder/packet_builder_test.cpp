// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/packet_builder/packet_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/support/stage_under_test.hpp"

namespace iqd::packet_builder {
namespace {

using ::testing::HasSubstr;
using testing::StageUnderTest;
using testing::stream_of;
using Bits = std::vector<std::uint8_t>;

Bits random_payload(std::size_t count) {
  std::mt19937 random(1);
  Bits bits(count);
  for (auto& b : bits) b = static_cast<std::uint8_t>(random());  // counts by its lowest bit
  return bits;
}

TEST(PacketBuilder, PilotAndPayloadByTurns) {
  StageUnderTest s(entry(), "{preamble: C, repeats: 10, sync_word: '0347', payload_bits: 6}", {stream_of(Element::u8)});
  const Bits payload{1, 0, 0, 1, 1, 3, 0, 2, 1, 1, 0, 1, 1, 1};
  Bits expected;
  for (const std::size_t packet : {0u, 1u}) {
    for (int i = 0; i < 10; ++i) expected.insert(expected.end(), {1, 1, 0, 0});
    expected.insert(expected.end(), {0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1});
    for (std::size_t i = 0; i < 6; ++i) expected.push_back(payload[6 * packet + i] & 1);
  }
  EXPECT_EQ(s.stream<std::uint8_t>(payload), expected) << "two bits are left";
}

TEST(PacketBuilder, PayloadsMayBeWordsOfACode) {
  StageUnderTest s(entry(), "{payload_bits: 3300, code: irig_1024_2_3, asm: irig, randomize: ccsds}",
                   {stream_of(Element::u8)});
  const Bits bits = random_payload(2 * 2048 + 5);
  const WordCode code = whole_code(*find_ldpc_code("irig_1024_2_3"));
  const PacketPayload payload(3300, code,
                              FrameChoice{.marker = "irig", .randomize = Randomize::ccsds}.frame(code.code));
  const Bits pilot = PacketFormat{}.pilot();
  Bits expected, scratch(payload.scratch_bytes());
  for (const std::size_t packet : {0u, 1u}) {
    expected.insert(expected.end(), pilot.begin(), pilot.end());
    Bits own(3300);
    payload.encode(std::span(bits).subspan(packet * 2048, 2048), own, scratch);
    expected.insert(expected.end(), own.begin(), own.end());
  }
  EXPECT_EQ(s.stream<std::uint8_t>(bits), expected);
}

/// Information bits of b(n) = b(n - 5) ^ b(n - 9), which begins with ones.
Bits pn9(std::size_t count) {
  Bits b(count, 1);
  for (std::size_t n = 9; n < count; ++n) b[n] = b[n - 5] ^ b[n - 9];
  return b;
}

TEST(PacketBuilder, OfSamplesOnlyThePositionsCount) {
  // The packets are those of the sequence as bits.
  for (const std::string keys : {"payload_bits: 320", "payload_bits: 1300, code: irig_1024_4_5, randomize: ccsds"}) {
    StageUnderTest of_samples(entry(), "{" + keys + ", payload: pn9}", {stream_of(Element::cf32)});
    StageUnderTest of_bits(entry(), "{" + keys + "}", {stream_of(Element::u8)});
    const auto expected = of_bits.stream<std::uint8_t>(pn9(3 * 1024));
    EXPECT_EQ(of_samples.stream<std::uint8_t>(std::vector<cf32>(expected.size())), expected) << keys;
  }
}

TEST(PacketBuilder, HowTheStreamIsCutDoesNotMatter) {
  const Bits bits = random_payload(5000);
  for (const char* keys : {"{payload_bits: 320}", "{payload_bits: 1280, code: irig_1024_4_5}"}) {
    StageUnderTest s(entry(), keys, {stream_of(Element::u8)});
    EXPECT_EQ(s.stream<std::uint8_t>(bits, {1, 700, 33}), s.stream<std::uint8_t>(bits)) << keys;
    StageUnderTest known(entry(), keys, {stream_of(Element::cf32)});
    const std::vector<cf32> samples(5000);
    EXPECT_EQ(known.stream<std::uint8_t>(samples, {1, 700, 33}), known.stream<std::uint8_t>(samples)) << keys;
  }
}

TEST(PacketBuilder, TheRateIsThatOfTheBitsOnTheAir) {
  PortShape in = stream_of(Element::u8);
  in.rate_hz = 4096;
  EXPECT_DOUBLE_EQ(StageUnderTest(entry(), "{code: irig_4096_2_3}", {in}).out().rate_hz, 6336);
}

TEST(PacketBuilder, WhatDoesNotFitIsRefused) {
  const auto complaints = [](const char* keys) {
    return StageUnderTest(entry(), keys, {stream_of(Element::u8)}).complaints();
  };
  EXPECT_THAT(complaints("{code: irig_4096_1_2}"),
              HasSubstr("payload_bits: a word has 8192 bits with its marker, but a payload only 6144"));
  EXPECT_THAT(complaints("{code: irig_4096_2_3, asm: irig}"), HasSubstr("a word has 6400 bits"));
  EXPECT_THAT(complaints("{randomize: ccsds}"), HasSubstr("randomize: belongs to the words of a code"));
  EXPECT_THAT(complaints("{payload: pn9}"), HasSubstr("payload: is for a cf32 input"));
  EXPECT_THAT(complaints("{payload_bits: 7}"), HasSubstr("payload_bits: has to be an even number"));
}

}  // namespace
}  // namespace iqd::packet_builder
