// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Devices that fail: what was published before is right, the rest is counted, and nothing waits forever.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/support/device_rig.hpp"

namespace iqd::testing {
namespace {

/// A device fails at its n-th work. What was published before is right and has no gaps; the rest is counted.
void expect_honest_end(Rig::Options o, std::int64_t blocks, std::int64_t fail_at, FakeDevice::Fails fails) {
  SCOPED_TRACE(fmt::format("fails at {}, {}", fail_at, static_cast<int>(fails)));
  o.publish.push_back("source");
  Rig::Options expected = on_host(o);
  FakeDevice& device = *o.devices.back();
  device.fail_at = fail_at;
  device.fails = fails;
  for (const auto& d : o.devices) d->jitter_us = 30;
  const Script script{{{.samples = o.block * blocks}}};
  const auto rig = run(o, script);
  EXPECT_EQ(rig->engine->backend_failure(), device.name() + ": it was set to fail");
  EXPECT_EQ(rig->counters.received.value(), static_cast<std::uint64_t>(o.block * blocks));
  EXPECT_EQ(rig->counters.received.value(), rig->counters.published.value() + rig->drops(Drop::device));
  EXPECT_GT(rig->drops(Drop::device), 0u);
  // A lane becomes free shortly after its last block is done.
  EXPECT_TRUE(Rig::eventually([&] { return rig->engine->lanes_busy() == 0; }));
  EXPECT_EQ(rig->engine->slots_free(), rig->engine->slots());
  const std::size_t last = o.publish.size() - 1;
  rig->expect_continuous(last);
  std::int64_t published = 0;
  for (const Sent& s : rig->records[last].sent) {
    EXPECT_EQ(s.gap, 0);
    published += s.extent;
  }
  EXPECT_EQ(rig->counters.published.value(), static_cast<std::uint64_t>(published));
  const auto host = run(expected, script);
  for (std::size_t r = 0; r < o.publish.size(); ++r) {
    host->records[r].sent.resize(std::min(host->records[r].sent.size(), rig->records[r].sent.size()));
    expect_same(rig->records[r], host->records[r]);
  }
}

/// With 60 blocks. `works`: how many the device certainly gets, even if another one is faster.
void expect_honest_ends(const std::vector<StageLine>& stages, const std::vector<std::string>& publish, int devices,
                        std::int64_t works) {
  for (const auto fails : {FakeDevice::Fails::at_launch, FakeDevice::Fails::while_running})
    for (const std::int64_t at :
         {std::int64_t{1}, std::int64_t{2}, std::min(works / 2, std::int64_t{50}), works - 1, works}) {
      Rig::Options o = with(stages, publish, devices);
      o.lanes = 4;
      o.limits = kInPlace;
      expect_honest_end(o, 60, at, fails);
    }
}

TEST(DeviceFailure, OfADevice) {
  expect_honest_ends({{"window", "{past: 15}"}}, {"window"}, 1, 60);
}
TEST(DeviceFailure, OfOneOfTwoDevices) {
  expect_honest_ends({{"window", "{past: 15}"}}, {"window"}, 2, 15);
}
TEST(DeviceFailure, InAMixedPlan) {
  // One device part before the host's and one after it.
  expect_honest_ends(mixed(), {"a", "b", "c"}, 1, 120);
}
TEST(DeviceFailure, InAMixedPlanOfTwoDevices) {
  expect_honest_ends(mixed(), {"a", "b", "c"}, 2, 20);
}
TEST(DeviceFailure, OfADeviceOfSomeStages) {
  for (const auto fails : {FakeDevice::Fails::at_launch, FakeDevice::Fails::while_running})
    for (const std::int64_t at : {1, 2, 30, 60}) {
      Rig::Options o = with({{"window", "{past: 15}", "a"},
                             {"window", "{past: 4}", "b", {}, device_side(1)},
                             {"running", "{}", "c", {}, Side::host}},
                            {"a", "c"}, 2);
      o.groups = {{"one", {0}}, {"other", {1}}};
      o.lanes = 3;
      expect_honest_end(o, 60, at, fails);
    }
}
TEST(DeviceFailure, BeforeSequentialStages) {
  expect_honest_ends({{"window", "{past: 3}", "w"}, {"running"}}, {"running"}, 1, 60);
}
/// A block that waits for its turn gets it, even if the previous block failed before that step.
TEST(DeviceFailure, InAMixedPlanWithSequentialStages) {
  const StageLine on_device{"running", "{}", "device_sum", {}, Side::device};
  const StageLine on_host{"running", "{}", "host_sum", {}, Side::host};
  expect_honest_ends({{"window", "{past: 3}", "w"}, on_host}, {"host_sum"}, 1, 120);
  expect_honest_ends({on_device, on_host}, {"host_sum"}, 1, 120);
  expect_honest_ends({on_host, on_device, {"gate", "{}", "g", {}, Side::host}}, {"g"}, 1, 120);
}

/// A block that has finished its device part waits for its turn on the host; the previous block fails.
TEST(DeviceFailure, TurnsOfBlocksThatFailed) {
  Rig::Options o =
      with({{"window", "{}", "w"}, {"gate", "{}", "g", {}, Side::host}, {"running", "{}", "r", {}, Side::host}}, {"r"});
  FakeDevice& device = *o.devices.front();
  GateStage::door().set(false);
  device.before_work = [&](int queue, std::int64_t work) {
    if (queue != 0 || work != 0) return;
    while (GateStage::door().inside == 0) std::this_thread::yield();
    device.fail();
    GateStage::door().set(true);
  };
  const auto rig = run(o, {{{.samples = 64 * 20}}});
  EXPECT_TRUE(rig->records[0].sent.empty());
  EXPECT_EQ(rig->drops(Drop::device), 64u * 20);
}

}  // namespace
}  // namespace iqd::testing
