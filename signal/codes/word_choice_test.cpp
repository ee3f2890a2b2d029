// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/codes/word_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace iqd {
namespace {

using ::testing::HasSubstr;

std::string fault_of(const WordChoice& choice, bool may_be_none = true) {
  const auto fault = choice.fault(may_be_none);
  return fault ? fault->key + ": " + fault->what : "";
}
WordChoice nr_choice(std::int64_t k, std::int64_t e, BitInterleaver interleaver = BitInterleaver::off,
                     WordCrc crc = WordCrc::none) {
  return {.is_nr = true, .nr = {.k = k, .e = e, .bit_interleaver = interleaver}, .crc = crc};
}

TEST(WordChoice, NamesACodeOrNone) {
  EXPECT_EQ(fault_of({}), "");
  EXPECT_FALSE(WordChoice{}.words());
  EXPECT_EQ(fault_of({.code = "80216e_2304_1_2"}), "");
  EXPECT_TRUE(WordChoice{.code = "80216e_2304_1_2"}.words()->is_plain());
  EXPECT_EQ(WordChoice{.code = "nr_bg2_z30"}.words()->code.lift, 30);
  EXPECT_EQ(fault_of({}, false),
            "code: 'none' is not one of 80216e_2304_1_2, irig_1024_1_2, irig_1024_2_3, irig_1024_4_5, irig_4096_1_2, "
            "irig_4096_2_3, irig_4096_4_5, nr_bg1_z2 … nr_bg1_z384, nr_bg2_z2 … nr_bg2_z384");
  EXPECT_THAT(fault_of({.code = "turbo"}), HasSubstr("code: 'turbo' is not one of none, 80216e"));
  EXPECT_THAT(fault_of({.code = "turbo"}, false), HasSubstr("code: 'turbo' is not one of 80216e"));
  EXPECT_EQ(fault_of({.crc = WordCrc::crc16}), "crc: needs a code");
}

TEST(WordChoice, OrAWordByItsLengths) {
  EXPECT_EQ(fault_of(nr_choice(8448, 16896)), "");
  EXPECT_EQ(nr_choice(8448, 16896).words()->code.name, "nr_bg1_z384");
  EXPECT_EQ(nr_choice(1000, 2000, BitInterleaver::four).words()->sent.planes, 4);
  WordChoice other = nr_choice(1144, 2288);
  EXPECT_EQ(other.words()->code.name, "nr_bg2_z120");
  other.nr.graph = NrGraph::one;
  EXPECT_EQ(other.words()->code.name, "nr_bg1_z52");
  other.nr = {.k = 5000, .e = 9000, .graph = NrGraph::two};
  EXPECT_THAT(fault_of(other), HasSubstr("a word of base graph 2 has at most 3840 bits"));
  EXPECT_EQ(fault_of(nr_choice(1000, 1000)), "nr.e: has to be more than k, 1000");
  EXPECT_EQ(fault_of(nr_choice(1000, 2002, BitInterleaver::four)),
            "nr.e: has to be a multiple of 4, for the bit interleaver");
  EXPECT_EQ(fault_of(nr_choice(8449, 20000)),
            "nr.k: a word of base graph 1 has at most 8448 bits; split 8449 bits into 2 words of "
            "k 4249 with crc 24b");
  EXPECT_THAT(fault_of(nr_choice(8448, 40000)), HasSubstr("split 8448 bits into 3 words of k 2840 with crc 24b"));
  EXPECT_EQ(fault_of(nr_choice(24, 100, BitInterleaver::off, WordCrc::crc24a)),
            "crc: has 24 bits, but a word has only 24");
  EXPECT_EQ(nr_choice(25, 100, BitInterleaver::off, WordCrc::crc24a).words()->information(), 1);
}

}  // namespace
}  // namespace iqd
