// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/ber_meter/ber_meter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/files/npy.hpp"
#include "tests/support/coding_items.hpp"
#include "tests/support/pn_bits.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::ber_meter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::pn_bits;
using testing::StageUnderTest;
using Bits = std::vector<std::uint8_t>;
using Report = std::vector<std::int64_t>;

Bits random_bits(std::int64_t n, unsigned seed) {
  std::mt19937 engine(seed);
  Bits bits(static_cast<std::size_t>(n));
  for (auto& b : bits) b = engine() & 1;
  return bits;
}

/// Inverts that many bits, at different positions.
Bits with_errors(Bits bits, std::size_t errors, unsigned seed = 1) {
  std::vector<std::size_t> places(bits.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::shuffle(places.begin(), places.end(), std::mt19937(seed));
  for (std::size_t i = 0; i < errors; ++i) bits[places[i]] ^= 1;
  return bits;
}

PortShape packets_of(std::int64_t bits, const std::vector<std::string>& kinds = {}, std::int64_t most = 4) {
  PortShape s;
  s.element = Element::u8;
  s.axis = Axis::counted;
  s.axis_name = "packet";
  s.most = most;
  if (!kinds.empty()) s.item.push_back({"kind", std::ssize(kinds), kinds});
  s.item.push_back({"bit", bits});
  return s;
}

/// The report on packets of one kind, one after the other.
Report report_of(const std::string& sequence, const Bits& packets, std::int64_t length) {
  const std::int64_t n = std::ssize(packets) / length;
  StageUnderTest s(entry(), "{sequence: " + sequence + "}", {packets_of(length, {}, n)});
  EXPECT_EQ(s.complaints(), "");
  return s.once<std::int64_t>(packets, 0, n, static_cast<std::int32_t>(n));
}

TEST(BerMeter, CountsErrorsWhereverThePacketBegins) {
  for (const int order : {9, 15, 23})
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1}, std::int64_t{333}, std::int64_t{8'000'001}})
      for (const std::size_t errors : {0u, 1u, 17u, 300u}) {
        const Bits packet = with_errors(pn_bits(order, first, 6144), errors);
        EXPECT_THAT(report_of("pn" + std::to_string(order), packet, 6144),
                    ElementsAre(1, 6144, errors, errors > 0 ? 1 : 0, 0))
            << "PN" << order << " from " << first;
      }
}

TEST(BerMeter, LengthsThatAreNoWholeWords) {
  for (const std::int64_t length : {40, 63, 64, 65, 127, 1000}) {
    Bits packet = pn_bits(23, 5, length);
    packet.back() ^= 1;
    EXPECT_THAT(report_of("pn23", packet, length), ElementsAre(1, length, 1, 1, 0)) << length;
  }
}

TEST(BerMeter, BitsAreTheLowestOfTheirBytes) {
  Bits packet = pn_bits(15, 77, 500);
  for (std::size_t n = 0; n < packet.size(); ++n) packet[n] = static_cast<std::uint8_t>(packet[n] + 2 * n);
  EXPECT_THAT(report_of("pn15", packet, 500), ElementsAre(1, 500, 0, 0, 0));
}

TEST(BerMeter, EachPacketFindsItsOwnPlace) {
  Bits packets = pn_bits(15, 100, 700);
  for (const Bits& more : {with_errors(pn_bits(15, 9000, 700), 3), random_bits(700, 3)})
    packets.insert(packets.end(), more.begin(), more.end());
  EXPECT_THAT(report_of("pn15", packets, 700), ElementsAre(3, 1400, 3, 2, 1));
}

TEST(BerMeter, NoiseZerosAndTheInverseAreUnaligned) {
  Bits inverse = pn_bits(23, 0, 6144);
  for (auto& b : inverse) b ^= 1;
  for (const Bits& packet : {random_bits(6144, 7), Bits(6144, 0), Bits(6144, 1), inverse})
    EXPECT_THAT(report_of("pn23", packet, 6144), ElementsAre(1, 0, 0, 1, 1));
}

TEST(BerMeter, AtTenPercentMostPacketsAreFound) {
  Bits packets;
  for (unsigned p = 0; p < 40; ++p) {
    const Bits packet = with_errors(pn_bits(23, 6144 * p, 6144), 614, p);
    packets.insert(packets.end(), packet.begin(), packet.end());
  }
  const Report report = report_of("pn23", packets, 6144);
  EXPECT_LE(report[kUnaligned], 8);  // 1 - (1 - 0.9^23)^32 is 95 %: on average 2 of 40 are not found
  EXPECT_EQ(report[kBits], 6144 * (40 - report[kUnaligned]));
  EXPECT_EQ(report[kBitErrors], 614 * (40 - report[kUnaligned]));
  EXPECT_EQ(report[kPacketErrors], 40);
}

TEST(BerMeter, KindsAreCountedApartAndKeepTheirNames) {
  StageUnderTest s(entry(), "{sequence: pn9}", {packets_of(600, {"zf", "mmse"}, 2)});
  ASSERT_EQ(s.complaints(), "");
  EXPECT_EQ(s.out().text(), "i64 [event 5][kind 2]");
  EXPECT_THAT(s.out().item[1].labels, ElementsAre("zf", "mmse"));
  Bits x = pn_bits(9, 0, 600);
  for (const Bits& more :
       {with_errors(pn_bits(9, 0, 600), 5), random_bits(600, 1), with_errors(pn_bits(9, 88, 600), 2)})
    x.insert(x.end(), more.begin(), more.end());
  EXPECT_EQ(s.once<std::int64_t>(x, 0, 2, 2), (Report{2, 2, 600, 1200, 0, 7, 1, 2, 1, 0}));
  EXPECT_EQ(s.once<std::int64_t>(x, 0, 2, 0), Report(10, 0));
  EXPECT_EQ(s.count(), 1);
}

class BerMeterFile : public ::testing::Test {
 protected:
  /// The value of the key `sequence` for a file with these numbers.
  std::string write(const Bits& bits) {
    const std::int64_t shape[] = {std::ssize(bits)};
    write_npy(folder_ / "bits.npy", "<u1", shape, std::as_bytes(std::span(bits)));
    return "\"@" + (folder_ / "bits.npy") + "\"";
  }
  const ScratchFolder folder_;
};

/// Bits of a sequence that repeats.
Bits around(const Bits& sequence, std::size_t first, std::size_t n) {
  Bits bits;
  for (std::size_t i = 0; i < n; ++i) bits.push_back(sequence[(first + i) % sequence.size()]);
  return bits;
}

TEST_F(BerMeterFile, IsASequenceWithoutAnEnd) {
  for (const std::int64_t period : {1, 7, 37, 1000, 20'000}) {
    const Bits sequence = random_bits(period, 5);
    const std::string key = write(sequence);
    for (const std::size_t first : {0u, 3u, 999u})
      EXPECT_THAT(report_of(key, with_errors(around(sequence, first, 3000), 20), 3000), ElementsAre(1, 3000, 20, 1, 0))
          << period << " from " << first;
  }
  EXPECT_THAT(report_of(write(random_bits(20'000, 5)), random_bits(3000, 6), 3000), ElementsAre(1, 0, 0, 1, 1));
}

TEST_F(BerMeterFile, IsRefusedWhereItHoldsNoBits) {
  const auto complaint = [](const std::string& key) {
    return StageUnderTest(entry(), "{sequence: " + key + "}", {packets_of(600)}).complaints();
  };
  EXPECT_THAT(complaint(write({0, 1, 2})), HasSubstr("element 2"));
  EXPECT_THAT(complaint(write({})), HasSubstr("has 0 bits"));
  EXPECT_THAT(complaint("\"@nowhere.npy\""), HasSubstr("nowhere.npy"));
}

TEST(BerMeter, WordsOfAFrameArePacketsAndAnythingElseIsOne) {
  PortShape words = packets_of(500, {}, 1);
  words.item.insert(words.item.begin(), {"word", 3});
  StageUnderTest each(entry(), "{sequence: pn15}", {words});
  ASSERT_EQ(each.complaints(), "");
  Bits frame;
  for (const std::int64_t first : {100, 9000, 600}) {
    const Bits word = with_errors(pn_bits(15, first, 500), first == 9000 ? 4 : 0);
    frame.insert(frame.end(), word.begin(), word.end());
  }
  EXPECT_THAT(each.once<std::int64_t>(frame, 0, 1, 1), ElementsAre(3, 1500, 4, 1, 0));

  PortShape carriers = packets_of(20, {}, 1);
  carriers.item.insert(carriers.item.begin(), {{"carrier", 10}, {"symbol", 5}});
  StageUnderTest one(entry(), "{sequence: pn15}", {carriers});
  ASSERT_EQ(one.complaints(), "");
  EXPECT_THAT(one.once<std::int64_t>(with_errors(pn_bits(15, 7, 1000), 9), 0, 1, 1), ElementsAre(1, 1000, 9, 1, 0));
}

TEST(BerMeter, UsersAreCountedApart) {
  PortShape users = packets_of(2, {}, 2);
  users.item.insert(users.item.begin(), {{"user", 3}, {"t", 250}});
  StageUnderTest s(entry(), "{sequence: pn23}", {users});
  ASSERT_EQ(s.complaints(), "");
  EXPECT_EQ(s.out().text(), "i64 [event 5][user 3]");
  // Frames 4 and 7 of a payload that continues over users and frames; user 1 is lost in the second.
  Bits x;
  for (const std::int64_t frame : {4, 7})
    for (const std::int64_t user : {0, 1, 2}) {
      Bits bits = pn_bits(23, (frame * 3 + user) * 500, 500);
      if (user == 2) bits = with_errors(bits, 3);
      if (user == 1 && frame == 7) bits.assign(500, 0);
      x.insert(x.end(), bits.begin(), bits.end());
    }
  EXPECT_EQ(s.once<std::int64_t>(x, 0, 2, 2), (Report{2, 2, 2, 1000, 500, 1000, 0, 0, 6, 0, 1, 2, 0, 1, 0}));
}

TEST(BerMeter, WordsOfUsersAreCountedApart) {
  PortShape words = packets_of(500, {}, 2);
  words.item.insert(words.item.begin(), {"word", 4});
  StageUnderTest s(entry(), "{sequence: pn23, words: [1, 3]}", {words});
  ASSERT_EQ(s.complaints(), "");
  EXPECT_EQ(s.out().text(), "i64 [event 5][user 2]");
  Bits x;
  for (int word = 0; word < 8; ++word) {
    const Bits bits = with_errors(pn_bits(23, 700 * word, 500), word % 4 == 2 ? 3 : 0);
    x.insert(x.end(), bits.begin(), bits.end());
  }
  EXPECT_EQ(s.once<std::int64_t>(x, 0, 2, 2), (Report{2, 6, 1000, 3000, 0, 6, 0, 2, 0, 0}));
  EXPECT_THAT(StageUnderTest(entry(), "{sequence: pn23, words: [1, 2]}", {words}).complaints(),
              HasSubstr("words: has 3 words in all; its input"));
  EXPECT_THAT(StageUnderTest(entry(), "{sequence: pn23, words: [1]}", {packets_of(600)}).complaints(),
              HasSubstr("has no words"));
}

TEST(BerMeter, RefusesWhatCannotBe) {
  const auto complaint = [](const std::string& yaml, const PortShape& in) {
    return StageUnderTest(entry(), yaml, {in}).complaints();
  };
  EXPECT_THAT(complaint("{}", packets_of(600)), HasSubstr("sequence: is required"));
  EXPECT_THAT(complaint("{sequence: pn7}", packets_of(600)), HasSubstr("'pn7' is neither pn9"));
  EXPECT_THAT(complaint("{sequence: pn23}", packets_of(22)), HasSubstr("23 bits or more"));
  EXPECT_THAT(complaint("{sequence: pn9}", testing::stream_of(Element::u8)), HasSubstr("[packet][kind][bit]"));
}

/// [point][tx 2][bit 4]: a sequence at the bits that antennas send, ones at the others.
Bits mixed_frame(const Bits& sequence, std::int64_t points, const std::vector<int>& sent) {
  Bits bits;
  auto next = sequence.begin();
  for (std::int64_t p = 0; p < points; ++p)
    for (const int own : sent)
      for (int b = 0; b < 4; ++b) bits.push_back(b < own ? *next++ : 1);
  return bits;
}

TEST(BerMeter, BitsThatAntennasDoNotSendAreLeftOut) {
  const PortShape in = [] {
    PortShape shape = packets_of(4, {}, 1);
    shape.item = {{"carrier", 50}, {"symbol", 4}, {"tx", 2}, {"bit", 4}};
    return shape;
  }();
  StageUnderTest s(entry(), "{sequence: pn15, modulation: [16qam, qpsk]}", {in});
  ASSERT_EQ(s.complaints(), "");
  const Bits frame = mixed_frame(with_errors(pn_bits(15, 7, 1200), 9), 200, {4, 2});
  EXPECT_THAT(s.once<std::int64_t>(frame, 0, 1, 1), ElementsAre(1, 1200, 9, 1, 0));
  for (const char* const bad : {"[qpsk, qpsk, qpsk]", "64qam", "8psk"})
    EXPECT_THAT(StageUnderTest(entry(), std::string("{sequence: pn15, modulation: ") + bad + "}", {in}).complaints(),
                HasSubstr("modulation: has to be qpsk, 16qam"))
        << bad;
}

TEST(BerMeter, FramesMayDifferAndLackWords) {
  using coding::items_of;
  const std::vector<std::vector<int>> sent = {{4, 2}, {0, 2}, {0, 0}, {2, 4}};
  Bits frames, port;
  for (const auto& own : sent) {
    const Bits frame = mixed_frame(pn_bits(15, 7, 200 * (own[0] + own[1])), 200, own);
    frames.insert(frames.end(), frame.begin(), frame.end());
    for (const int bits : own) port.push_back(static_cast<std::uint8_t>(bits));
  }
  const auto by_port = coding::outputs_of(
      entry(), {items_of(frames, {{"carrier", 50}, {"symbol", 4}, {"tx", 2}, {"bit", 4}}), items_of(port, {{"tx", 2}})},
      0, "{sequence: pn15}");
  ASSERT_FALSE(by_port.empty());
  EXPECT_THAT(coding::all_of<std::int64_t>(by_port[0]), ElementsAre(3, 2800, 0, 0, 0));
}

}  // namespace
}  // namespace iqd::ber_meter
