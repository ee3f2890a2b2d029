// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/ldpc_code.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "signal/codes/word_code.hpp"

namespace iqd {
namespace {

std::vector<std::uint8_t> random_bits(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(count));
  for (auto& b : bits) b = static_cast<std::uint8_t>(random() & 1);
  return bits;
}

std::vector<std::uint8_t> encoded(const LdpcCode& code, const std::vector<std::uint8_t>& bits) {
  return WordEncoder(whole_code(code)).encoded(bits);
}

/// Evaluates every check separately, as the header defines it.
int checks_that_fail(const LdpcCode& code, const std::vector<std::uint8_t>& word) {
  int failed = 0;
  for (int row = 0; row < code.rows; ++row)
    for (int i = 0; i < code.lift; ++i) {
      int sum = 0;
      for (const LdpcEntry& e : code.entries)
        if (e.row == row) sum += word.data()[e.column * code.lift + (i + e.shift) % code.lift];
      failed += sum % 2;
    }
  return failed;
}

TEST(LdpcCode, AreFoundByTheirNames) {
  ASSERT_FALSE(ldpc_codes().empty());
  for (const LdpcCode& code : ldpc_codes()) EXPECT_EQ(find_ldpc_code(code.name), &code);
  EXPECT_EQ(find_ldpc_code("80216e_2304"), nullptr);
}

TEST(LdpcCode, The80216eCodeHasRateOneHalf) {
  const LdpcCode* code = find_ldpc_code("80216e_2304_1_2");
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->n(), 2304);
  EXPECT_EQ(code->k(), 1152);
}

TEST(LdpcCode, TablesAreInOrderAndWithinTheirRanges) {
  for (const LdpcCode& code : ldpc_codes()) {
    EXPECT_TRUE(
        std::ranges::is_sorted(code.entries, {}, [](const LdpcEntry& e) { return std::pair(e.row, e.column); }));
    std::set<std::pair<int, int>> places;
    for (const LdpcEntry& e : code.entries) {
      places.emplace(e.row, e.column);
      EXPECT_TRUE(e.row >= 0 && e.row < code.rows && e.column >= 0 && e.column < code.columns);
      EXPECT_TRUE(e.shift >= 0 && e.shift < code.lift);
    }
    EXPECT_EQ(places.size(), code.entries.size()) << "a place has two circulants";
  }
}

/// Two rows that share two columns make a cycle of four edges if the differences of their shifts are equal; a good code
/// has none.
TEST(LdpcCode, NoCycleOfFour) {
  for (const LdpcCode& code : ldpc_codes())
    for (int a = 0; a < code.rows; ++a)
      for (int b = 0; b < a; ++b) {
        std::set<int> differences;
        for (const LdpcEntry& x : code.entries)
          for (const LdpcEntry& y : code.entries) {
            if (x.row == a && y.row == b && x.column == y.column) {
              EXPECT_TRUE(differences.insert((x.shift - y.shift + code.lift) % code.lift).second) << a << " " << b;
            }
          }
      }
}

TEST(LdpcCode, EncodedWordsHoldTheirBitsAndFulfilAllChecks) {
  for (const LdpcCode& code : ldpc_codes())
    for (unsigned seed = 0; seed < 5; ++seed) {
      const auto bits = random_bits(code.k(), seed);
      const auto word = encoded(code, bits);
      EXPECT_TRUE(std::ranges::all_of(word, [](std::uint8_t b) { return b <= 1; }));
      EXPECT_TRUE(std::equal(bits.begin(), bits.end(), word.begin()));
      EXPECT_EQ(checks_that_fail(code, word), 0);
      EXPECT_TRUE(ldpc_valid(code, word));
    }
}

TEST(LdpcCode, AnyBitThatIsTurnedIsSeen) {
  for (const LdpcCode& code : ldpc_codes()) {
    auto word = encoded(code, random_bits(code.k(), 9));
    for (auto& bit : word) {
      bit ^= 1;
      EXPECT_FALSE(ldpc_valid(code, word));
      bit ^= 1;
    }
  }
}

TEST(LdpcCode, BitsCountByTheirLowestBit) {
  const LdpcCode& code = ldpc_codes().front();
  const auto bits = random_bits(code.k(), 3);
  auto others = bits;
  for (auto& b : others) b = static_cast<std::uint8_t>(b | 0xfe);
  EXPECT_EQ(encoded(code, bits), encoded(code, others));
}

}  // namespace
}  // namespace iqd
