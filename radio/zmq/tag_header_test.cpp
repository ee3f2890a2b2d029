// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/tag_header.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "base/wire.hpp"
#include "radio/zmq/tag_header_for_test.hpp"

namespace iqd::radio::zmq {
namespace {

using namespace tag_text;

TEST(ZmqTagHeader, ReadsTimesAndRateAndSkipsWhateverElseThereIs) {
  const std::string dict = std::string("\x09\x07", 2) + symbol("gain") + real(30) + "\x06";
  const std::string list = "\x07" + real(1) + "\x07" + integer(2) + "\x06";
  const std::string vector = "\x08" + number<std::uint32_t>(2) + std::string("\x00\x01", 2);
  const std::string floats =
      std::string("\x0a\x08", 2) + number<std::uint32_t>(2) + std::string("\x01\x00", 2) + number(1.0f) + number(2.0f);
  const std::string complex = "\x05" + number(1.0) + number(-1.0);
  std::string text = head(5000, 8);
  text += tag(5003, "rx_time", time(1'700'000'000, 0.25));
  for (const std::string& value : {dict, list, vector, floats, complex}) text += tag(5001, "other", value);
  text += tag(5000, "rx_rate", real(2e6));
  text += tag(5000, "rx_time", time(1'700'000'000, 0.125));
  std::vector<TimeTag> times;
  const auto got = parse_tag_header(text + "samples", times);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->bytes, text.size());
  EXPECT_EQ(got->offset, 5000);
  EXPECT_EQ(got->rate_hz, 2e6);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].sample, 0);
  EXPECT_EQ(times[0].time_ns, 1'700'000'000'125'000'000);
  EXPECT_EQ(times[1].sample, 3);
  EXPECT_EQ(times[1].time_ns, 1'700'000'000'250'000'000);
}

TEST(ZmqTagHeader, ReadsWhatPublishWrites) {
  PortFormat format;
  format.port = "source";
  format.dims = {{"n", 100}};
  format.varying = 0;
  format.rate_hz = format.item_rate_hz = 2.5e6;
  std::vector<cf32> samples(100);
  samples[0] = {1, 2};
  Message m;
  m.format = &format;
  m.sample = 12'345;
  m.position = 4115;
  m.time_ns = 1'700'000'000'000'000'001;
  m.extent = 100;
  m.payload = std::as_bytes(std::span(samples));
  std::vector<char> text(gnuradio_header_bound(format));
  const std::size_t size = write_gnuradio_header(m, true, text);
  ASSERT_GT(size, 0u);
  std::vector<TimeTag> times;
  const auto got = parse_tag_header({text.data(), size}, times);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->bytes, size - sizeof(cf32)) << "the first sample follows";
  EXPECT_EQ(got->offset, 4115);
  EXPECT_EQ(got->rate_hz, 2.5e6);
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].sample, 0);
  EXPECT_EQ(times[0].time_ns, m.time_ns);
}

TEST(ZmqTagHeader, WhatIsNoneIsRefused) {
  std::vector<TimeTag> times;
  EXPECT_FALSE(parse_tag_header("", times));
  EXPECT_FALSE(parse_tag_header(head(0, 1), times)) << "the tag is missing";
  EXPECT_FALSE(parse_tag_header("x" + head(0, 0), times));
  EXPECT_FALSE(parse_tag_header(head(UINT64_MAX, 0), times));
  EXPECT_FALSE(parse_tag_header(head(0, UINT64_MAX) + tag(0, "a", "\x06"), times));
  EXPECT_FALSE(parse_tag_header(head(5, 1) + tag(4, "rx_time", time(1, 0)), times)) << "before the message";
  EXPECT_FALSE(parse_tag_header(head(0, 1) + tag(0, "rx_time", real(1)), times));
  EXPECT_FALSE(parse_tag_header(head(0, 1) + tag(0, "rx_time", time(UINT64_MAX, 0)), times));
  EXPECT_FALSE(parse_tag_header(head(0, 1) + tag(0, "rx_time", time(1, NAN)), times));
  EXPECT_FALSE(parse_tag_header(head(0, 1) + tag(0, "rx_rate", real(HUGE_VAL)), times));
  EXPECT_FALSE(parse_tag_header(head(0, 1) + tag(0, "a", "\x7f"), times)) << "unknown kind of value";
  EXPECT_FALSE(parse_tag_header(head(0, 1) + tag(0, "a", "\x08" + number(UINT32_MAX)), times));
  EXPECT_FALSE(parse_tag_header(head(0, 1) + tag(0, "a", std::string(100'000, '\x07')), times)) << "too deep";
  ASSERT_TRUE(parse_tag_header(head(0, 0), times));
  EXPECT_EQ(parse_tag_header(head(0, 0), times)->bytes, head(0, 0).size());
}

TEST(ZmqTagHeader, AMillionMalformedOnesDoNoHarm) {
  std::string seed = head(1000, 4) + tag(1000, "rx_time", time(1'700'000'000, 0.5)) + tag(1000, "rx_rate", real(1e6));
  seed += tag(1001, "d", std::string("\x09\x07", 2) + symbol("k") + integer(1) + "\x06");
  seed += tag(1002, "u",
              std::string("\x0a\x01", 2) + number<std::uint32_t>(3) +
                  std::string("\x01\x00"
                              "abc",
                              5));
  std::vector<TimeTag> times;
  ASSERT_TRUE(parse_tag_header(seed, times));
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return random() % n; };
  std::vector<char> exact;
  std::int64_t taken = 0;
  for (int round = 0; round < 1'000'000; ++round) {
    std::string text = seed;
    for (std::size_t change = 0, changes = 1 + below(3); change < changes && !text.empty(); ++change) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + below(8)); break;
        case 2: text.insert(at, 1, static_cast<char>(below(16))); break;
        default: text.resize(at);
      }
    }
    // A buffer of the exact size, so that the sanitizer detects a read beyond it.
    exact.assign(text.begin(), text.end());
    exact.shrink_to_fit();
    const auto got = parse_tag_header({exact.data(), exact.size()}, times);
    if (!got) continue;
    ++taken;
    ASSERT_LE(got->bytes, exact.size());
    ASSERT_GE(got->offset, 0);
    for (const TimeTag& t : times) ASSERT_GE(t.sample, 0);
  }
  EXPECT_GT(taken, 1000);
  EXPECT_LT(taken, 999'000);
}

}  // namespace
}  // namespace iqd::radio::zmq
