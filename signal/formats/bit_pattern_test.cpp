// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/bit_pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iqd {
namespace {

using BitList = std::vector<std::uint8_t>;

TEST(BitPattern, HexadecimalDigitsWithAndWithoutPrefix) {
  const BitList expected{0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1};
  for (const char* text : {"1aF", "0x1aF", "0X1AF", "0b000110101111"}) {
    EXPECT_EQ(read_bits(text), expected) << text;
    EXPECT_EQ(bit_count(text), 12) << text;
  }
}

TEST(BitPattern, NothingIsAPatternWithoutBits) {
  for (const char* text : {"", "0x", "0b"}) {
    EXPECT_EQ(read_bits(text), BitList()) << text;
    EXPECT_EQ(bit_count(text), 0) << text;
  }
}

TEST(BitPattern, OtherTextsAreRefused) {
  for (const char* text : {"12G4", "0x12G4", "0b012", "0bcd", "x12", "-1", " 1"}) EXPECT_FALSE(read_bits(text)) << text;
}

}  // namespace
}  // namespace iqd
