// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/frame_format.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace iqd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::uint32_t crc_of_text(CrcName name, std::string_view text) {
  const Crc crc = crc_of(name);
  std::uint32_t state = crc.initial;
  for (const char c : text) state = crc.add(state, static_cast<std::uint8_t>(c));
  std::uint32_t sum = 0;
  for (int i = 0; i < crc.bytes; ++i)
    sum |= static_cast<std::uint32_t>(crc.byte_of(state, i)) << 8 * (crc.reflected ? i : crc.bytes - 1 - i);
  return sum;
}

/// The check values that identify CRCs in the catalogue.
TEST(FrameFormat, ChecksumsAreThoseOfTheCatalogue) {
  EXPECT_EQ(crc_of_text(CrcName::crc8, "123456789"), 0xf4u);
  EXPECT_EQ(crc_of_text(CrcName::crc8_31, "123456789"), 0xa2u);
  EXPECT_EQ(crc_of_text(CrcName::crc16_ccitt, "123456789"), 0x29b1u);
  EXPECT_EQ(crc_of_text(CrcName::crc16_cc1101, "123456789"), 0xaee7u);
  EXPECT_EQ(crc_of_text(CrcName::crc32, "123456789"), 0xcbf43926u);
  EXPECT_EQ(crc_of_text(CrcName::none, "123456789"), 0u);
}

/// The checksum makes the remainder of the whole frame zero: polynomial division.
TEST(FrameFormat, OneWrongBitIsSeen) {
  for (const CrcName name :
       {CrcName::crc8, CrcName::crc8_31, CrcName::crc16_ccitt, CrcName::crc16_cc1101, CrcName::crc32}) {
    const std::uint32_t right = crc_of_text(name, "hello");
    for (std::size_t i = 0; i < 5; ++i)
      for (int b = 0; b < 8; ++b) {
        std::string wrong = "hello";
        wrong[i] = static_cast<char>(wrong[i] ^ 1 << b);
        EXPECT_NE(crc_of_text(name, wrong), right) << i << " " << b;
      }
  }
}

TEST(FrameFormat, ChipsOfAFrame) {
  FrameFormat format;
  format.pattern = {1, 1, 0};
  format.zero = {0, 1};
  format.one = {1, 0};
  format.bytes = 3;
  const std::uint8_t payload[] = {0xf0, 0x81};
  const auto manchester = [](std::vector<std::uint8_t> bits) {
    std::vector<std::uint8_t> chips{1, 1, 0};
    for (const std::uint8_t bit : bits) chips.insert(chips.end(), {bit, static_cast<std::uint8_t>(!bit)});
    return chips;
  };
  EXPECT_EQ(chips_of(format, payload),
            manchester({0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1}));
  format.has_length = false;
  format.lsb_first = true;
  format.bytes = 2;
  EXPECT_EQ(chips_of(format, payload), manchester({0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(format.chips(2), 3 + 32);
  format.crc = crc_of(CrcName::crc8);
  EXPECT_EQ(std::ssize(chips_of(format, payload)), format.chips(format.most_bytes()));
}

TEST(FrameFormat, ChipsAreReadFromText) {
  EXPECT_THAT(read_chips("2D"), ElementsAre(0, 0, 1, 0, 1, 1, 0, 1));
  EXPECT_THAT(read_chips("0x2d"), ElementsAre(0, 0, 1, 0, 1, 1, 0, 1));
  EXPECT_THAT(read_chips("0b011"), ElementsAre(0, 1, 1));
  EXPECT_THAT(read_chips("2g"), IsEmpty());
  EXPECT_THAT(read_chips("0b012"), IsEmpty());
  EXPECT_THAT(read_chips(""), IsEmpty());
}

}  // namespace
}  // namespace iqd
