// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/permitted.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "radio/fields_for_test.hpp"

namespace iqd::radio {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> wrong(const Permitted& permitted, const Emission& asked) {
  return complaints([&](const Section& s) { permitted.check(asked, s); });
}

TEST(Permitted, WithoutAListEverythingIs) {
  EXPECT_THAT(wrong({}, {}), IsEmpty());
  EXPECT_THAT(wrong({}, {2.4e9, 50e6, 90, 30}), IsEmpty());
}

TEST(Permitted, HalfOfTheWidthHasToFitToEachSide) {
  const Permitted p{{433e6, 434e6, 868e6, 870e6}, {}, {}};
  EXPECT_THAT(wrong(p, {433.5e6, 1e6, {}, {}}), IsEmpty()) << "its ends equal the band's";
  EXPECT_THAT(wrong(p, {433.5e6, 1.01e6, {}, {}}),
              ElementsAre(AllOf(HasSubstr("frequency: needs 432.995 to 434.005 MHz"), HasSubstr("868 to 870 MHz"))));
  EXPECT_THAT(wrong(p, {869e6, 2e6, {}, {}}), IsEmpty());
  EXPECT_THAT(wrong(p, {650e6, 500e6, {}, {}}), ElementsAre(HasSubstr("frequency"))) << "it is wider than both bands";
  EXPECT_THAT(wrong(p, {{}, 1e6, {}, {}}), ElementsAre(HasSubstr("frequency: is required")));
}

TEST(Permitted, ATunersStepIsNoViolationAndAKilohertzIs) {
  const Permitted p{{433e6, 434e6}, {}, {}};
  EXPECT_THAT(wrong(p, {433.5e6 + 3, 1e6, {}, {}}), IsEmpty());
  EXPECT_THAT(wrong(p, {433.5e6 - 1000, 1e6, {}, {}}), ElementsAre(HasSubstr("frequency")));
}

TEST(Permitted, EachBandHasItsGain) {
  const Permitted p{{433e6, 434e6, 868e6, 870e6}, {10, 20}, {}};
  EXPECT_THAT(wrong(p, {433.5e6, 0, 10, {}}), IsEmpty());
  EXPECT_THAT(wrong(p, {433.5e6, 0, 15, {}}),
              ElementsAre(AllOf(HasSubstr("gain: of 15 dB"), HasSubstr("limit of 10 dB"))));
  EXPECT_THAT(wrong(p, {869e6, 0, 15, {}}), IsEmpty());
  EXPECT_THAT(wrong(p, {869e6, 0, {}, {}}), ElementsAre(HasSubstr("gain: is required")));
}

TEST(Permitted, OfBandsThatOverlapOneIsEnough) {
  const Permitted p{{400e6, 500e6, 433e6, 434e6}, {0, 20}, {}};
  EXPECT_THAT(wrong(p, {433.5e6, 0, 15, {}}), IsEmpty());
  EXPECT_THAT(wrong(p, {450e6, 0, 15, {}}), ElementsAre(HasSubstr("above the limit of 0 dB")));
}

TEST(Permitted, GainWithoutBandsHoldsEverywhere) {
  const Permitted p{{}, {20}, {}};
  EXPECT_THAT(wrong(p, {{}, 1e6, 20, {}}), IsEmpty());
  EXPECT_THAT(wrong(p, {1e9, 1e6, 20.5, {}}), ElementsAre(HasSubstr("gain: of 20.5 dB")));
}

TEST(Permitted, PowerIsHeldAgainstItsOwnLimit) {
  const Permitted p{{}, {20}, {5}};
  EXPECT_THAT(wrong(p, {{}, 0, 10, {}}), ElementsAre(HasSubstr("power: is required")));
  EXPECT_THAT(wrong(p, {{}, 0, {}, 5}), IsEmpty()) << "its gain is known only once it is set";
  EXPECT_THAT(wrong(p, {{}, 0, 21, 5}), ElementsAre(HasSubstr("gain: of 21 dB")));
  EXPECT_THAT(wrong(p, {{}, 0, {}, 5.1}), ElementsAre(HasSubstr("power: of 5.1 dBm")));
}

TEST(Permitted, AListThatCannotBeUnderstoodIsSaid) {
  EXPECT_THAT(wrong({{1e9}, {}, {}}, {1e9, 0, {}, {}}), ElementsAre(HasSubstr("permitted_bands: needs a low")));
  EXPECT_THAT(wrong({{2e9, 1e9}, {}, {}}, {1e9, 0, {}, {}}), ElementsAre(HasSubstr("not from 2000 to 1000 MHz")));
  EXPECT_THAT(wrong({{1e9, 2e9}, {1, 2}, {}}, {1e9, 0, 1, {}}), ElementsAre(HasSubstr("permitted_gains: needs one")));
  EXPECT_THAT(wrong({{}, {1}, {1, 2}}, {1e9, 0, 1, 1}), ElementsAre(HasSubstr("permitted_powers: needs one")));
}

TEST(Permitted, WhatARadioGrantsIsRequired) {
  const Permitted p{{433e6, 434e6}, {10}, {}};
  EXPECT_NO_THROW(p.require("x", {433.5e6, 1e6, 10, {}}));
  try {
    p.require("uhd 'a'", {433.5e6, 1e6, 10.5, {}});
    FAIL();
  } catch (const SetupError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("uhd 'a': transmitter not switched on"), HasSubstr("gain of 10.5 dB")));
  }
}

}  // namespace
}  // namespace iqd::radio
