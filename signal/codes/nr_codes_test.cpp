// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/nr_codes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/sha256.hpp"
#include "signal/codes/ldpc_encoder.hpp"

namespace iqd {
namespace {

struct Base {
  const char* sha256;  // its beginning
  int entries, rows, columns;
};
constexpr Base kBases[] = {{"8303573c470203e2", 316, 46, 68}, {"d525c00e4b64720b", 197, 42, 52}};

TEST(NrCodes, TablesAreThoseOfTheSpecification) {
  ASSERT_EQ(nr_tables().size(), 2u);
  for (std::size_t g = 0; g < 2; ++g) {
    Sha256 hash;
    hash.add(std::string_view(nr_tables()[g].text));
    EXPECT_EQ(hash.hex().substr(0, 16), kBases[g].sha256);
    std::istringstream lines(nr_tables()[g].text);
    int count = 0;
    std::pair<int, int> before(-1, -1), place;
    for (; lines >> place.first >> place.second; ++count) {
      EXPECT_LT(before, place);
      before = place;
      for (const int set : kNrSets) {
        int largest = set, shift = -1;
        while (2 * largest <= kNrLargestLift) largest *= 2;
        lines >> shift;
        EXPECT_TRUE(shift >= 0 && shift < largest) << set << " " << shift;
      }
    }
    EXPECT_EQ(count, kBases[g].entries);
  }
}

TEST(NrCodes, AGraphHasOneCodeForEachLift) {
  ASSERT_EQ(nr_lifts().size(), 51u);
  ASSERT_EQ(nr_codes().size(), 102u);
  EXPECT_TRUE(std::ranges::is_sorted(nr_lifts()));
  for (const int graph : {1, 2})
    for (const int lift : nr_lifts()) {
      const LdpcCode& code = nr_code(graph, lift);
      EXPECT_EQ(code.name, "nr_bg" + std::to_string(graph) + "_z" + std::to_string(lift));
      EXPECT_EQ(find_ldpc_code(code.name), &code);
      const Base& base = kBases[graph - 1];
      EXPECT_EQ(code.rows, base.rows);
      EXPECT_EQ(code.columns, base.columns);
      EXPECT_EQ(std::ssize(code.entries), base.entries);
      EXPECT_TRUE(std::ranges::all_of(code.entries, [&](const LdpcEntry& e) { return e.shift < lift; }));
    }
  EXPECT_EQ(nr_code(1, 384).k(), 8448);
  EXPECT_EQ(nr_code(1, 384).n(), 25344);
  EXPECT_EQ(nr_code(2, 384).k(), 3840);
  EXPECT_EQ(nr_code(2, 384).n(), 19200);
  EXPECT_EQ(find_ldpc_code("nr_bg1_z383"), nullptr);
}

TEST(NrCodes, FurtherRowsHaveAColumnOfTheirOwn) {
  for (const LdpcCode& code : nr_codes())
    for (int column = code.information() + code.core; column < code.columns; ++column) {
      EXPECT_EQ(std::ranges::count(code.entries, column, &LdpcEntry::column), 1);
      const auto own = std::ranges::find(code.entries, column, &LdpcEntry::column);
      EXPECT_EQ(own->shift, 0);
      EXPECT_EQ(own->row, column - code.information());
    }
}

TEST(NrCodes, WordsOfEveryCodeFulfilAllChecks) {
  std::mt19937 random(1);
  for (const LdpcCode& code : nr_codes()) {
    const LdpcEncoder encoder(code);
    std::vector<std::uint8_t> word(encoder.bytes());
    for (int i = 0; i < code.k(); ++i) word[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(random() & 1);
    const auto bits = word;
    encoder.encode(word);
    EXPECT_TRUE(std::equal(bits.begin(), bits.begin() + code.k(), word.begin())) << code.name;
    EXPECT_TRUE(ldpc_valid(code, word)) << code.name;
    for (const int rows : {4, 5, 20}) EXPECT_TRUE(ldpc_valid(code.first_rows(rows), word)) << code.name << " " << rows;
  }
}

TEST(NrCodes, FirstRowsAreACode) {
  const LdpcCode code = nr_code(2, 120).first_rows(12);
  EXPECT_EQ(code.rows, 12);
  EXPECT_EQ(code.k(), 1200);
  EXPECT_EQ(code.n(), 20 * 120);
  EXPECT_EQ(code.entries.back().row, 11);
  const LdpcCode& whole = nr_code(2, 120);
  EXPECT_EQ(whole.first_rows(whole.rows).entries.size(), whole.entries.size());
}

}  // namespace
}  // namespace iqd
