// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/wire.hpp"

namespace iqd {
namespace {

template <class T> T at(std::string_view bytes, std::size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof value, bytes.size());
  if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

PortFormat binary_packets() {
  PortFormat f;
  f.port = "detector.bits";
  f.element = Element::u8;
  f.dims = {{"packet", 8}, {"kind", 2}, {"bit", 6}};
  f.varying = 0;
  return f;
}

std::string struct_header(const Message& m, std::string_view topic) {
  std::string text(topic.size() + 1 + kStructHeaderBytes, '\0');
  EXPECT_EQ(write_struct_header(m, topic, text), text.size());
  return text;
}

TEST(StructHeader, EveryFieldAtItsOffset) {
  const PortFormat f = binary_packets();
  Message m;
  m.format = &f;
  m.seq = 0x1122334455667788;
  m.sample = 123456789012;
  m.time_ns = -5;
  m.time = TimeSource::radio;
  m.extent = 3;
  m.gap = 77;
  m.dropped = 88;
  m.halo = 99;
  const std::string frame = struct_header(m, "bits");
  EXPECT_EQ(frame.substr(0, 9), "bits iqd1");
  const std::string_view head = std::string_view(frame).substr(5);
  EXPECT_EQ(at<std::uint8_t>(head, 4), 8);  // u8
  EXPECT_EQ(at<std::uint8_t>(head, 5), 3);
  EXPECT_EQ(at<std::int8_t>(head, 6), 0);
  EXPECT_EQ(at<std::uint8_t>(head, 7), 1);
  EXPECT_EQ(at<std::uint64_t>(head, 8), 0x1122334455667788u);
  EXPECT_EQ(at<std::uint8_t>(head, 8), 0x88);  // little-endian
  EXPECT_EQ(at<std::int64_t>(head, 16), 123456789012);
  EXPECT_EQ(at<std::int64_t>(head, 24), -5);
  EXPECT_EQ(at<std::int64_t>(head, 32), 3);
  EXPECT_EQ(at<std::int64_t>(head, 40), 77);
  EXPECT_EQ(at<std::int64_t>(head, 48), 88);
  EXPECT_EQ(at<std::uint32_t>(head, 56), 99u);
  EXPECT_EQ(at<std::uint32_t>(head, 60), 12u);
}

TEST(StructHeader, ItemsAreCountedBehindTheVaryingDimension) {
  PortFormat f = binary_packets();
  f.dims = {{"channel", 4}, {"n", 1000}};
  f.varying = 1;
  Message m;
  m.format = &f;
  m.extent = 500;
  std::string frame = struct_header(m, "t");
  EXPECT_EQ(at<std::int8_t>(frame, 2 + 6), 1);
  EXPECT_EQ(at<std::int64_t>(frame, 2 + 32), 500);
  EXPECT_EQ(at<std::uint32_t>(frame, 2 + 60), 1u);
  f.dims = {{"bin", 4096}};
  f.varying = -1;
  frame = struct_header(m, "t");
  EXPECT_EQ(at<std::int8_t>(frame, 2 + 6), -1);
  EXPECT_EQ(at<std::int64_t>(frame, 2 + 32), 1);
  EXPECT_EQ(at<std::uint32_t>(frame, 2 + 60), 4096u);
}

TEST(StructHeader, ElementsAreNumberedAsDocumented) {
  PortFormat f = binary_packets();
  Message m;
  m.format = &f;
  constexpr std::array kNumbered{Element::sc16, Element::cf32, Element::f32, Element::f16, Element::i64,
                                 Element::i32,  Element::i16,  Element::i8,  Element::u8};
  for (std::size_t number = 0; number < kNumbered.size(); ++number) {
    f.element = kNumbered[number];
    EXPECT_EQ(at<std::uint8_t>(struct_header(m, "t"), 2 + 4), number);
  }
}

TEST(StructHeader, TooLargeAHaloIsTheLargestThatFits) {
  const PortFormat f = binary_packets();
  Message m;
  m.format = &f;
  m.halo = std::int64_t{1} << 40;
  EXPECT_EQ(at<std::uint32_t>(struct_header(m, "t"), 2 + 56), 0xffffffffu);
}

TEST(StructHeader, ReturnsNothingWhereItDoesNotFit) {
  const PortFormat f = binary_packets();
  Message m;
  m.format = &f;
  for (std::size_t room = 0; room < 5 + kStructHeaderBytes; ++room) {
    std::vector<char> into(room);
    ASSERT_EQ(write_struct_header(m, "bits", into), 0u) << room;
  }
}

struct Samples {
  Samples() {
    format.port = "fir.out";
    format.element = Element::cf32;
    format.dims = {{"n", 16}};
    format.varying = 0;
    format.rate_hz = 4e6;
    format.item_rate_hz = 1e6;
    format.frequency_hz = 433.92e6;
    message.format = &format;
    message.sample = 0x0408;
    message.position = 0x0102;  // a quarter of it, since the port is slower
    message.time_ns = 5'250'000'000;
    message.extent = 2;
    message.payload = std::as_bytes(std::span(values));
  }
  std::string header(bool tagged) const {
    std::string text(gnuradio_header_bound(format), '\0');
    const std::size_t n = write_gnuradio_header(message, tagged, text);
    EXPECT_GT(n, 0u);
    text.resize(n);
    return text;
  }
  std::array<cf32, 2> values{cf32{1, 2}, cf32{3, 4}};
  PortFormat format;
  Message message;
};

std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  return bytes;
}

TEST(GnuRadioHeader, WithoutTagsItIsTheFixedPartAndTheFirstSample) {
  const std::string expected = from_hex(
      "f05f01"
      "0201000000000000"
      "0000000000000000"
      "0000803f00000040");
  EXPECT_EQ(Samples().header(false), expected);
}

// The bytes that GNU Radio's pmt.serialize_str() makes from these keys and values.
TEST(GnuRadioHeader, TagsAreSerialisedAsGnuRadioDoes) {
  const std::string port = from_hex("0200076669722e6f7574");
  const std::string offset = from_hex("0201000000000000");
  const std::string expected = from_hex("f05f01") + offset + from_hex("0300000000000000") +  //
                               offset + from_hex("02000772785f74696d65") +
                               from_hex("0c000000020b0000000000000005043fd0000000000000") + port +  //
                               offset + from_hex("02000772785f72617465") + from_hex("04412e848000000000") + port +
                               offset + from_hex("02000772785f66726571") + from_hex("0441b9dd1800000000") + port +  //
                               from_hex("0000803f00000040");
  const Samples s;
  EXPECT_EQ(s.header(true), expected);
  EXPECT_EQ(gnuradio_header_bound(s.format), expected.size());
}

TEST(GnuRadioHeader, AMessageWithoutSamplesHasNoFirstOne) {
  Samples s;
  s.message.payload = {};
  s.message.time_ns = -1;
  EXPECT_EQ(s.header(false).size(), 19u);
  EXPECT_GT(s.header(true).size(), 19u);
}

TEST(GnuRadioHeader, ALongPortNameStaysWithinTheBound) {
  Samples s;
  s.format.port = std::string(70000, 'p');
  EXPECT_EQ(s.header(true).size(), gnuradio_header_bound(s.format));
}

TEST(GnuRadioHeader, ReturnsNothingWhereItDoesNotFit) {
  const Samples s;
  const std::size_t whole = s.header(true).size();
  for (std::size_t room = 0; room < whole; ++room) {
    std::vector<char> into(room);
    ASSERT_EQ(write_gnuradio_header(s.message, true, into), 0u) << room;
  }
}

}  // namespace
}  // namespace iqd
