// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/word_code.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "signal/codes/nr_codes.hpp"

namespace iqd {
namespace {

using Bits = std::vector<std::uint8_t>;

Bits some_bits(int count, unsigned seed) {
  std::mt19937 random(seed);
  Bits bits(static_cast<std::size_t>(count));
  for (auto& b : bits) b = static_cast<std::uint8_t>(random() & 1);
  return bits;
}

/// All bits of a word of NR, in all columns.
Bits whole_word(const LdpcCode& code, Bits information) {
  const LdpcEncoder encoder(code);
  information.resize(encoder.bytes());
  encoder.encode(information);
  information.resize(static_cast<std::size_t>(code.bits()));
  return information;
}

/// Rate matching as TS 38.212, 5.4.2 writes it: a ring behind the first two columns, from which filler is skipped.
Bits matched(const Bits& all, const LdpcCode& code, int k, int first_column, int e, int planes) {
  const int z = code.lift, size = code.n();
  Bits selected;
  for (int j = 0; std::ssize(selected) < e; ++j) {
    const int at = (first_column * z + j) % size + 2 * z;
    if (at < k || at >= code.k()) selected.push_back(all[static_cast<std::size_t>(at)]);
  }
  Bits sent(selected.size());
  const auto rows = static_cast<std::size_t>(planes), columns = selected.size() / rows;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) sent[i + j * rows] = selected[i * columns + j];
  return sent;
}

TEST(WordCode, AWholeCodeSendsAllButHiddenColumns) {
  const LdpcCode& plain = ldpc_codes()[0];
  const WordCode words = whole_code(plain);
  EXPECT_TRUE(words.is_plain());
  EXPECT_EQ(words.n(), 2304);
  EXPECT_EQ(words.information(), 1152);
  const Bits bits = some_bits(1152, 1), word = WordEncoder(words).encoded(bits);
  EXPECT_TRUE(ldpc_valid(plain, word));
  EXPECT_TRUE(std::equal(bits.begin(), bits.end(), word.begin()));

  const LdpcCode& nr = nr_code(2, 20);
  EXPECT_FALSE(whole_code(nr).is_plain());
  const Bits own = some_bits(nr.k(), 2), all = whole_word(nr, own);
  EXPECT_EQ(WordEncoder(whole_code(nr)).encoded(own), Bits(all.begin() + 40, all.end()));
}

TEST(WordCode, ACodeMayHideItsLastColumns) {
  LdpcCode code = ldpc_codes()[0];
  code.hidden_first = 22;
  code.hidden = 2;
  const Bits bits = some_bits(1152, 3);
  const Bits word = WordEncoder(whole_code(code)).encoded(bits),
             all = WordEncoder(whole_code(ldpc_codes()[0])).encoded(bits);
  EXPECT_EQ(word, Bits(all.begin(), all.begin() + 22 * 96));
}

TEST(WordCode, GraphAndLiftFollowFromLengthAndRate) {
  struct Case {
    std::int64_t k, e;
    int graph, lift;
  };
  for (const Case& c : {Case{8448, 16896, 1, 384},
                        {1144, 1500, 1, 52},
                        {1200, 2400, 2, 120},
                        {292, 300, 2, 40},
                        {293, 330, 1, 14},
                        {3824, 5700, 1, 176},
                        {3824, 6000, 2, 384},
                        {3840, 20000, 2, 384},
                        {640, 1280, 2, 72},
                        {641, 1300, 2, 72},
                        {560, 1200, 2, 72},
                        {561, 1200, 2, 64},
                        {192, 400, 2, 32},
                        {193, 400, 2, 26},
                        {12, 40, 2, 2},
                        {1, 4, 2, 2}}) {
    const int graph = nr_graph({.k = c.k, .e = c.e});
    EXPECT_EQ(graph, c.graph) << c.k << " " << c.e;
    EXPECT_EQ(nr_lift(graph, c.k), c.lift) << c.k << " " << c.e;
  }
}

TEST(WordCode, BitsAreSentAsTheSpecificationSays) {
  static constexpr int kBegins[2][4] = {{0, 17, 33, 56}, {0, 13, 25, 43}};
  struct Case {
    int k, e, planes;
  };
  // Much and little filler, punctured, repeated once and several times.
  for (const Case& c : {Case{1144, 1500, 1},
                        {1100, 1560, 6},
                        {1200, 2400, 2},
                        {500, 1000, 4},
                        {30, 700, 1},
                        {30, 64, 8},
                        {1000, 4500, 6},
                        {8448, 30000, 2},
                        {8000, 9000, 1}})
    for (int rv = 0; rv < 4; ++rv) {
      const NrWord word{.k = c.k, .e = c.e, .rv = rv, .planes = c.planes};
      const WordCode words = nr_code_of(word);
      const int graph = nr_graph(word);
      const LdpcCode& code = nr_code(graph, nr_lift(graph, c.k));
      const Bits bits = some_bits(c.k, 7), all = [&] {
        Bits filled = bits;
        filled.resize(static_cast<std::size_t>(code.k()));
        return whole_word(code, filled);
      }();
      const Bits expected = matched(all, code, c.k, kBegins[graph - 1][rv], c.e, c.planes);
      EXPECT_EQ(WordEncoder(words).encoded(bits), expected) << c.k << " " << c.e << " " << rv;
      // The way back.
      std::vector<int> found(static_cast<std::size_t>(c.e), 0);
      for (int p = 0; p < words.code.bits(); ++p)
        for (int turn = words.sent.turn_of(p); turn < c.e; turn += words.sent.ring) {
          const auto at = static_cast<std::size_t>(words.sent.place_of(turn));
          ++found[at];
          ASSERT_EQ(expected[at], all[static_cast<std::size_t>(p)]);
        }
      EXPECT_TRUE(std::ranges::all_of(found, [](int times) { return times == 1; }));
    }
}

TEST(WordCode, RowsThatReachNothingSentAreLeftOut) {
  EXPECT_EQ(nr_code_of({.k = 8448, .e = 16896}).code.rows, 24);  // columns 2 … 45
  EXPECT_EQ(nr_code_of({.k = 8448, .e = 8500}).code.rows, 4);
  EXPECT_EQ(nr_code_of({.k = 8448, .e = 25344}).code.rows, 46);
  EXPECT_EQ(nr_code_of({.k = 8448, .e = 20 * 384, .rv = 3}).code.rows, 46);  // once around
  EXPECT_EQ(whole_code(nr_code(2, 8)).code.rows, 42);
}

TEST(WordCode, ACrcIsTheLastInformation) {
  for (const WordCrc crc : {WordCrc::crc16, WordCrc::crc24a, WordCrc::crc24b}) {
    const WordCode words = nr_code_of({.k = 700, .e = 1400}, crc);
    EXPECT_EQ(words.information(), 700 - bits_of(crc));
    Bits bits = some_bits(words.information(), 4);
    const Bits word = WordEncoder(words).encoded(bits);
    const std::uint32_t value = crc_of(crc, bits);
    for (int b = bits_of(crc) - 1; b >= 0; --b) bits.push_back(static_cast<std::uint8_t>(value >> b & 1));
    EXPECT_EQ(word, WordEncoder(nr_code_of({.k = 700, .e = 1400})).encoded(bits));
  }
}

TEST(WordCode, OfInformationTheLowestBitsCount) {
  const WordEncoder encoder(nr_code_of({.k = 300, .e = 500}));
  const Bits bits = some_bits(300, 5);
  Bits others = bits;
  for (auto& b : others) b = static_cast<std::uint8_t>(b | 0xfe);
  EXPECT_EQ(encoder.encoded(bits), encoder.encoded(others));
}

TEST(WordCode, LongBlocksAreSplit) {
  const auto split = [](std::int64_t bits, int graph) {
    const NrSegments s = nr_segments(bits, graph);
    return std::pair(s.count, s.k);
  };
  EXPECT_EQ(split(8448, 1), std::pair(std::int64_t{1}, std::int64_t{8448}));
  EXPECT_EQ(split(8450, 1), std::pair(std::int64_t{2}, std::int64_t{4249}));
  EXPECT_EQ(split(3841, 2), std::pair(std::int64_t{2}, std::int64_t{1945}));  // rounded up
  EXPECT_EQ(split(5 * 8424, 1), std::pair(std::int64_t{5}, std::int64_t{8448}));
}

}  // namespace
}  // namespace iqd
