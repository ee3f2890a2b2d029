// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/word_crc.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <vector>

namespace iqd {
namespace {

std::vector<std::uint8_t> bits_of_text(std::string_view text) {
  std::vector<std::uint8_t> bits;
  for (const char c : text)
    for (int b = 7; b >= 0; --b) bits.push_back(static_cast<std::uint8_t>(c >> b & 1));
  return bits;
}

TEST(WordCrc, CheckValues) {
  const auto bits = bits_of_text("123456789");
  EXPECT_EQ(crc_of(WordCrc::crc24a, bits), 0xCDE703u);
  EXPECT_EQ(crc_of(WordCrc::crc24b, bits), 0x23EF52u);
  EXPECT_EQ(crc_of(WordCrc::crc16, bits), 0x31C3u);
  EXPECT_EQ(crc_of(WordCrc::none, bits), 0u);
  EXPECT_EQ(bits_of(WordCrc::none), 0);
  EXPECT_EQ(bits_of(WordCrc::crc16), 16);
  EXPECT_EQ(bits_of(WordCrc::crc24b), 24);
}

TEST(WordCrc, WeightsOfAWordWithItsCrcAddUpToNothing) {
  std::mt19937 random(1);
  for (const WordCrc crc : {WordCrc::crc16, WordCrc::crc24a, WordCrc::crc24b})
    for (const int count : {1, 30, 700}) {
      std::vector<std::uint8_t> word(static_cast<std::size_t>(count));
      for (auto& bit : word) bit = static_cast<std::uint8_t>(random() & 1);
      const std::uint32_t value = crc_of(crc, word);
      for (int b = bits_of(crc) - 1; b >= 0; --b) word.push_back(static_cast<std::uint8_t>(value >> b & 1));
      const auto weights = crc_weights(crc, static_cast<int>(word.size()));
      std::uint32_t sum = 0;
      for (std::size_t i = 0; i < word.size(); ++i) sum ^= word[i] != 0 ? weights[i] : 0;
      EXPECT_EQ(sum, 0u);
      for (const std::uint32_t w : weights) EXPECT_NE(w, 0u);
    }
  EXPECT_TRUE(crc_weights(WordCrc::none, 100).empty());
}

}  // namespace
}  // namespace iqd
