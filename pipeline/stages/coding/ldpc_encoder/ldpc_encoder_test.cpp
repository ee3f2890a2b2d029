// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/coding/ldpc_encoder/ldpc_encoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "signal/codes/word_code.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::ldpc_encoder {
namespace {

using ::testing::HasSubstr;
using testing::StageUnderTest;
using Bits = std::vector<std::uint8_t>;

const LdpcCode& kCode = *find_ldpc_code("80216e_2304_1_2");

PortShape items_of(std::vector<Dim> dims, std::int64_t most) {
  PortShape shape = entry().inputs[0].example_shape(Element::u8, most);
  shape.item = std::move(dims);
  return shape;
}

Bits random_bits(std::int64_t words) {
  std::mt19937 engine(1);
  Bits bits(static_cast<std::size_t>(words * kCode.k()));
  for (auto& b : bits) b = static_cast<std::uint8_t>(engine());  // counts by its lowest bit
  return bits;
}

TEST(LdpcEncoder, WordsHoldTheirBitsAndFulfilTheChecks) {
  const Bits bits = random_bits(3);
  StageUnderTest s(entry(), "{}", {items_of({{"k", kCode.k()}}, 3)});
  EXPECT_EQ(s.out().text(), "u8 [word up to 3][bit 2304]");
  const auto words = s.once<std::uint8_t>(bits, 0, 3, 3);
  ASSERT_EQ(std::ssize(words), 3 * kCode.n());
  for (std::int64_t w = 0; w < 3; ++w) {
    const std::span word(words.data() + w * kCode.n(), static_cast<std::size_t>(kCode.n()));
    EXPECT_TRUE(ldpc_valid(kCode, word));
    for (std::int64_t i = 0; i < kCode.k(); ++i)
      ASSERT_EQ(word[static_cast<std::size_t>(i)], bits[static_cast<std::size_t>(w * kCode.k() + i)] & 1) << i;
  }
}

TEST(LdpcEncoder, WordsOfNrWithACrc) {
  const WordEncoder encoder(nr_code_of({.k = 500, .e = 1000, .rv = 2, .planes = 4}, WordCrc::crc24a));
  Bits bits = random_bits(1);
  bits.resize(2 * 476);
  StageUnderTest s(entry(), "{nr: {k: 500, e: 1000, rv: 2, bit_interleaver: 4}, crc: 24a}",
                   {items_of({{"k", 476}}, 2)});
  EXPECT_EQ(s.out().text(), "u8 [word up to 2][bit 1000]");
  const auto words = s.once<std::uint8_t>(bits, 0, 2, 2);
  ASSERT_EQ(std::ssize(words), 2000);
  for (const std::size_t w : {0u, 1u})
    EXPECT_EQ(Bits(words.begin() + 1000 * static_cast<int>(w), words.begin() + 1000 * static_cast<int>(w + 1)),
              encoder.encoded(std::span(bits).subspan(w * 476, 476)));
}

TEST(LdpcEncoder, WordsWithAMarkerAndASequence) {
  const LdpcCode& code = *find_ldpc_code("irig_1024_2_3");
  Bits bits = random_bits(2);
  bits.resize(2 * 1024);
  StageUnderTest bare(entry(), "{code: irig_1024_2_3}", {items_of({{"k", 1024}}, 2)});
  StageUnderTest framed(entry(), "{code: irig_1024_2_3, asm: irig, randomize: ccsds}", {items_of({{"k", 1024}}, 2)});
  EXPECT_EQ(framed.out().text(), "u8 [word up to 2][bit 1600]");
  const auto words = bare.once<std::uint8_t>(bits, 0, 2, 2);
  const WordFrame frame = FrameChoice{.marker = "irig", .randomize = Randomize::ccsds}.frame(code);
  Bits expected;
  for (const std::ptrdiff_t w : {0, 1}) {
    Bits one(1600);
    std::copy_n(words.begin() + w * 1536, 1536, one.begin() + 64);
    frame.close(one);
    expected.insert(expected.end(), one.begin(), one.end());
  }
  EXPECT_EQ(framed.once<std::uint8_t>(bits, 0, 2, 2), expected);
}

TEST(LdpcEncoder, ItemsOfSeveralWords) {
  const Bits bits = random_bits(4);
  StageUnderTest words(entry(), "{}", {items_of({{"k", kCode.k()}}, 4)});
  StageUnderTest frames(entry(), "{}", {items_of({{"word", 2}, {"k", kCode.k()}}, 2)});
  EXPECT_EQ(frames.out().text(), "u8 [word up to 2][word 2][bit 2304]");
  EXPECT_EQ(frames.once<std::uint8_t>(bits, 0, 2, 2), words.once<std::uint8_t>(bits, 0, 4, 4));
}

TEST(LdpcEncoder, CountsWhatCame) {
  StageUnderTest s(entry(), "{}", {items_of({{"k", kCode.k()}}, 3)});
  EXPECT_EQ(std::ssize(s.once<std::uint8_t>(random_bits(3), 0, 3, 1)), kCode.n());
  EXPECT_EQ(std::ssize(s.once<std::uint8_t>(random_bits(3), 0, 3, 0)), 0);
}

TEST(LdpcEncoder, RefusesPartsOfWords) {
  EXPECT_THAT(StageUnderTest(entry(), "{}", {items_of({{"k", 1153}}, 1)}).complaints(),
              HasSubstr("needs items of 1152 bits or a multiple, such as [word][k]; its input is u8"));
}

}  // namespace
}  // namespace iqd::ldpc_encoder
