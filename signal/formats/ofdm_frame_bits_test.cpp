// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/ofdm_frame_bits.hpp"

#include <gtest/gtest.h>

namespace iqd {
namespace {

using Bits = std::vector<std::uint8_t>;

Bits sequence(int order, std::int64_t first, std::int64_t count) {
  const PnSequence pn(order);
  Bits bits;
  for (std::int64_t i = 0; i < count; ++i) bits.push_back(static_cast<std::uint8_t>(pn.bit(pn.state_at(first + i))));
  return bits;
}
Bits frame(const OfdmFrameBits& maker, std::int64_t number) {
  Bits bits(static_cast<std::size_t>(maker.bits()), 7);
  std::vector<std::byte> scratch(maker.scratch_bytes());
  maker.make(number, bits, scratch.data());
  return bits;
}

TEST(OfdmFrameBits, WithoutACodeTheSequenceGoesOnFromFrameToFrame) {
  for (const int order : {9, 15, 23}) {
    const OfdmFrameBits maker(700, std::nullopt, order);
    EXPECT_EQ(maker.information(), 700);
    EXPECT_EQ(frame(maker, 0), sequence(order, 0, 700));
    EXPECT_EQ(frame(maker, 3), sequence(order, 2100, 700));
  }
}

TEST(OfdmFrameBits, AFrameThatIsFarOut) {
  const std::int64_t number = std::int64_t{1} << 50;
  const std::int64_t period = PnSequence(23).period();
  EXPECT_EQ(frame(OfdmFrameBits(248832, std::nullopt), number),
            sequence(23, number % period * 248832 % period, 248832));
}

TEST(OfdmFrameBits, WordsAreInterleavedAndFollowedByFiller) {
  const LdpcCode& code = *find_ldpc_code("80216e_2304_1_2");
  const OfdmFrameBits maker(3 * 2304 + 100, whole_code(code), 15);
  ASSERT_EQ(maker.words(), 3);
  ASSERT_EQ(maker.information(), 3 * 1152);
  const Bits bits = frame(maker, 5);
  for (std::int64_t w = 0; w < 3; ++w) {
    Bits word;
    for (std::int64_t i = 0; i < 2304; ++i) word.push_back(bits[static_cast<std::size_t>(i * 3 + w)]);
    EXPECT_TRUE(ldpc_valid(code, word));
    EXPECT_EQ(Bits(word.begin(), word.begin() + 1152), sequence(15, (5 * 3 + w) * 1152, 1152)) << w;
  }
  EXPECT_EQ(Bits(bits.end() - 100, bits.end()), sequence(15, 3 * 2304, 100));
}

TEST(OfdmFrameBits, WordsOfNrWithACrc) {
  const WordCode code = nr_code_of({.k = 500, .e = 1100}, WordCrc::crc24a);
  const OfdmFrameBits maker(2 * 1100 + 7, code);
  ASSERT_EQ(maker.words(), 2);
  ASSERT_EQ(maker.information(), 2 * 476);
  const Bits bits = frame(maker, 3);
  for (std::int64_t w = 0; w < 2; ++w) {
    Bits word;
    for (std::int64_t i = 0; i < 1100; ++i) word.push_back(bits[static_cast<std::size_t>(i * 2 + w)]);
    EXPECT_EQ(word, WordEncoder(code).encoded(sequence(23, (3 * 2 + w) * 476, 476))) << w;
  }
  EXPECT_EQ(Bits(bits.end() - 7, bits.end()), sequence(15, 2 * 1100, 7));
}

TEST(OfdmFrameBits, OfGivenBitsTheLowestCounts) {
  const LdpcCode& code = *find_ldpc_code("80216e_2304_1_2");
  const NrWord nr{.k = 500, .e = 1100};
  for (const auto& c : {std::optional<WordCode>(), std::optional(whole_code(code)), std::optional(nr_code_of(nr))}) {
    const OfdmFrameBits maker(2400, c);
    Bits information(static_cast<std::size_t>(maker.information()));
    maker.payload(0, information);
    for (std::size_t i = 0; i < information.size(); ++i) information[i] |= static_cast<std::uint8_t>(i << 1);
    Bits bits(2400);
    std::vector<std::byte> scratch(maker.scratch_bytes());
    maker.encode(information, bits, scratch.data());
    EXPECT_EQ(bits, frame(maker, 0));
  }
}

TEST(OfdmFrameBits, WhereNoWordFitsThereIsOnlyFiller) {
  const OfdmFrameBits maker(1000, whole_code(ldpc_codes()[0]));
  EXPECT_EQ(maker.information(), 0);
  EXPECT_EQ(frame(maker, 0), sequence(15, 0, 1000));
}

}  // namespace
}  // namespace iqd
