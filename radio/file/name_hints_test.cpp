// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/name_hints.hpp"

#include <gtest/gtest.h>

#include <string>

namespace iqd::radio {
namespace {

struct Expected {
  const char* name;
  const char* format;  // null: none
  double rate_hz;
  double frequency_hz;  // 0: none
  const char* time;     // null: none
};

TEST(NameHints, AreWhatOtherProgramsWrite) {
  const Expected all[] = {
      {"g001_433.92M_250k.cu8", "cu8", 250e3, 433.92e6, nullptr},
      {"/a/b_868M/G002_868.3MHz_1024ksps.CS16", "ci16_le", 1024e3, 868.3e6, nullptr},
      {"x-433920khz-2.4Msps-cu8.raw", "cu8", 2.4e6, 433.92e6, nullptr},
      {"gqrx_20190614_142930_433920000_1800000_fc.raw", "cf32_le", 1.8e6, 433.92e6, nullptr},
      {"HDSDR_20150804_204851Z_433920kHz_RF.wav", nullptr, 0, 433.92e6, "2015-08-04T20:48:51.000000000Z"},
      {"SDRSharp_20150804_204851Z_433920000Hz_IQ.wav", nullptr, 0, 433.92e6, "2015-08-04T20:48:51.000000000Z"},
      {"capture.complex16u", "cu8", 0, 0, nullptr},
      {"capture.fc32", "cf32_le", 0, 0, nullptr},
      {"capture.s16", "ri16_le", 0, 0, nullptr},
      {"short.iq", nullptr, 0, 0, nullptr},
      {"a.raw", nullptr, 0, 0, nullptr},
      {"20151304_204851Z.raw", nullptr, 0, 0, nullptr},
      {"", nullptr, 0, 0, nullptr}};
  for (const Expected& e : all) {
    SCOPED_TRACE(e.name);
    const NameHints hints = hints_in(e.name);
    EXPECT_EQ(hints.format ? hints.format->name : "", e.format ? e.format : "");
    EXPECT_NEAR(hints.rate_hz, e.rate_hz, 1e-6);
    EXPECT_NEAR(hints.frequency_hz.value_or(0), e.frequency_hz, 1e-6);
    EXPECT_EQ(hints.time ? format_iso_time(hints.time->ns) : "", e.time ? e.time : "");
  }
}

}  // namespace
}  // namespace iqd::radio
