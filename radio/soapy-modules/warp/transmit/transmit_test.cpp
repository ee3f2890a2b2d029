// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Bursts to simulated nodes, and when they are sent.
#include <gmock/gmock.h>

#include <complex>

#include "radio/soapy-modules/warp/rig_for_test.hpp"

namespace iqd::warp {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

TEST(Warp, WhatIsSentIsHeard) {
  warp_node::Options o;
  o.wires = {-1, 0};
  o.delay = 10;
  Rig rig(o);
  rig.receive({{"length", "5000"}, {"trigger", "transmit"}}, {1});
  rig.transmit({{"length", "5000"}});
  const Shorts sent = ramp(5000);
  // The first read arms the capture, so the test must read when the burst is sent.
  std::vector<Words> heard;
  std::jthread reader([&] { EXPECT_NO_THROW(heard = rig.capture()); });
  ASSERT_TRUE(eventually([&] { return rig.node().times(0x30000005) > 0; }));
  std::this_thread::sleep_for(50ms);
  std::size_t mask = 0;
  int flags = 0;
  long long ended = 0;
  const void* buffer = sent.data();
  ASSERT_EQ(rig.device->writeStream(rig.tx, &buffer, 5000, flags, 0, 1'000'000), 5000);
  int code = SOAPY_SDR_TIMEOUT;
  for (int i = 0; i < 100 && code == SOAPY_SDR_TIMEOUT; ++i)
    code = rig.device->readStreamStatus(rig.tx, mask, flags, ended, 100'000);
  reader.join();
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(flags & SOAPY_SDR_END_BURST);
  EXPECT_EQ(ended, rig.time + 125'000) << "5000 samples after the trigger that starts the capture";
  Words expected(10, 0);
  for (const std::uint32_t word : words_of(sent)) expected.push_back(word);
  expected.resize(5000);
  EXPECT_THAT(heard, ElementsAre(expected));
  EXPECT_EQ(rig.node().seen().broken, 0);
}

TEST(Warp, LostPiecesOfABurstAreWrittenAgain) {
  warp_node::Options o;
  o.wires = {-1, 0};
  o.faults.lose_written = 40;
  Rig rig(o, "timeout=0.02");
  rig.transmit({{"length", "30000"}, {"mode", "continuous"}});
  const Shorts sent = ramp(30'000);
  ASSERT_EQ(rig.write(sent), 30'000);
  ASSERT_EQ(rig.status(), 0);
  EXPECT_GT(rig.sensor("written_again"), 0u);
  rig.receive({{"length", "30000"}}, {1});
  EXPECT_EQ(rig.capture()[0], words_of(sent));
}

/// A node may clear its buffer on the first packet of a write.
TEST(Warp, ABurstIsOneWrite) {
  warp_node::Options o;
  o.wires = {-1, 0};
  o.write_clears = true;
  Rig rig(o);
  rig.transmit({{"length", "30000"}, {"mode", "continuous"}});
  const Shorts sent = ramp(30'000);
  ASSERT_EQ(rig.write(sent), 30'000);
  ASSERT_EQ(rig.status(), 0);
  rig.receive({{"length", "30000"}}, {1});
  EXPECT_EQ(rig.capture()[0], words_of(sent));
}

TEST(Warp, ANodeThatWasRestartedSendsNothing) {
  Rig rig;
  rig.transmit({{"length", "1000"}});
  ASSERT_EQ(rig.write(ramp(1000), SOAPY_SDR_END_BURST), 1000);
  ASSERT_EQ(rig.status(), 0);
  rig.node().restart(1);
  const int sent = rig.write(ramp(1000), SOAPY_SDR_END_BURST);
  EXPECT_EQ(sent > 0 ? rig.status() : sent, SOAPY_SDR_STREAM_ERROR);
  EXPECT_EQ(rig.node().seen().sent, 1);
}

TEST(Warp, FloatsAreRoundedAndSaturate) {
  warp_node::Options o;
  o.wires = {-1, 0};
  Rig rig(o);
  rig.transmit({{"mode", "continuous"}}, {0}, "CF32");
  const std::vector<std::complex<float>> x{{0.5f, -0.5f}, {2, -2}, {0.4f / 32768, -0.6f / 32768}, {1.5f / 32768, 0}};
  const void* buffer = x.data();
  int flags = SOAPY_SDR_END_BURST;
  ASSERT_EQ(rig.device->writeStream(rig.tx, &buffer, 4, flags, 0, 1'000'000), 4);
  ASSERT_EQ(rig.status(), 0);
  rig.receive({{"length", "4"}}, {1});
  EXPECT_THAT(rig.capture()[0], ElementsAre(0x4000C000, 0x7FFF8000, 0x0000FFFF, 0x00020000));
}

TEST(Warp, ATimedBurstLeavesAtItsTime) {
  warp_node::Options o;
  o.wires = {-1, 0};
  Rig rig(o);
  rig.transmit({{"length", "2000"}});
  const Shorts sent = ramp(2000);
  int in_time = 0;
  for (int i = 0; i < 10; ++i) {  // on a busy machine it may fail and report that
    const long long at = wall_ns() + 100 * kMs;
    ASSERT_EQ(rig.write(sent, SOAPY_SDR_HAS_TIME | SOAPY_SDR_END_BURST, at), 2000);
    const int before = rig.node().seen().sent;
    const int code = rig.status();
    if (code == SOAPY_SDR_TIME_ERROR) continue;
    ASSERT_EQ(code, 0);
    EXPECT_GE(wall_ns(), at);
    EXPECT_EQ(rig.time, at + 50'000) << "it ends 2000 samples after its time";
    EXPECT_GE(rig.node().seen().sent, before);
    ++in_time;
  }
  EXPECT_GT(in_time, 0);
  EXPECT_EQ(rig.write(sent, SOAPY_SDR_HAS_TIME, wall_ns() - 10 * kMs), SOAPY_SDR_TIME_ERROR);
  EXPECT_EQ(rig.status(), SOAPY_SDR_TIME_ERROR);
}

/// An endless stream with times: a burst at each interval, begun at the right sample.
TEST(Warp, BurstsOfAStreamAreItsSamplesOfTheirTime) {
  warp_node::Options o;
  o.wires = {-1, 0};
  o.rate_hz = 1e6;
  Rig rig(o, "rate=1000000");
  rig.receive({{"length", "1000"}, {"trigger", "transmit"}}, {1});
  rig.transmit({{"length", "1000"}, {"every", "0.1"}});
  const std::int64_t start = wall_ns() + 200 * kMs;
  std::jthread sender([&](const std::stop_token& done) {
    Shorts block(2 * 1000);
    for (std::int64_t first = 0; !done.stop_requested(); first += 1000) {
      for (std::int64_t n = 0; n < 1000; ++n) {
        block[static_cast<std::size_t>(2 * n)] = static_cast<std::int16_t>(first + n);
        block[static_cast<std::size_t>(2 * n + 1)] = static_cast<std::int16_t>((first + n) >> 16);
      }
      rig.write(block, SOAPY_SDR_HAS_TIME, start + first * 1000);
    }
  });
  std::vector<long long> times;
  for (int i = 0; i < 4; ++i) {
    const auto x = rig.capture(100'000, 1e6);
    ASSERT_EQ(x[0].size(), 1000u);
    times.push_back(rig.time);
    const std::int64_t first = (rig.time - start) / 1000;
    EXPECT_EQ((rig.time - start) % 1000, 0) << "on the grid of the stream";
    for (std::int64_t n = 0; n < 1000; ++n) {
      const auto sample = static_cast<std::uint32_t>(first + n);
      ASSERT_EQ(x[0][static_cast<std::size_t>(n)], sample << 16 | sample >> 16) << n;
    }
  }
  sender.request_stop();
  sender.join();
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_GE(times[i] - times[i - 1], 100 * kMs);
  EXPECT_GT(rig.sensor("skipped"), 100'000u);
}

}  // namespace
}  // namespace iqd::warp
