// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/device/burst_reports.hpp"

#include <SoapySDR/Errors.h>
#include <gtest/gtest.h>

namespace iqd::sim {
namespace {

class SimBurstReports : public ::testing::Test {
 protected:
  SimBurstReports() { clock.start(1e6, 7'000); }
  SampleClock clock;
  BurstReports reports;
};

TEST_F(SimBurstReports, ErrorsPrecedeTheEndOfABurst) {
  reports.burst_ends_at(5);
  reports.add({SOAPY_SDR_UNDERFLOW, SOAPY_SDR_HAS_TIME, 42});
  const auto error = reports.take(clock, false);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, SOAPY_SDR_UNDERFLOW);
  EXPECT_EQ(error->time_ns, 42);
  const auto end = reports.take(clock, false);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 0);
  EXPECT_EQ(end->flags, SOAPY_SDR_END_BURST | SOAPY_SDR_HAS_TIME);
  EXPECT_EQ(end->time_ns, 12'000);
  EXPECT_FALSE(reports.take(clock, false));
}

TEST_F(SimBurstReports, PacedABurstEndsWhenTheClockReachesIt) {
  reports.burst_ends_at(std::int64_t{1} << 50);
  EXPECT_FALSE(reports.take(clock, true));
  reports.burst_ends_at(0);
  EXPECT_TRUE(reports.take(clock, true));
}

TEST_F(SimBurstReports, KeepsTheFirst64) {
  for (int i = 0; i < 70; ++i) reports.add({SOAPY_SDR_TIME_ERROR, 0, i});
  for (int i = 0; i < 64; ++i) EXPECT_EQ(reports.take(clock, false)->time_ns, i);
  EXPECT_FALSE(reports.take(clock, false));
}

TEST_F(SimBurstReports, ClearForgetsAll) {
  reports.add({SOAPY_SDR_TIME_ERROR, 0, 1});
  reports.burst_ends_at(0);
  reports.clear();
  EXPECT_FALSE(reports.take(clock, false));
}

}  // namespace
}  // namespace iqd::sim
