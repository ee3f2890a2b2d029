// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/irig_codes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "signal/codes/word_code.hpp"

namespace iqd {
namespace {

/// Facts of a code that follow from the tables of the standard.
struct Known {
  const char* name;
  int k, n, lift;
  std::size_t heaviest;  // row
  std::int64_t ones, cycles_of_4, cycles_of_6;
  const char* parity;  // the first 64 parity bits of the word whose information is a one and zeros
};
constexpr Known kKnown[] = {
    {"irig_1024_1_2", 1024, 2048, 128, 6, 7680, 0, 128, "CFA794F49FA5A0D8"},
    {"irig_1024_2_3", 1024, 1536, 64, 10, 5888, 128, 1920, "51236781781D416A"},
    {"irig_1024_4_5", 1024, 1280, 32, 18, 4992, 320, 16512, "678ECB51FE821D5C"},
    {"irig_4096_1_2", 4096, 8192, 512, 6, 30720, 0, 0, "616DB583006DB999"},
    {"irig_4096_2_3", 4096, 6144, 256, 10, 23552, 0, 768, "80924F648C014F2C"},
    {"irig_4096_4_5", 4096, 5120, 128, 18, 19968, 128, 15872, "473BC533A12C3596"},
};

/// The shifts of a row of blocks, by column.
std::vector<std::map<int, int>> rows_of(const LdpcCode& code) {
  std::vector<std::map<int, int>> rows(static_cast<std::size_t>(code.rows));
  for (const LdpcEntry& e : code.entries) rows[static_cast<std::size_t>(e.row)][e.column] = e.shift;
  return rows;
}

/// From row a by a column that both have to row b: the differences of the shifts, by column.
std::vector<std::pair<int, int>> steps(const std::map<int, int>& a, const std::map<int, int>& b) {
  std::vector<std::pair<int, int>> found;
  for (const auto& [column, shift] : a)
    if (const auto other = b.find(column); other != b.end()) found.emplace_back(column, shift - other->second);
  return found;
}

/// Cycles in the graph of checks and bits. Two checks that share a bit, and two bits that share a check, are in
/// different blocks, so a cycle of 4 or 6 visits as many rows and columns of blocks.
std::int64_t cycles_of_4(const LdpcCode& code) {
  const auto rows = rows_of(code);
  std::int64_t count = 0;
  for (std::size_t a = 0; a < rows.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const auto both = steps(rows[a], rows[b]);
      for (const auto& x : both)
        for (const auto& y : both) count += x.first < y.first && (x.second - y.second) % code.lift == 0;
    }
  return count * code.lift;
}
std::int64_t cycles_of_6(const LdpcCode& code) {
  const auto rows = rows_of(code);
  std::int64_t count = 0;
  for (std::size_t a = 0; a < rows.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      for (std::size_t c = 0; c < b; ++c)
        for (const auto& x : steps(rows[a], rows[b]))
          for (const auto& y : steps(rows[b], rows[c]))
            for (const auto& w : steps(rows[c], rows[a]))
              count += x.first != y.first && y.first != w.first && w.first != x.first &&
                       (x.second + y.second + w.second) % code.lift == 0;
  return count * code.lift;
}

std::string hex(std::span<const std::uint8_t> bits) {
  std::string text;
  for (std::size_t i = 0; i < bits.size(); i += 4)
    text += fmt::format("{:X}", bits[i] << 3 | bits[i + 1] << 2 | bits[i + 2] << 1 | bits[i + 3]);
  return text;
}

TEST(IrigCodes, HaveTheSizesOfTheStandard) {
  ASSERT_EQ(irig_codes().size(), std::size(kKnown));
  for (std::size_t i = 0; i < std::size(kKnown); ++i) {
    const LdpcCode& code = irig_codes()[i];
    const Known& known = kKnown[i];
    EXPECT_EQ(code.name, known.name);
    EXPECT_EQ(find_ldpc_code(known.name), &code);
    EXPECT_EQ(code.k(), known.k);
    EXPECT_EQ(code.n(), known.n);
    EXPECT_EQ(code.lift, known.lift);
    EXPECT_EQ(code.iterations, 50);
    EXPECT_EQ(code.hidden_first + code.hidden, code.columns) << "the last block is not sent";
    EXPECT_EQ(code.hidden * code.lift, code.bits() - code.n());
  }
  EXPECT_EQ(find_ldpc_code("irig_4096_3_4"), nullptr);
}

TEST(IrigCodes, TablesAreThoseOfTheStandard) {
  for (const Known& known : kKnown) {
    SCOPED_TRACE(known.name);
    const LdpcCode& code = *find_ldpc_code(known.name);
    std::set<std::size_t> weights;
    for (const auto& row : rows_of(code)) weights.insert(row.size());
    EXPECT_EQ(weights, (std::set<std::size_t>{3, known.heaviest}));
    EXPECT_EQ(std::ssize(code.entries) * code.lift, known.ones);
    EXPECT_EQ(cycles_of_4(code), known.cycles_of_4);
    EXPECT_EQ(cycles_of_6(code), known.cycles_of_6);
    std::map<int, int> of_column;
    for (const LdpcEntry& e : code.entries) ++of_column[e.column];
    for (const auto& [column, weight] : of_column) EXPECT_EQ(weight == 6, column >= code.hidden_first) << column;
  }
}

TEST(IrigCodes, TheFirstLinesOfARateOneHalfTable) {
  const auto rows = rows_of(*find_ldpc_code("irig_1024_1_2"));
  EXPECT_EQ(rows[0], (std::map<int, int>{{8, 0}, {16, 0}, {19, 16}}));
  EXPECT_EQ(rows[4], (std::map<int, int>{{0, 0}, {4, 0}, {12, 0}, {16, 103}, {17, 105}, {18, 0}}));
}

TEST(IrigCodes, WordsAreThoseOfTheStandard) {
  for (const Known& known : kKnown) {
    const LdpcCode& code = *find_ldpc_code(known.name);
    std::vector<std::uint8_t> bits(static_cast<std::size_t>(code.k()));
    bits[0] = 1;
    const auto word = WordEncoder(whole_code(code)).encoded(bits);
    EXPECT_EQ(hex(std::span(word).subspan(bits.size(), 64)), known.parity) << known.name;
  }
}

TEST(IrigCodes, WordsFulfilAllChecks) {
  // The encoder inverts all parity columns, so the rank is that of all rows.
  std::mt19937 random(1);
  for (const LdpcCode& code : irig_codes()) {
    const LdpcEncoder encoder(code);
    std::vector<std::uint8_t> word(encoder.bytes());
    for (int i = 0; i < code.k(); ++i) word[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(random() & 1);
    const auto bits = word;
    encoder.encode(word);
    EXPECT_TRUE(std::equal(bits.begin(), bits.begin() + code.k(), word.begin())) << code.name;
    EXPECT_TRUE(ldpc_valid(code, word)) << code.name;
    for (const int turned : {0, code.k(), code.n(), code.bits() - 1}) {
      word[static_cast<std::size_t>(turned)] ^= 1;
      EXPECT_FALSE(ldpc_valid(code, word)) << code.name << " " << turned;
      word[static_cast<std::size_t>(turned)] ^= 1;
    }
  }
}

}  // namespace
}  // namespace iqd
