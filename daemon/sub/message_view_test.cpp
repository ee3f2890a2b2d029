// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/sub/message_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/wire.hpp"
#include "daemon/sub/message_tally.hpp"

namespace iqd {
namespace {

using ::testing::HasSubstr;

template <class T> std::vector<std::byte> bytes_of(const std::vector<T>& items) {
  const auto bytes = std::as_bytes(std::span(items));
  return {bytes.begin(), bytes.end()};
}

std::string head_of(std::string_view dtype, std::string_view shape, std::string_view more = "") {
  return "t {\"dtype\":\"" + std::string(dtype) + "\",\"shape\":" + std::string(shape) + std::string(more) + "}";
}

/// The values of a message as `iqd sub` shows them; empty if it is refused.
template <class T> std::vector<std::string> shown(std::string_view dtype, const std::vector<T>& items,
                                                  std::string_view more = "", std::string shape = "") {
  if (shape.empty()) shape = "[" + std::to_string(items.size()) + "]";
  const std::string head = head_of(dtype, shape, more);
  const auto payload = bytes_of(items);
  std::string why;
  const auto message = read_message(head, payload, why);
  std::vector<std::string> all;
  for (std::int64_t i = 0; message && i < message->values(); ++i) all.push_back(text_of(value_at(*message, i)));
  return all;
}

std::string refusal(std::string_view head, std::size_t payload_bytes) {
  const std::vector<std::byte> payload(payload_bytes);
  std::string why;
  return read_message(head, payload, why) ? "" : why;
}

TEST(MessageView, ReadsWhatThePublisherWrites) {
  PortFormat format;
  format.pipeline = "telemetry";
  format.port = "detector.bits";
  format.element = Element::i8;
  format.dims = {{"packet", 8}, {"bit", 3}};
  format.varying = 0;
  const std::vector<std::int8_t> bits{1, -2, 3, -4, 5, -128};
  Message sent;
  sent.format = &format;
  sent.seq = 18446744073709551615ull;
  sent.sample = 123456789012;
  sent.time_ns = 1700000000123456789;
  sent.gap = 5;
  sent.extent = 2;
  std::string head(header_bound(format, 4, 0, 0), '\0');
  head.resize(write_header(sent, "bits", head));
  const auto payload = bytes_of(bits);

  std::string why;
  const auto got = read_message(head, payload, why);
  ASSERT_TRUE(got) << why;
  EXPECT_EQ(got->topic, "bits");
  EXPECT_EQ(got->seq, 18446744073709551615ull);
  EXPECT_EQ(got->sample, 123456789012);
  EXPECT_EQ(got->time_ns, 1700000000123456789);
  EXPECT_EQ(got->gap, 5);
  EXPECT_EQ(shape_text(*got), "[2][3]");
  ASSERT_EQ(got->values(), 6);
  EXPECT_EQ(text_of(value_at(*got, 5)), "-128");
}

TEST(MessageView, ShowsEveryDtype) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(shown<cf32>("<c8", {{0.25f, -1.f}, {-0.f, 3.f}}), (Texts{"0.25-1j", "-0+3j"}));
  EXPECT_EQ(shown<std::complex<double>>("<c16", {{1e-9, 2.}}), (Texts{"1e-09+2j"}));
  EXPECT_EQ(shown<double>("<f8", {1.5, -0.125}), (Texts{"1.5", "-0.125"}));
  EXPECT_EQ(shown<float>("<f4", {0.1f, std::numeric_limits<float>::infinity()}), (Texts{"0.1", "inf"}));
  EXPECT_EQ(shown<std::uint16_t>("<f2", {0x3c00, 0xc000}), (Texts{"1", "-2"}));
  EXPECT_EQ(shown<std::int64_t>("<i8", {std::numeric_limits<std::int64_t>::min()}), (Texts{"-9223372036854775808"}));
  EXPECT_EQ(shown<std::int32_t>("<i4", {-7}), (Texts{"-7"}));
  EXPECT_EQ(shown<std::int16_t>("<i2", {-7, 8}), (Texts{"-7", "8"}));
  EXPECT_EQ(shown<std::uint8_t>("<u1", {200}), (Texts{"200"}));
  EXPECT_EQ(shown<std::uint8_t>("|u1", {200}), (Texts{"200"}));
  EXPECT_EQ(shown<std::int8_t>("|i1", {-3}), (Texts{"-3"}));
  EXPECT_EQ(shown<std::int16_t>("<i2", {1, -2, 3, 4}, ",\"datatype\":\"ci16_le\"", "[2,2]"), (Texts{"1-2j", "3+4j"}));
  EXPECT_EQ(shown<std::int16_t>("<i2", {1, -2, 3, 4}, ",\"datatype\":\"ri16_le\"", "[2,2]"),
            (Texts{"1", "-2", "3", "4"}));
}

TEST(MessageView, WritesJsonThatHoldsWhatIsNotFinite) {
  EXPECT_EQ(json_of(Value(std::complex<double>(0.5, -2))).dump(), "[0.5,-2.0]");
  EXPECT_EQ(json_of(Value(std::int64_t{-3})).dump(), "-3");
  EXPECT_EQ(json_of(Value(std::numeric_limits<double>::quiet_NaN())).dump(), "null");
}

TEST(MessageView, RefusesWhatDoesNotFitThePayload) {
  EXPECT_EQ(refusal(head_of("<f4", "[2,3]"), 24), "");
  EXPECT_THAT(refusal(head_of("<f4", "[2,3]"), 20), HasSubstr("shape [2][3] of <f4 does not match 20 bytes"));
  EXPECT_EQ(refusal(head_of("<f4", "[0,3]"), 0), "");
  EXPECT_NE(refusal(head_of("<f4", "[0,3]"), 4), "");
  EXPECT_EQ(refusal(head_of("<f4", "[]"), 4), "");
  EXPECT_NE(refusal(head_of("<f4", "[4611686018427387904,4]"), 0), "");  // 2^62 * 4 * 4 is 0 in 64 bits
  EXPECT_NE(refusal(head_of("<f4", "[-1]"), 4), "");
  EXPECT_NE(refusal(head_of("<f4", "[1.0]"), 4), "");
  EXPECT_NE(refusal(head_of("<f4", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"), 4), "");
  EXPECT_THAT(refusal(head_of(">f4", "[1]"), 4), HasSubstr("dtype '>f4'"));
}

TEST(MessageView, RefusesWhatIsNoHeader) {
  EXPECT_THAT(refusal("", 0), HasSubstr("no space"));
  EXPECT_THAT(refusal("topic", 0), HasSubstr("no space"));
  EXPECT_THAT(refusal("topic ", 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("topic [1]", 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("topic {\"dtype\":\"<f4\",\"shape\":[1]", 4), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("topic {\"dtype\":\"<f4\",\"shape\":[1],\"seq\":1e999}", 4), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("topic {}", 0), HasSubstr("dtype"));
  EXPECT_THAT(refusal("topic {\"dtype\":\"<f4\"}", 0), HasSubstr("no valid shape"));
  EXPECT_THAT(refusal("topic {\"dtype\":4,\"shape\":[1]}", 4), HasSubstr("dtype"));
}

TEST(MessageView, RefusesDeepHeadersWithoutDeepStacks) {
  const std::string open(1'000'000, '[');
  EXPECT_THAT(refusal("topic " + head_of("<f4", "[1]", ",\"x\":" + open), 4), HasSubstr("not a JSON object"));
  const std::string deep = open.substr(0, 100'000) + std::string(100'000, ']');
  EXPECT_THAT(refusal(head_of("<f4", "[1]", ",\"x\":" + deep), 4), HasSubstr("nested too deeply"));
}

TEST(MessageView, LeavesOutNumbersThatAreNone) {
  const std::string head =
      head_of("<u1", "[1]", ",\"seq\":-1,\"sample\":1.5,\"time_ns\":18446744073709551615,\"gap\":\"many\"");
  const std::vector<std::byte> payload(1);
  std::string why;
  const auto m = read_message(head, payload, why);
  ASSERT_TRUE(m) << why;
  EXPECT_FALSE(m->seq);
  EXPECT_FALSE(m->sample);
  EXPECT_FALSE(m->time_ns);
  EXPECT_EQ(m->gap, 0);
}

TEST(MessageView, SurvivesAnyHeader) {
  const std::string seed = head_of("<i2", "[3,2]",
                                   ",\"seq\":12,\"sample\":65536,\"time_ns\":1700000000000000000,\"gap\":7,"
                                   "\"datatype\":\"ci16_le\",\"packets\":[{\"start\":1,\"noise\":null}]");
  static constexpr std::string_view kPieces[] = {"[",    "]",  "{",    "}",       ",",     ":",
                                                 "\"",   "-1", "1e99", "\\u0000", "null",  "9223372036854775808",
                                                 "\xff", " ",  "<c16", "|b1",     "shape", "0"};
  std::mt19937 random(1);
  std::int64_t readable = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string head = seed;
    for (auto changes = 1 + random() % 4; changes > 0; --changes) {
      const std::size_t at = random() % (head.size() + 1);
      if (random() % 2) head.erase(at, random() % 6);
      if (random() % 2) head.insert(std::min(at, head.size()), kPieces[random() % std::size(kPieces)]);
      if (random() % 8 == 0 && !head.empty()) head[random() % head.size()] = static_cast<char>(random() % 256);
    }
    const std::vector<std::byte> payload(random() % 3 ? 12 : random() % 33);
    std::string why;
    const auto message = read_message(head, payload, why);
    if (!message) {
      EXPECT_FALSE(why.empty()) << head;
      continue;
    }
    ++readable;
    ASSERT_GE(message->gap, 0);
    for (std::int64_t i = 0; i < message->values(); ++i) ASSERT_FALSE(text_of(value_at(*message, i)).empty());
    ASSERT_FALSE(message->header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).empty());
  }
  EXPECT_GT(readable, 1000);  // the changes are small enough to get past the parser
}

/// Feeds a tally with messages of one or more topics.
struct Feed {
  MessageTally tally;
  std::int64_t now_ns = 0;
  void operator()(std::uint64_t seq, std::int64_t time_ns, std::string_view topic = "t", std::int64_t gap = 0) {
    MessageView m;
    m.topic = topic;
    m.seq = seq;
    m.time_ns = time_ns;
    m.gap = gap;
    tally.take(m, 1000, now_ns += 1'000'000);
  }
};

TEST(MessageTally, CountsJumpsOnceAndTakesBackWhatComesLate) {
  Feed feed;
  feed(10, 1);
  feed(11, 2);
  feed(15, 6);  // 12, 13, 14 are missing
  EXPECT_EQ(feed.tally.totals().lost, 3u);
  feed(13, 4);
  feed(13, 4);  // a duplicate changes nothing
  const auto t = feed.tally.totals();
  EXPECT_EQ(t.lost, 2u);
  EXPECT_EQ(t.out_of_order, 2u);
  EXPECT_EQ(t.restarts, 0u);
  EXPECT_EQ(t.messages, 5u);
}

TEST(MessageTally, FollowsEachTopicByItself) {
  Feed feed;
  for (std::uint64_t seq = 0; seq < 10; ++seq) feed(seq, 1, "a"), feed(seq * 2, 1, "b", 3);
  const auto t = feed.tally.totals();
  EXPECT_EQ(t.topics, 2u);
  EXPECT_EQ(t.lost, 9u);
  EXPECT_EQ(t.gap, 30u);
  EXPECT_EQ(t.out_of_order, 0u);
}

TEST(MessageTally, KnowsANewStreamFromALateMessage) {
  Feed feed;
  feed(0, 100);
  feed(1, 200);
  feed(2, 300);
  feed(0, 400);  // the publisher was restarted
  feed(1, 500);
  auto t = feed.tally.totals();
  EXPECT_EQ(t.restarts, 1u);
  EXPECT_EQ(t.out_of_order, 0u);
  EXPECT_EQ(t.lost, 0u);
  feed(0, 400);  // a late one
  t = feed.tally.totals();
  EXPECT_EQ(t.restarts, 1u);
  EXPECT_EQ(t.out_of_order, 1u);
}

TEST(MessageTally, StaysSmallWhateverTheNumbersAre) {
  Feed feed;
  feed(0, 1);
  feed(std::numeric_limits<std::uint64_t>::max() - 1, 2);
  feed(7, 3);  // lost too, but too long ago to be tracked
  const auto t = feed.tally.totals();
  EXPECT_EQ(t.lost, std::numeric_limits<std::uint64_t>::max() - 2);
  EXPECT_EQ(t.out_of_order, 1u);
  for (int i = 0; i < 10'000; ++i) feed(0, 1, "topic" + std::to_string(i));
  EXPECT_LE(feed.tally.totals().topics, 4096u);
}

TEST(MessageTally, TakesRatesFromWhatCameBehindTheFirst) {
  Feed feed;
  feed(0, 1);
  EXPECT_EQ(feed.tally.totals().messages_per_second, 0);
  for (std::uint64_t seq = 1; seq <= 10; ++seq) feed(seq, 1);
  feed.tally.take_malformed();
  const auto t = feed.tally.totals();
  EXPECT_DOUBLE_EQ(t.seconds, 0.01);
  EXPECT_DOUBLE_EQ(t.messages_per_second, 1000);
  EXPECT_DOUBLE_EQ(t.bytes_per_second, 1e6);
  EXPECT_EQ(t.malformed, 1u);
  EXPECT_EQ(t.bytes, 11'000u);
}

}  // namespace
}  // namespace iqd
