// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Nobody transmits without being watched.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "radio/soapy-modules/warp/rig_for_test.hpp"

namespace iqd::warp {
namespace {

using ::testing::ElementsAre;

/// A process with a transmitter that runs on, which ends as `end` has it.
void transmit_in_another_process(Rig& rig, const std::function<void()>& end) {
  const pid_t child = ::fork();
  if (child == 0) {
    SoapySDR::Device* device = SoapySDR::Device::make(rig.args + ",initialise=false,watchdog=1,label=child");
    SoapySDR::Stream* tx = device->setupStream(SOAPY_SDR_TX, "CS16", {2}, {{"mode", "continuous"}});
    device->activateStream(tx);
    const Shorts x(2000, 1000);
    const void* buffer = x.data();
    int flags = SOAPY_SDR_END_BURST;
    device->writeStream(tx, &buffer, 1000, flags, 0, 1'000'000);
    end();
    for (;;) ::pause();
  }
  ASSERT_TRUE(eventually([&] { return rig.node().transmits(2); }));
  int how = 0;
  EXPECT_TRUE(eventually([&] { return !rig.node().transmits(2); })) << "it is still on the air";
  ::kill(child, SIGKILL);
  ::waitpid(child, &how, 0);
}

TEST(WarpWatchdog, AKilledProcessTransmitsNoMore) {
  Rig rig;
  transmit_in_another_process(rig, [] {
    ::usleep(200'000);
    ::kill(::getpid(), SIGKILL);
  });
}

TEST(WarpWatchdog, AProcessThatExitsTransmitsNoMore) {
  Rig rig;
  transmit_in_another_process(rig, [] {
    ::usleep(200'000);
    ::_exit(0);
  });
}

TEST(WarpWatchdog, AProcessThatHangsTransmitsNoMore) {
  Rig rig;
  const std::int64_t began = steady_ns();
  transmit_in_another_process(rig, [] {});
  EXPECT_GE(steady_ns() - began, 900 * kMs) << "within its second it may";
}

TEST(WarpWatchdog, SignsOfLifeKeepItOnAndClosingSwitchesItOff) {
  Rig rig({}, "watchdog=2");
  rig.transmit({{"mode", "continuous"}}, {3});
  ASSERT_EQ(rig.write(Shorts(2000, 99), SOAPY_SDR_END_BURST), 1000);
  ASSERT_EQ(rig.status(), 0);
  ASSERT_TRUE(eventually([&] { return rig.node().transmits(3); }));
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(rig.node().transmits(3)) << i;
    std::size_t mask = 0;
    rig.device->readStreamStatus(rig.tx, mask, rig.flags, rig.time, 150'000);
  }
  rig.device->deactivateStream(rig.tx);
  EXPECT_FALSE(rig.node().transmits(3));
  EXPECT_THAT(*rig.node().last(0x20000003), ElementsAre(0x80000000));
  ASSERT_EQ(rig.device->activateStream(rig.tx), 0);
  ASSERT_EQ(rig.write(Shorts(2000, 99), SOAPY_SDR_END_BURST), 1000);
  ASSERT_TRUE(eventually([&] { return rig.node().transmits(3); }));
  ASSERT_TRUE(eventually([&] { return !rig.node().transmits(3); })) << "nobody called";
  ASSERT_EQ(rig.write(Shorts(2000, 99), SOAPY_SDR_END_BURST), 1000);
  EXPECT_TRUE(eventually([&] { return rig.node().transmits(3); })) << "who comes back goes on";
}

}  // namespace
}  // namespace iqd::warp
