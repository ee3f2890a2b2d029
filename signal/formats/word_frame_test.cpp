// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/word_frame.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "signal/formats/bit_pattern.hpp"

namespace iqd {
namespace {

using ::testing::HasSubstr;
using Bits = std::vector<std::uint8_t>;

const LdpcCode& code_of(const char* name) {
  return *find_ldpc_code(name);
}

TEST(WordFrame, TheSequenceIsThatOfTheStandard) {
  constexpr WordSequence kSequence;
  const Bits beginning = *read_bits("FF480EC09A0D70BC");
  for (std::size_t i = 0; i < beginning.size(); ++i)
    ASSERT_EQ(kSequence.at(static_cast<int>(i)), beginning[i] != 0) << i;
  int ones = 0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(kSequence.at(i + 8),
              (kSequence.at(i + 7) + kSequence.at(i + 5) + kSequence.at(i + 3) + kSequence.at(i)) % 2);
    ASSERT_EQ(kSequence.at(i), kSequence.at(i + 255));
    ones += i < 255 && kSequence.at(i);
  }
  EXPECT_EQ(ones, 128) << "a sequence of the largest period";
}

TEST(WordFrame, TheMarkerIsNotRandomized) {
  const WordFrame frame{.marker = {1, 0, 1}, .is_randomized = true};
  EXPECT_EQ(frame.size(12), 15);
  Bits bits(15, 0);
  bits[4] = 1;
  frame.close(bits);
  EXPECT_EQ(bits, (Bits{1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0}));  // FF4; the second bit is turned
}

TEST(WordFrame, MarkersOfTelemetryFollowFromTheCode) {
  const FrameChoice irig{.marker = "irig"};
  EXPECT_EQ(irig.frame(code_of("irig_1024_2_3")).marker, *read_bits("FCB88938D8D76A4F"));
  const Bits longer = irig.frame(code_of("irig_4096_4_5")).marker;
  EXPECT_EQ(longer, *read_bits("FCB88938D8D76A4FFCB88938D8D76A4F034776C7272895B0FCB88938D8D76A4F"));
  for (std::size_t i = 0; i < 64; ++i) EXPECT_NE(longer[i], longer[128 + i]) << "the complement";
  EXPECT_FALSE(irig.frame(code_of("irig_4096_4_5")).is_randomized);
  EXPECT_EQ((FrameChoice{.marker = "0b101"}.frame(code_of("nr_bg1_z4")).marker), (Bits{1, 0, 1}));
}

TEST(WordFrame, NothingIsChosenByDefault) {
  EXPECT_TRUE(FrameChoice{}.frame(code_of("irig_1024_2_3")).is_bare());
  EXPECT_FALSE(FrameChoice{.randomize = Randomize::ccsds}.frame(code_of("irig_1024_2_3")).is_bare());
}

TEST(WordFrame, MarkersThatAreNone) {
  const auto fault = [](const char* marker, const char* code) {
    return FrameChoice{.marker = marker}.fault(code_of(code)).value_or("");
  };
  EXPECT_EQ(fault("irig", "irig_4096_1_2"), "");
  EXPECT_EQ(fault("1ACFFC1D", "80216e_2304_1_2"), "");
  EXPECT_THAT(fault("irig", "80216e_2304_1_2"), HasSubstr("needs a code irig_"));
  EXPECT_THAT(fault("ccsds", "irig_4096_1_2"), HasSubstr("'ccsds' is not none, irig, or 1 to 1024 bits"));
  EXPECT_THAT(fault("", "irig_4096_1_2"), HasSubstr("is not none"));
}

}  // namespace
}  // namespace iqd
