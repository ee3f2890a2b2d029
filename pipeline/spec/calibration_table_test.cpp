// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/calibration_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scratch_folder.hpp"

namespace iqd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CalibrationTable table() {
  CalibrationTable t;
  t.date = "2026-01-02T03:04:05Z";
  t.radio = "driver=x, serial=A1, label='a radio: \\ \"x\"'";
  t.rate_hz = 2e6;
  t.frequency_hz = 1.4515e9;
  t.gain_db = 30;
  t.antenna = "RX2";
  t.bandwidth_hz = 1.5e6;
  t.reference = 2;
  t.channels = {2, 5};
  t.gains_db = {0, -0.5};
  t.phases_deg = {0, 31.25};
  t.delays_s = {0, 2.5e-7};
  t.gain_errors_db = {0, 0.001};
  t.phase_errors_deg = {0, 0.01};
  t.delay_errors_s = {0, 1e-10};
  t.coherence = {1, 0.999};
  return t;
}

RadioRequest setting() {
  return {"serial=A1,driver=x", {5, 2}, 2e6, 1.4515e9, 30, {}, false, "RX2", 1.5e6};
}

class CalibrationFile : public ::testing::Test {
 protected:
  std::optional<CalibrationTable> load(const std::string& text) {
    problems.clear();
    return load_calibration(folder_.write("table.yaml", text), problems);
  }
  std::string complaints() const {
    std::string text;
    for (const Problem& p : problems) text += p.text() + "\n";
    return text;
  }
  Problems problems;

 private:
  ScratchFolder folder_;
};

TEST_F(CalibrationFile, WhatIsWrittenIsRead) {
  EXPECT_EQ(load(table().yaml()), table()) << complaints() << table().yaml();
  CalibrationTable of_elements = table();
  of_elements.gain_db = std::nullopt;
  of_elements.gain_elements = {{"LNA", "20 dB"}, {"it's: a, {VGA}", "-3.5"}};
  EXPECT_EQ(load(of_elements.yaml()), of_elements) << complaints() << of_elements.yaml();
  CalibrationTable bare = table();
  bare.gain_db = bare.bandwidth_hz = std::nullopt;
  bare.antenna.clear();
  bare.delays_s.clear();
  bare.delay_errors_s.clear();
  EXPECT_EQ(load(bare.yaml()), bare) << complaints();
}

TEST_F(CalibrationFile, WhatIsWrongHasItsLine) {
  std::string text = table().yaml();
  text.replace(text.find("phase: [0.0000, 31.2500]"), 24, "phase: [0.0000]");
  EXPECT_FALSE(load(text));
  EXPECT_THAT(complaints(), HasSubstr("phase: has 1 value(s) for 2 channel(s)"));
  EXPECT_FALSE(load("rate: 1e6\n"));
  EXPECT_THAT(complaints(), HasSubstr("frequency"));
  EXPECT_FALSE(load(table().yaml() + "gain_elements: {LNA: loud}\n"));
  EXPECT_THAT(complaints(), HasSubstr("LNA: 'loud' is not a gain, e.g. 20 dB"));
  EXPECT_FALSE(load(table().yaml() + "gian: [1]\n"));
  EXPECT_THAT(complaints(), HasSubstr("did you mean 'gain'?"));
  Problems none;
  EXPECT_FALSE(load_calibration("/no/such/table.yaml", none));
  EXPECT_EQ(none.size(), 1u);
}

std::vector<std::string> keys_of(const RadioRequest& s, const CalibrationTable& of = table()) {
  std::vector<std::string> keys;
  for (const auto& m : of.mismatches(s)) keys.push_back(m.key);
  return keys;
}

TEST(CalibrationTable, HoldsForTheSettingsItWasMeasuredWith) {
  EXPECT_THAT(keys_of(setting()), IsEmpty());
  RadioRequest s = setting();
  s.frequency_hz += 1001;
  s.rate_hz += 3;
  s.gain_db = 31;
  s.antenna = "RX1";
  s.bandwidth_hz = 1e6;
  s.args = "driver=x,serial=B2";
  s.channels = {2, 3};
  EXPECT_THAT(keys_of(s), ElementsAre("args", "rate", "frequency", "gain", "antenna", "bandwidth", "channels"));
  s = setting();
  s.frequency_hz -= 1000;
  s.rate_hz += 1;
  s.gain_db = s.bandwidth_hz = std::nullopt;
  s.antenna.clear();
  s.args = "driver=x";
  s.channels = {2};
  EXPECT_THAT(keys_of(s), IsEmpty()) << "settings that one side leaves out are not compared";
  s.frequency_hz = 0;
  EXPECT_THAT(keys_of(s), IsEmpty()) << "not known yet";
}

TEST(CalibrationTable, HoldsForTheGainOfEachElement) {
  CalibrationTable of = table();
  of.gain_db = std::nullopt;
  of.gain_elements = {{"LNA", "20 dB"}, {"VGA", "12"}};
  RadioRequest s = setting();
  s.gain_db = std::nullopt;
  s.gains = {{"LNA", "20"}, {"VGA", "12.0 dB"}};
  EXPECT_THAT(keys_of(s, of), IsEmpty());
  s.gains["LNA"] = "21 dB";
  s.gains["VGA"] = "11";
  EXPECT_THAT(keys_of(s, of), ElementsAre("gains", "gains"));
  EXPECT_THAT(of.mismatches(s).front().why, HasSubstr("measured with LNA at 20 dB, but it is 21 dB"));
  s.gains = {{"MIX", "3 dB"}};
  EXPECT_THAT(keys_of(s, of), IsEmpty()) << "settings that one side leaves out are not compared";
  s.gains.clear();
  EXPECT_THAT(keys_of(s, of), IsEmpty());
  s.gain_db = 32;
  EXPECT_THAT(keys_of(s, of), ElementsAre("gain")) << "the radio may distribute it in any way";
  s = setting();
  s.gain_db = std::nullopt;
  s.gains = {{"LNA", "20 dB"}};
  EXPECT_THAT(keys_of(s), ElementsAre("gains")) << "and vice versa";
}

TEST(CalibrationTable, DoesNotHoldForAGainThatTheRadioSets) {
  RadioRequest s = setting();
  s.gain_db = std::nullopt;
  s.agc = true;
  EXPECT_THAT(keys_of(s), ElementsAre("agc"));
  CalibrationTable bare = table();
  bare.gain_db = std::nullopt;
  EXPECT_THAT(keys_of(s, bare), ElementsAre("agc")) << "whatever the table says";
}

}  // namespace
}  // namespace iqd
