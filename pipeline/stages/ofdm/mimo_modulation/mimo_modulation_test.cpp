// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/mimo_modulation/mimo_modulation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "pipeline/stages/ofdm/frames_for_test.hpp"
#include "pipeline/stages/stages.hpp"
#include "tests/support/coding_items.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::mimo_modulation {
namespace {

using coding::all_of;
using coding::items_of;
using coding::outputs_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StageUnderTest;
using Bits = std::vector<std::uint8_t>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Read {
  Bits modulation;
  std::vector<float> margin;
  std::vector<std::int64_t> events;
};
Read read_frames(const OfdmFormat& f, std::int64_t rx, const std::vector<cf32>& carriers, const std::string& more = "",
                 std::int64_t block = 0) {
  const auto out =
      outputs_of(entry(), {items_of(carriers, {{"symbol", f.symbols()}, {"carrier", f.carriers}, {"rx", rx}})}, block,
                 "{tx: " + std::to_string(f.tx) + more + "}");
  if (out.empty()) return {};
  return {all_of<std::uint8_t>(out[kModulation]), all_of<float>(out[kMargin]), all_of<std::int64_t>(out[kTally])};
}
std::uint8_t bits_of_number(int number) {
  return static_cast<std::uint8_t>(number == OfdmAnnouncement::kSilent ? 0 : 2 * number);
}

TEST(MimoModulation, ReadsNumbersInNoise) {
  struct Case {
    std::int64_t tx, rx;
    double snr_db;
    std::vector<double> delays;
    std::int64_t most_unclear;  // of 100 frames' antennas
  };
  for (const auto& [tx, rx, snr_db, delays, most_unclear] :
       {Case{2, 2, 0, {0}, 20}, Case{2, 2, 0, {0, 7, 19, 30}, 3}, Case{4, 4, -3, {0, 7, 19, 30}, 20},
        Case{4, 4, 0, {0, 7, 19, 30}, 2}, Case{8, 8, 5, {0, 30}, 60}, Case{1, 1, 20, {0, 12}, 0}}) {
    OfdmFormat f;
    f.tx = tx;
    ofdm::Signal signal(
        {.format = f, .rx = rx, .delays = delays, .noise = static_cast<double>(tx) * std::pow(10, -snr_db / 10)});
    std::mt19937 engine(3);
    std::vector<cf32> carriers;
    std::vector<int> numbers;
    for (int frame = 0; frame < 100; ++frame) {
      std::vector<int> own;
      for (std::int64_t a = 0; a < tx; ++a) own.push_back(1 + static_cast<int>(engine() % 5));
      signal.announce(own);
      const auto one = signal.frame();
      carriers.insert(carriers.end(), one.begin(), one.end());
      numbers.insert(numbers.end(), own.begin(), own.end());
    }
    const Read got = read_frames(f, rx, carriers);
    ASSERT_EQ(got.modulation.size(), numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (got.margin[i] < 3) continue;
      EXPECT_EQ(got.modulation[i], bits_of_number(numbers[i])) << tx << " " << snr_db << " " << i;
    }
    EXPECT_EQ(got.events[kFrames], 100);
    EXPECT_LE(got.events[kUnclear], most_unclear) << tx << " " << snr_db;
  }
}

/// Frames of numbers, of noise, of zeros and with a NaN.
TEST(MimoModulation, WhatIsUnclearIsAsBefore) {
  const OfdmFormat f;
  ofdm::Signal signal({.format = f, .rx = 2, .noise = 0.02});
  const auto announced = [&](const std::vector<int>& numbers) {
    signal.announce(numbers);
    return signal.frame();
  };
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<std::vector<cf32>> frames(5, std::vector<cf32>(announced({0, 0}).size()));
  for (cf32& x : frames[0]) x = {normal(engine), normal(engine)};
  frames[1] = announced({2, 5});
  frames[3] = announced({4, 1});
  frames[3][static_cast<std::size_t>(2 * f.carriers + 30)] = {kNan, 0};
  frames[4] = announced({0, 9});
  std::vector<cf32> carriers;
  for (const auto& frame : frames) carriers.insert(carriers.end(), frame.begin(), frame.end());
  for (const std::int64_t block : {0, 1, 2, 3}) {
    const Read got = read_frames(f, 2, carriers, ", modulation: [64qam, qpsk]", block);
    EXPECT_THAT(got.modulation, ElementsAre(6, 2, 4, 0, 4, 0, 4, 0, 6, 0)) << block;
    std::int64_t all = 0, unclear = 0;
    for (std::size_t i = 0; i < got.events.size(); i += 2) all += got.events[i], unclear += got.events[i + 1];
    EXPECT_EQ(all, 5);
    EXPECT_EQ(unclear, 6);
  }
  EXPECT_THAT(read_frames(f, 2, carriers, ", modulation: [64qam, qpsk], announced: false").modulation,
              ElementsAre(6, 2, 6, 2, 6, 2, 6, 2, 6, 2));
}

/// The scale of what is received does not matter, nor does an antenna that receives nothing.
TEST(MimoModulation, LevelsDoNotMatter) {
  const OfdmFormat f;
  for (const double level : {1e-15, 1.0, 1e15}) {
    ofdm::Signal signal({.format = f, .rx = 3, .noise = 0.1, .levels = {level, 0, 1e-2 * level}});
    signal.announce({3, 4});
    EXPECT_THAT(read_frames(f, 3, signal.frame()).modulation, ElementsAre(6, 8)) << level;
  }
  ofdm::Signal exact({.format = f, .rx = 2});
  exact.announce({1, 2});
  EXPECT_THAT(read_frames(f, 2, exact.frame()).modulation, ElementsAre(2, 4));
}

TEST(MimoModulation, BadKeysAreRefused) {
  PortShape in;
  in.axis = Axis::counted;
  in.axis_name = "frame";
  in.item = {{"symbol", 14}, {"carrier", 300}, {"rx", 2}};
  const auto complaints = [&in](const char* keys) { return StageUnderTest(entry(), keys, {in}).complaints(); };
  EXPECT_EQ(complaints("{}"), "");
  EXPECT_THAT(complaints("{modulation: [qpsk, qpsk, qpsk]}"), HasSubstr("modulation: has to be qpsk"));
  EXPECT_THAT(complaints("{carriers: 302}"), HasSubstr("[carrier 302]"));
  in.item[2].extent = 9;
  EXPECT_THAT(complaints("{}"), HasSubstr("takes 1 to 8 receive antennas, not 9"));
}

}  // namespace
}  // namespace iqd::mimo_modulation
