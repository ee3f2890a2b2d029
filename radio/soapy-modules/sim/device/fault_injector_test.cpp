// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/device/fault_injector.hpp"

#include <SoapySDR/Errors.h>
#include <gtest/gtest.h>

#include <string>

namespace iqd::sim {
namespace {

/// The receiver has reached sample 1000 at 1 MS/s. Each start has a serial number of its own, since some faults occur
/// once for each.
class SimFaultInjector : public ::testing::Test {
 protected:
  SimFaultInjector() {
    clock.start(1e6, 0);
    rx.next = 1000;
  }
  void start(SoapySDR::Kwargs args) {
    static int starts = 0;
    args["serial"] = "SimFaultInjector" + std::to_string(++starts);
    faults.start(Arguments("iqdsim", args), 1e6);
  }
  int trigger() { return faults.trigger(rx, clock, 0); }

  SampleClock clock;
  Stream rx;
  FaultInjector faults;
};

TEST_F(SimFaultInjector, ALossIsSilentAndOthersAreErrors) {
  start({{"lose_every", "1000"}, {"lose", "3"}});
  EXPECT_EQ(trigger(), 0);
  EXPECT_EQ(rx.next, 1003);
  EXPECT_EQ(faults.clear_until(rx.next), 997);
  start({{"overflow_every", "1000"}, {"overflow_lost", "4"}});
  EXPECT_EQ(trigger(), SOAPY_SDR_OVERFLOW);
  EXPECT_EQ(rx.next, 1007);
  start({{"late_every", "1000"}, {"late_lost", "5"}});
  EXPECT_EQ(trigger(), SOAPY_SDR_TIME_ERROR);
  EXPECT_EQ(rx.next, 1012);
}

TEST_F(SimFaultInjector, AStallLastsUntilTheReceiverIsActivatedAgain) {
  start({{"stall_at", "0.001"}, {"stall_for", "1000"}});
  EXPECT_EQ(trigger(), SOAPY_SDR_TIMEOUT);
  EXPECT_EQ(trigger(), SOAPY_SDR_TIMEOUT);
  faults.resume();
  EXPECT_EQ(trigger(), 0);
}

TEST_F(SimFaultInjector, AJumpMovesTimeStampsAlone) {
  start({{"jump_at", "0.001"}, {"jump_by", "2"}});
  EXPECT_EQ(trigger(), 0);
  EXPECT_EQ(rx.next, 1000);
  EXPECT_EQ(clock.time_ns(0), 2'000'000'000);
}

TEST_F(SimFaultInjector, AnUnpluggedDeviceStaysUnplugged) {
  start({{"disconnect_every", "1000"}});
  EXPECT_FALSE(faults.is_unplugged());
  EXPECT_EQ(trigger(), SOAPY_SDR_STREAM_ERROR);
  EXPECT_TRUE(faults.is_unplugged());
  start({});
  EXPECT_EQ(trigger(), SOAPY_SDR_STREAM_ERROR);
}

TEST_F(SimFaultInjector, FromItsTimeOnClosingHangs) {
  start({{"hang_close_at", "0.001"}});
  EXPECT_FALSE(faults.hangs_when_closed());
  EXPECT_EQ(trigger(), 0);
  EXPECT_TRUE(faults.hangs_when_closed());
}

}  // namespace
}  // namespace iqd::sim
