// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Works that a device launches: they contain all that they need, also the copies to the device's ring.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/support/device_rig.hpp"

namespace iqd::testing {
namespace {

Rig::Options resident(std::vector<StageLine> stages, std::vector<std::string> publish, int lanes, int devices = 1) {
  Rig::Options o = with(std::move(stages), std::move(publish), devices);
  o.lanes = lanes;
  o.wait = Wait::resident;
  return o;
}

TEST(ResidentEngine, GivesWhatTheHostGives) {
  for (const int lanes : {1, 3})
    for (const int devices : {1, 2})
      for (const std::int64_t block : {64, 50, 333}) {
        SCOPED_TRACE(fmt::format("{} lanes, {} devices, blocks of {}", lanes, devices, block));
        Rig::Options o = resident(past_and_future(), {"source", "a", "b"}, lanes, devices);
        o.info.channels = 2;
        o.block = block;
        for (const auto& device : o.devices) device->jitter_us = 50;
        const auto rig = expect_as_on_host(o, kHoles);
        rig->expect_continuous(0, 2);
        EXPECT_EQ(rig->engine->plan().ringed != kNoPort, devices == 1) << "two need too much of each block";
        for (const auto& device : o.devices) EXPECT_EQ(device->fence_waits(), 0) << "a graph cannot contain one";
      }
}

/// The device launches rehearsed works only, so nothing may be put on a stream before them.
TEST(ResidentEngine, RehearsedWorksContainTheirCopies) {
  for (const int lanes : {1, 2, 4}) {
    Rig::Options o = resident(past_and_future(), {"b"}, lanes);
    const auto rig = expect_as_on_host(o, {{{.samples = 64 * 400}}});
    const FakeDevice& device = *o.devices[0];
    EXPECT_EQ(device.submits(), 400);
    EXPECT_EQ(device.misses(), 2) << "the first block has no past, the last no future";
    EXPECT_EQ(device.bytes_in(), rig->counters.received.value() * sizeof(Word)) << "each sample crosses once";
    EXPECT_EQ(device.turns(), lanes == 1 ? 0 : 400) << "one lane is in order by itself";
    const std::vector<std::uint64_t> keys = device.keys();
    EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), keys.size());
    EXPECT_EQ(keys.size(), std::lcm(std::lcm(8u, static_cast<unsigned>(lanes)),
                                    static_cast<unsigned>(rig->engine->ring().samples() / 64)));
  }
}

TEST(ResidentEngine, WindowsOverTheEndOfTheRing) {
  for (const std::int64_t block : {16, 50})
    for (const int devices : {1, 2}) {
      Rig::Options o = resident({{"window", "{past: 700, future: 90}"}}, {"window"}, 3, devices);
      o.block = block;
      for (const auto& device : o.devices) device->jitter_us = 50;
      const auto rig =
          expect_as_on_host(o, {{{.samples = 3000}, {.samples = 2500, .lost = 33}, {.samples = 2000, .lost = 5000}}});
      EXPECT_NE(rig->engine->plan().ringed, kNoPort);
    }
}

/// In a mixed plan a host thread waits between the parts, so the copies stay on the stream before the first.
TEST(ResidentEngine, MixedAndSequentialPlansGiveWhatTheHostGives) {
  for (const int lanes : {1, 3}) {
    expect_as_on_host(resident(mixed(), {"a", "b", "c"}, lanes, 2), kHoles);
    expect_as_on_host(resident(mixed(Side::device), {"a", "b", "c"}, lanes, 2), kHoles);
    expect_as_on_host(resident({{"window", "{past: 3}", "w"}, {"running"}}, {"running"}, lanes), kHoles);
  }
}

TEST(ResidentEngine, TimedBlocksAreTimedFromTheirCopiesOn) {
  Rig::Options o = resident(past_and_future(), {"b"}, 2);
  o.time_every = 1;
  const auto rig = expect_as_on_host(o, {{{.samples = 64 * 30}}});
  for (std::size_t s = 0; s < rig->engine->plan().steps.size(); ++s)
    EXPECT_EQ(rig->engine->step_times()[s].snapshot().count, 30u) << "step " << s;
}

/// What was published is right; the rest is counted, and no block waits for the turn of one that failed.
TEST(ResidentEngine, ADeviceThatFails) {
  for (const int lanes : {1, 4})
    for (const auto fails : {FakeDevice::Fails::at_launch, FakeDevice::Fails::while_running})
      for (const std::int64_t at : {1, 2, 30, 59, 60}) {
        SCOPED_TRACE(fmt::format("{} lanes, fails at {}", lanes, at));
        Rig::Options o = resident(past_and_future(), {"source", "b"}, lanes);
        o.devices[0]->fail_at = at;
        o.devices[0]->fails = fails;
        o.devices[0]->jitter_us = 30;
        const auto rig = run(o, {{{.samples = 64 * 60}}});
        EXPECT_EQ(rig->counters.received.value(), rig->counters.published.value() + rig->drops(Drop::device));
        EXPECT_GT(rig->drops(Drop::device), 0u);
        EXPECT_TRUE(Rig::eventually([&] { return rig->engine->lanes_busy() == 0; }));
        const auto host = run(on_host(o), {{{.samples = 64 * 60}}});
        for (std::size_t r = 0; r < o.publish.size(); ++r) {
          host->records[r].sent.resize(std::min(host->records[r].sent.size(), rig->records[r].sent.size()));
          expect_same(rig->records[r], host->records[r]);
        }
      }
}

}  // namespace
}  // namespace iqd::testing
