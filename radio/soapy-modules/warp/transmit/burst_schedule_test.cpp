// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/transmit/burst_schedule.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace iqd::warp {
namespace {

constexpr double kRate = 1e6;  // a sample lasts 1000 ns
constexpr std::int64_t kHour = 3'600'000'000'000;

TEST(WarpBurstSchedule, WithoutTimesABurstBeginsAtOnce) {
  BurstSchedule schedule(kHour, kRate);
  const auto start = schedule.next_start(10);
  EXPECT_EQ(start.skipped, 0u);
  EXPECT_EQ(start.time_ns, std::nullopt);
  EXPECT_LE(schedule.left_ns(), 0);
}

TEST(WarpBurstSchedule, WithoutTimesTheNextBurstWaits) {
  BurstSchedule schedule(kHour, kRate);
  schedule.began({wall_ns(), steady_ns()});
  schedule.begin_at({});
  EXPECT_GT(schedule.left_ns(), kHour / 2);
  EXPECT_LE(schedule.left_ns(), kHour);
  schedule.clear();
  EXPECT_LE(schedule.left_ns(), 0);
}

TEST(WarpBurstSchedule, ABurstBeginsAtTheTimeOfItsFirstSample) {
  BurstSchedule schedule(0, kRate);
  schedule.set_time(5'000);
  schedule.pass(3);
  EXPECT_EQ(schedule.next_start(10).skipped, 0u);
  EXPECT_EQ(schedule.next_start(10).time_ns, 8'000);
  schedule.begin_at(wall_ns() + kHour);
  EXPECT_GT(schedule.left_ns(), kHour / 2);
}

TEST(WarpBurstSchedule, SamplesBetweenTwoBurstsAreSkipped) {
  BurstSchedule schedule(10'000, kRate);
  schedule.began({0, 0});
  schedule.set_time(0);
  EXPECT_EQ(schedule.next_start(4).skipped, 4u) << "all of them";
  schedule.pass(4);
  EXPECT_EQ(schedule.next_start(100).skipped, 6u);
  EXPECT_EQ(schedule.next_start(100).time_ns, 10'000);
  schedule.set_time(500);
  EXPECT_EQ(schedule.next_start(100).skipped, 10u) << "the first sample after the earliest start";
  EXPECT_EQ(schedule.next_start(100).time_ns, 10'500);
  schedule.set_time(20'000);
  EXPECT_EQ(schedule.next_start(100).skipped, 0u);
}

TEST(WarpBurstSchedule, WithoutAnIntervalNothingIsSkipped) {
  BurstSchedule schedule(0, kRate);
  schedule.began({kHour, 0});
  schedule.set_time(0);
  EXPECT_EQ(schedule.next_start(4).skipped, 0u);
}

TEST(WarpBurstSchedule, AStreamContinuesWithinHalfASample) {
  BurstSchedule schedule(0, kRate);
  EXPECT_FALSE(schedule.continues(0)) << "no sample has a time";
  schedule.set_time(4'000);
  schedule.pass(1);
  for (const std::int64_t time_ns : {4'500, 5'000, 5'500}) EXPECT_TRUE(schedule.continues(time_ns)) << time_ns;
  for (const std::int64_t time_ns : {4'499, 5'501}) EXPECT_FALSE(schedule.continues(time_ns)) << time_ns;
  schedule.end_stream();
  EXPECT_FALSE(schedule.continues(5'000));
}

}  // namespace
}  // namespace iqd::warp
