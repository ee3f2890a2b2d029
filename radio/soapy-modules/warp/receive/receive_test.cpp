// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Captures of simulated nodes arrive whole, from all chains, despite faults.
#include <gmock/gmock.h>

#include <complex>

#include "radio/soapy-modules/warp/rig_for_test.hpp"

namespace iqd::warp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Warp, CapturesComeWholeWithTheTimeOfTheirTrigger) {
  Rig rig;
  rig.receive({{"length", "40000"}});
  long long last = 0;
  for (int i = 1; i <= 3; ++i) {
    const std::int64_t before = wall_ns();
    const auto x = rig.capture();
    expect_pattern(x[0], 0, 40'000, i);
    EXPECT_GE(rig.time, before);
    EXPECT_LE(rig.time + kMs, wall_ns()) << "the capture alone takes a millisecond";
    EXPECT_GE(rig.time, last + kMs);
    last = rig.time;
  }
  EXPECT_EQ(rig.sensor("captures"), 3u);
  EXPECT_EQ(rig.node().seen().broken, 0);
  EXPECT_THAT(*rig.node().last(0x3000000B), ElementsAre(40'000));
}

TEST(Warp, SmallReadsAndFloatsAreTheSame) {
  Rig rig;
  rig.receive({{"length", "5000"}});
  expect_pattern(rig.capture(77)[0], 0, 5000, 1);
  rig.device->closeStream(rig.rx);
  rig.receive({{"length", "5000"}}, {1}, "CF32");
  std::vector<std::complex<float>> x(5000);
  void* buffer = x.data();
  int got = 0;
  while ((got = rig.device->readStream(rig.rx, &buffer, 5000, rig.flags, rig.time, 100'000)) == SOAPY_SDR_TIMEOUT) {
  }
  ASSERT_EQ(got, 5000);
  for (std::uint32_t n = 0; n < 5000; ++n) {
    const std::uint32_t word = warp_node::pattern(1, 1, n);
    ASSERT_EQ(x[n].real() * 32768, static_cast<std::int16_t>(word >> 16));
    ASSERT_EQ(x[n].imag() * 32768, static_cast<std::int16_t>(word));
  }
}

TEST(Warp, FourChainsAreOneCapture) {
  Rig rig;
  rig.receive({{"length", "20000"}}, {0, 1, 2, 3});
  const auto x = rig.capture();
  for (int c = 0; c < 4; ++c) expect_pattern(x[static_cast<std::size_t>(c)], c, 20'000, 1);
  EXPECT_EQ(rig.node().seen().triggers, 1);
}

TEST(Warp, NodesAreOneArrayWithOneTrigger) {
  Rig rig({}, "", 3);
  EXPECT_EQ(rig.device->getNumChannels(SOAPY_SDR_RX), 12u);
  EXPECT_EQ(rig.device->getChannelInfo(SOAPY_SDR_RX, 6).at("node"), "1");
  EXPECT_EQ(rig.device->getChannelInfo(SOAPY_SDR_RX, 6).at("rf"), "C");
  rig.device->setFrequency(SOAPY_SDR_RX, 6, 5.2e9);
  EXPECT_THAT(*rig.node(1).last(0x20000004), ElementsAre(0x40000000, 1, 2));
  rig.receive({{"length", "9000"}}, {0, 6, 11});
  for (int i = 1; i <= 2; ++i) {
    const auto x = rig.capture();
    expect_pattern(x[0], 0, 9000, i);
    expect_pattern(x[1], 2, 9000, i);
    expect_pattern(x[2], 3, 9000, i);
  }
  for (const std::size_t n : {0u, 1u, 2u}) EXPECT_EQ(rig.node(n).seen().triggers, 2) << n;
}

TEST(Warp, NothingIsLostThoughPacketsAre) {
  warp_node::Options o;
  o.faults = {.lose = 23, .repeat = 7, .swap = 5, .cut = 31, .foreign = 3, .lose_commands = 11};
  Rig rig(o, "timeout=0.02");
  rig.receive({{"length", "50000"}}, {0, 1});
  for (int i = 0; i < 3; ++i) {
    const auto x = rig.capture();
    const int number = static_cast<int>(x[0][0] >> 8 & 0xFF);
    expect_pattern(x[0], 0, 50'000, number);
    expect_pattern(x[1], 1, 50'000, number);
  }
  EXPECT_GT(rig.sensor("asked_again"), 0u);
  EXPECT_GT(rig.sensor("ignored"), 0u);
}

TEST(Warp, ALostTriggerIsFiredAgain) {
  warp_node::Options o;
  o.faults.lose_triggers = 3;
  Rig rig(o);
  rig.receive({{"length", "1000"}});
  for (int i = 1; i <= 7; ++i) expect_pattern(rig.capture()[0], 0, 1000, i);
  EXPECT_GE(rig.sensor("lost_triggers"), 2u);
}

/// It answers as before, but its settings are lost.
TEST(Warp, ANodeThatWasRestartedIsNotReadFrom) {
  for (const int serial : {1, 2}) {
    Rig rig;
    rig.receive({{"length", "5000"}});
    expect_pattern(rig.capture()[0], 0, 5000, 1);
    rig.node().restart(serial);
    for (int i = 0; i < 5 && rig.code > 0; ++i) rig.read();
    EXPECT_EQ(rig.code, SOAPY_SDR_STREAM_ERROR);
  }
}

TEST(Warp, ANodeThatIsLateIsWaitedFor) {
  warp_node::Options o;
  o.faults.late_s = 0.1;
  Rig rig(o);
  rig.receive({{"length", "1000"}});
  const std::int64_t began = steady_ns();
  expect_pattern(rig.capture()[0], 0, 1000, 1);
  EXPECT_GE(steady_ns() - began, 100 * kMs);
  EXPECT_GT(rig.sensor("not_ready"), 0u);
  EXPECT_EQ(rig.sensor("lost_triggers"), 0u);
}

TEST(Warp, CapturesMayHaveAPeriod) {
  Rig rig;
  rig.receive({{"length", "1000"}, {"every", "0.05"}});
  rig.capture();
  const long long first = rig.time;
  for (int i = 0; i < 3; ++i) rig.capture();
  EXPECT_GE(rig.time - first, 149 * kMs);
}

TEST(Warp, ReadingEndsAtItsTimeOut) {
  warp_node::Options o;
  o.rate_hz = 10'000;
  Rig rig(o, "rate=10000");
  rig.receive({{"length", "10000"}});
  Shorts x(2000);
  void* buffer = x.data();
  const std::int64_t began = steady_ns();
  EXPECT_EQ(rig.device->readStream(rig.rx, &buffer, 1000, rig.flags, rig.time, 100'000), SOAPY_SDR_TIMEOUT);
  EXPECT_GE(steady_ns() - began, 99 * kMs);
  EXPECT_LT(steady_ns() - began, 900 * kMs) << "the capture takes a second";
  expect_pattern(rig.capture(100'000, 10'000)[0], 0, 10'000, 1);
}

TEST(Warp, ANodeThatIsGoneFailsTheStreamAndLetsGo) {
  warp_node::Options o;
  o.faults.deaf_at_s = 0.5;
  o.faults.deaf_for_s = 1000;
  Rig rig(o, "silence=0.3");
  rig.receive({{"length", "1000"}});
  while (rig.read(), rig.code > 0) {
  }
  EXPECT_EQ(rig.code, SOAPY_SDR_STREAM_ERROR);
  const std::int64_t began = steady_ns();
  rig.device->closeStream(rig.rx);
  rig.rx = nullptr;
  EXPECT_LT(steady_ns() - began, 3000 * kMs);
  EXPECT_THAT(refusal([&] { SoapySDR::Device::make(rig.args + ",label=again"); }), HasSubstr("does not answer"));
}

}  // namespace
}  // namespace iqd::warp
