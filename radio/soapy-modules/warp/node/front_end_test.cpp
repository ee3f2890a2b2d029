// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/node/front_end.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace iqd::warp {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string front_end_refusal(double hz) {
  try {
    channel_at(hz);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(WarpFrontEnd, ChannelsAndTheirFrequencies) {
  EXPECT_EQ(channels().size(), 11u + 23u);
  struct Case {
    double mhz;
    std::uint32_t band, number;
  };
  for (const Case& c : {Case{2412, 0, 1},
                        {2442, 0, 7},
                        {2462, 0, 11},
                        {5180, 1, 1},
                        {5200, 1, 2},
                        {5320, 1, 8},
                        {5500, 1, 9},
                        {5700, 1, 19},
                        {5745, 1, 20},
                        {5765, 1, 21},
                        {5785, 1, 22},
                        {5805, 1, 23}}) {
    const Channel& found = channel_at(c.mhz * 1e6);
    EXPECT_EQ(found.band, c.band) << c.mhz;
    EXPECT_EQ(found.number, c.number) << c.mhz;
  }
}

TEST(WarpFrontEnd, AFrequencyBetweenIsRefusedWithTheNearestTwo) {
  EXPECT_THAT(front_end_refusal(2.440e9),
              AllOf(HasSubstr("2440 MHz"), HasSubstr("2442 MHz (channel 7 of the 2.4 GHz band)"),
                    HasSubstr("2437 MHz (channel 6")));
  EXPECT_THAT(front_end_refusal(5.4e9), AllOf(HasSubstr("5320 MHz (channel 8"), HasSubstr("5500 MHz (channel 9")));
  EXPECT_THAT(front_end_refusal(3e9), AllOf(HasSubstr("2462 MHz"), HasSubstr("5180 MHz"))) << "one on each side";
  EXPECT_THAT(front_end_refusal(100e6), AllOf(HasSubstr("2412 MHz"), HasSubstr("2417 MHz")));
  EXPECT_THAT(front_end_refusal(6e9), AllOf(HasSubstr("5805 MHz"), HasSubstr("5785 MHz")));
  EXPECT_EQ(front_end_refusal(2.412e9 + 0.5), "");
  EXPECT_NE(front_end_refusal(2.412e9 + 2), "");
  EXPECT_NE(front_end_refusal(std::numeric_limits<double>::quiet_NaN()), "");
}

TEST(WarpFrontEnd, GainsAndTheirNumbers) {
  EXPECT_EQ(kTxRfGain.nearest(-10), 0u);
  EXPECT_EQ(kTxRfGain.nearest(31), 63u);
  EXPECT_EQ(kTxRfGain.nearest(99), 63u);
  EXPECT_EQ(kTxRfGain.value(63), 31);
  EXPECT_EQ(kRxRfGain.nearest(15), 2u);
  EXPECT_EQ(kRxRfGain.below(15), 2u);
  EXPECT_EQ(kRxRfGain.below(29.9), 2u) << "the baseband gain adds the rest";
  EXPECT_EQ(kRxRfGain.below(30), 3u);
  EXPECT_EQ(kRxRfGain.below(-1), 1u);
  EXPECT_EQ(kRxRfGain.value(1), 0);
  EXPECT_EQ(kRxBasebandGain.nearest(63), 31u);
  for (std::uint32_t code = 0; code <= 31; ++code)
    EXPECT_EQ(kRxBasebandGain.nearest(kRxBasebandGain.value(code)), code);
  EXPECT_EQ(nearest(kTxBasebandGain, -2), 2u);
  EXPECT_EQ(nearest(kTxBasebandGain, 50), 3u);
}

TEST(WarpFrontEnd, FiltersThatLetEnoughThrough) {
  EXPECT_EQ(wide_enough(kRxLowPassHz, 0), 0u);
  EXPECT_EQ(wide_enough(kRxLowPassHz, 7.5e6), 0u);
  EXPECT_EQ(wide_enough(kRxLowPassHz, 7.6e6), 1u);
  EXPECT_EQ(wide_enough(kRxLowPassHz, 18e6), 3u);
  EXPECT_EQ(wide_enough(kRxLowPassHz, 40e6), 3u) << "the widest filter";
  EXPECT_EQ(wide_enough(kTxLowPassHz, 18e6), 1u);
}

TEST(WarpFrontEnd, SelectionsAreOneHot) {
  EXPECT_EQ(rf_select(0), 0x10000000u);
  EXPECT_EQ(rf_select(3), 0x80000000u);
  EXPECT_EQ(buffer_select(0), 1u);
  EXPECT_EQ(buffer_select(3), 8u);
}

}  // namespace
}  // namespace iqd::warp
