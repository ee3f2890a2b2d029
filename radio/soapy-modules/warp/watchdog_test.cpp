// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// No transmission without a guard.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "radio/soapy-modules/warp/rig_for_test.hpp"

namespace iqd::warp {
namespace {

using ::testing::ElementsAre;

constexpr const char* kChild = "IQD_WARP_CHILD";

/// Not a test, but the main function of another process of this program: it transmits continuously, then makes no
/// calls.
TEST(WarpWatchdog, DISABLED_Transmits) {
  load_module();
  SoapySDR::Device* device = SoapySDR::Device::make(std::getenv(kChild));
  SoapySDR::Stream* tx = device->setupStream(SOAPY_SDR_TX, "CS16", {2}, {{"mode", "continuous"}});
  device->activateStream(tx);
  const Shorts x(2000, 1000);
  const void* buffer = x.data();
  int flags = SOAPY_SDR_END_BURST;
  device->writeStream(tx, &buffer, 1000, flags, 0, 1'000'000);
  for (;;) ::pause();
}

/// That process, once its transmitter is on the air.
class Other {
 public:
  Other(Rig& rig, const std::string& watchdog) {
    ::setenv(kChild, (rig.args + ",initialise=false,watchdog=" + watchdog).c_str(), 1);
    process_ = ::fork();
    if (process_ == 0) {
      // Its one test may belong to another process.
      ::unsetenv("GTEST_TOTAL_SHARDS");
      ::unsetenv("GTEST_SHARD_INDEX");
      ::execl("/proc/self/exe", "warp_test", "--gtest_also_run_disabled_tests",
              "--gtest_filter=WarpWatchdog.DISABLED_Transmits", nullptr);
      ::_exit(1);
    }
    EXPECT_TRUE(eventually([&] { return rig.node().transmits(2); }));
  }
  ~Other() {
    end(SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  void end(int signal) const { ::kill(process_, signal); }

 private:
  pid_t process_;
};

TEST(WarpWatchdog, AProcessThatIsKilledTransmitsNoMore) {
  for (const int signal : {SIGKILL, SIGTERM}) {
    Rig rig;
    const Other other(rig, "3600");
    other.end(signal);
    EXPECT_TRUE(eventually([&] { return !rig.node().transmits(2); })) << "it is still on the air";
  }
}

TEST(WarpWatchdog, AProcessThatHangsTransmitsNoMore) {
  Rig rig;
  const Other other(rig, "1");
  EXPECT_TRUE(eventually([&] { return !rig.node().transmits(2); })) << "it is still on the air";
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
  ASSERT_TRUE(eventually([&] { return !rig.node().transmits(3); })) << "the program made no calls";
  ASSERT_EQ(rig.write(Shorts(2000, 99), SOAPY_SDR_END_BURST), 1000);
  EXPECT_TRUE(eventually([&] { return rig.node().transmits(3); })) << "a program that returns continues";
}

}  // namespace
}  // namespace iqd::warp
