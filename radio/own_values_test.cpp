// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/own_values.hpp"

#include <gtest/gtest.h>

namespace iqd::radio {
namespace {

const DeviceKeys kOwn{{"frequency", 0.0, {{24e6, 1.7e9}}},
                      {"gain", 12.5, {{0, 60}}},
                      {"bandwidth", 3e6, {{0, 0}}},
                      {"antenna", std::string("RX2")}};

RadioSettings all_set() {
  RadioSettings s;
  s.frequency_hz = 100e6;
  s.gain_db = 40;
  s.bandwidth_hz = 1e6;
  s.antenna = "RX1";
  return s;
}

TEST(OwnValues, WhatIsLeftOutAfterItWasSet) {
  RadioSettings next;
  restore_own(next, all_set(), kOwn);
  EXPECT_EQ(next.gain_db, 12.5);
  EXPECT_EQ(next.bandwidth_hz, 3e6) << "a range without width is unknown";
  EXPECT_EQ(next.antenna, "RX2");
  EXPECT_EQ(next.frequency_hz, std::nullopt) << "0 Hz is not tuned yet, and cannot be set";
}

TEST(OwnValues, WhatWasNeverSetStaysAlone) {
  RadioSettings next;
  restore_own(next, {}, kOwn);
  EXPECT_EQ(next.gain_db, std::nullopt);
  EXPECT_EQ(next.antenna, "");
}

TEST(OwnValues, WhatIsGivenCounts) {
  RadioSettings next = all_set();
  next.gain_db = 7;
  restore_own(next, all_set(), kOwn);
  EXPECT_EQ(next.gain_db, 7);
  EXPECT_EQ(next.antenna, "RX1");
}

TEST(OwnValues, WhatTheDeviceDoesNotReport) {
  RadioSettings next;
  restore_own(next, all_set(), {{"gain"}, {"antenna"}});
  EXPECT_EQ(next.gain_db, std::nullopt);
  EXPECT_EQ(next.bandwidth_hz, std::nullopt);
  EXPECT_EQ(next.antenna, "");
}

}  // namespace
}  // namespace iqd::radio
