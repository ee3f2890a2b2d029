// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Complete runs on fake devices: they publish the same bits as the host alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "tests/support/device_rig.hpp"

namespace iqd::testing {
namespace {

TEST(DeviceEngine, ChainsGiveWhatTheHostGives) {
  for (const MappedLimits limits : {MappedLimits{}, kInPlace, MappedLimits{300, 0}})
    for (const std::int64_t block : {64, 50, 333})
      for (const int devices : {1, 2}) {
        SCOPED_TRACE(fmt::format("in place up to {}, blocks of {}, {} devices", limits.in, block, devices));
        Rig::Options o = with(past_and_future(), {"source", "a", "b"}, devices);
        o.info.channels = 2;
        o.block = block;
        o.limits = limits;
        o.lanes = 3;
        const auto rig = expect_as_on_host(o, kHoles);
        rig->expect_continuous(0, 2);
        for (const auto& device : o.devices) EXPECT_GT(device->submits(), 0) << device->name();
      }
}

TEST(DeviceEngine, QueuesAreInThePartsOfTheirDevices) {
  for (const std::vector<StageLine>& stages : {past_and_future(), mixed(Side::host)}) {
    Rig::Options o = with(stages, {"a"}, 2);
    o.lanes = 4;
    o.urgency = 3;
    o.parts = {std::make_shared<DevicePart>(8, 64), std::make_shared<DevicePart>(16, 64)};
    run(o, kHoles);
    for (std::size_t d = 0; d < 2; ++d) {
      EXPECT_EQ(o.devices[d]->queues().size(), 2u);
      for (const QueueOptions& queue : o.devices[d]->queues()) {
        EXPECT_EQ(queue.part, o.parts[d]);
        EXPECT_EQ(queue.urgency, 3);
      }
    }
  }
}

TEST(DeviceEngine, EachSampleCrossesOnce) {
  for (const int lanes : {1, 3}) {
    Rig::Options o = with(past_and_future(), {"source", "b"});
    o.info.channels = 2;
    o.lanes = lanes;
    const auto rig = expect_as_on_host(o, kHoles);
    const std::size_t once = rig->counters.received.value() * 2 * sizeof(Word);
    EXPECT_EQ(o.devices[0]->bytes_in(), once);
    o.ring_saves = std::numeric_limits<std::size_t>::max();
    o.devices = make_devices(1);
    expect_as_on_host(o, kHoles);
    EXPECT_GT(o.devices[0]->bytes_in(), once + once / 4) << "with the window of each block";
  }
}

/// What a graph copies from the host's ring is where it was when the graph was captured.
TEST(DeviceEngine, APublishedSourceBesideADeviceThatKeepsIt) {
  Rig::Options o = with({{"window", "{past: 300}", "w", {}, Side::device}}, {"source", "w"});
  o.is_on_host = true;
  o.block = 100;
  o.slots = 7;
  o.lanes = 3;
  const auto rig = expect_as_on_host(o, {{{.samples = 100 * 300}}});
  EXPECT_NE(rig->engine->plan().ringed, kNoPort);
  EXPECT_NE(rig->engine->ring().samples() % o.block, 0);
}

/// A turn of the ring ends in a window, again and again.
TEST(DeviceEngine, WindowsOverTheEndOfTheRing) {
  for (const std::int64_t block : {16, 50})
    for (const int devices : {1, 2}) {
      Rig::Options o = with({{"window", "{past: 700, future: 90}"}}, {"window"}, devices);
      o.block = block;
      o.lanes = 3;
      for (const auto& device : o.devices) device->jitter_us = 50;
      expect_as_on_host(o, {{{.samples = 3000}, {.samples = 2500, .lost = 33}, {.samples = 2000, .lost = 5000}}});
    }
}

TEST(DeviceEngine, OtherRatesAndWholeGranules) {
  for (const std::int64_t block : {48, 64, 77}) {
    Rig::Options o = with({{"window", "{granule: 4, past: 7, future: 3}", "slow"},
                           {"window", "{granule: 3, yield: 2, past: 5}", "odd"},
                           {"window", "{granule: 5, yield: 5, whole: true, past: 2}", "frames", {{"", "slow.out"}}}},
                          {"slow", "odd", "frames"});
    o.block = block;
    expect_as_on_host(o, kHoles);
  }
}

/// The first and the last stage on one device, the middle one on another or on two others in turn.
Rig::Options apart(std::vector<std::size_t> middle) {
  const std::size_t others = middle.size();
  Rig::Options o = with({{"window", "{past: 90}", "a"},
                         {"window", "{past: 4, future: 9}", "b", {}, device_side(1)},
                         {"sum", "{}", "c", {{"in0", "b"}, {"in1", "a"}}}},
                        {"a", "b", "c", "source"}, static_cast<int>(others) + 1);
  o.groups = {{"front", {0}}, {"middle", std::move(middle)}};
  o.lanes = 4;
  return o;
}

TEST(DeviceEngine, AStageOnAnotherDevice) {
  for (const std::vector<std::size_t>& middle : {std::vector<std::size_t>{1}, {1, 2}})
    for (const bool peers : {true, false}) {
      SCOPED_TRACE(fmt::format("{} others, peers {}", middle.size(), peers));
      Rig::Options o = apart(middle);
      for (const auto& device : o.devices) device->has_peers = peers, device->jitter_us = 50;
      const auto rig = expect_as_on_host(o, kHoles);
      rig->expect_continuous(3);
      const Plan& plan = rig->engine->plan();
      EXPECT_EQ(names_of(plan),
                (peers ? std::vector<std::string>{"~source.front", "a", "~a.out.middle", "b", "~b.out.front", "c"}
                       : std::vector<std::string>{"~source.front", "a", "~a.out.host", "~~a.out.host.middle", "b",
                                                  "~b.out.host", "~~b.out.host.front", "c"}));
      EXPECT_EQ(plan.ports[plan.ringed].name, "~source.front") << "the front's device keeps the source";
      for (std::size_t d = 0; d < o.devices.size(); ++d) {
        EXPECT_GT(o.devices[d]->submits(), 0) << d;
        EXPECT_EQ(o.devices[d]->bytes_across() > 0, peers) << d;
        EXPECT_EQ(o.devices[d]->queues().size(), d == 0 || middle.size() == 1 ? 4u : 2u) << d;
      }
    }
}

/// Carried state stays on the device of its stage.
TEST(DeviceEngine, SequentialStagesOnTwoDevices) {
  Rig::Options o =
      with({{"running", "{}", "a"}, {"running", "{}", "b", {}, device_side(1)}, {"window", "{past: 5}", "c"}},
           {"b", "c"}, 2);
  o.groups = {{"one", {0}}, {"other", {1}}};
  o.lanes = 3;
  for (const auto& device : o.devices) device->jitter_us = 50;
  expect_as_on_host(o, kHoles);
  EXPECT_GT(o.devices[1]->fence_waits(), 0);
}

TEST(DeviceEngine, MixedPlansGiveWhatTheHostGives) {
  for (const Side middle : {Side::host, Side::device})
    for (const MappedLimits limits : {MappedLimits{}, kInPlace})
      for (const int devices : {1, 2}) {
        SCOPED_TRACE(
            fmt::format("middle {}, in place up to {}, {} devices", static_cast<int>(middle), limits.in, devices));
        Rig::Options o = with(mixed(middle), {"a", "b", "c", "source"}, devices);
        o.limits = limits;
        o.lanes = 3;
        const auto rig = expect_as_on_host(o, kHoles);
        EXPECT_TRUE(rig->engine->plan().mixed());
        rig->expect_continuous(3);
      }
}

TEST(DeviceEngine, CountedItemsTheirFactsAndTotals) {
  for (const std::optional<Side> side : {std::optional<Side>{}, std::optional(Side::host)})
    for (const MappedLimits limits : {MappedLimits{}, kInPlace}) {
      Rig::Options o = with({{"window", "{past: 3}", "w"},
                             {"pick", "{divisor: 3, most: 40}", "pick", {}, side},
                             {"use_finds", "{divisor: 2, most: 30}"},
                             {"total", "{}", "total", {{"", "w.out"}}}},
                            {"pick.finds", "use_finds", "total"}, 2);
      o.info.channels = 2;
      o.limits = limits;
      expect_as_on_host(o, kHoles);
    }
}

TEST(DeviceEngine, AFactThatIsALevelComesFromTheDevice) {
  for (const char* const published : {"grade.finds", "total"})
    for (const MappedLimits limits : {MappedLimits{}, kInPlace}) {
      Rig::Options o = with({{"grade"}, {"total", "{}", "total", {{"", "source"}}}}, {published});
      o.limits = limits;
      const auto on_device = run(o, kHoles), expected = run(on_host(o), kHoles);
      const auto shown = on_device->counters.levels.values(), wanted = expected->counters.levels.values();
      ASSERT_EQ(shown.size(), 1u) << published;
      ASSERT_EQ(wanted.size(), 1u) << published;
      EXPECT_EQ(shown[0].second, wanted[0].second) << published;
      EXPECT_GT(shown[0].second, 0) << published;
    }
}

TEST(DeviceEngine, ConversionsHappenOnTheDevice) {
  for (const MappedLimits limits : {MappedLimits{}, kInPlace}) {
    PlanRig planned(64,
                    [] {
                      PortShape s = word_source();
                      s.element = Element::sc16;
                      return s;
                    }(),
                    {Side::device, limits});
    ASSERT_TRUE(planned.add({"complex"}));
    planned.publish("complex");
    const Plan plan = planned.planner.finish(planned.section);
    ASSERT_EQ(planned.complaints(), "");
    for (const PlanStep& s : plan.steps) EXPECT_EQ(s.side, Side::device) << s.name;
  }
}

/// In each turn, lane 0 is held until lane 1 has done the next block: messages still leave in order.
TEST(DeviceEngine, LanesThatFinishOutOfOrder) {
  constexpr std::int64_t kTurns = 50;
  Rig::Options o = with(past_and_future(), {"source", "b"});
  FakeDevice& device = *o.devices.front();
  Bell bell;
  std::atomic<std::int64_t> done_by_1{0};
  device.before_work = [&](int queue, std::int64_t work) {
    if (queue == 0 && work < kTurns) bell.wait_until([&] { return done_by_1 > work; });
  };
  device.after_work = [&](int queue, std::int64_t work) {
    if (queue == 1) done_by_1 = work + 1;
    bell.ring();
  };
  const auto rig = run(o, {{{.samples = 64 * 2 * kTurns + 64}}});
  rig->expect_continuous();
  EXPECT_EQ(done_by_1, kTurns);
  expect_same(rig->records[1], run(on_host(o), {{{.samples = 64 * 2 * kTurns + 64}}})->records[1]);
}

TEST(DeviceEngine, LanesThatTakeAnyTime) {
  Rig::Options o = with(past_and_future(), {"source", "b"}, 2);
  o.lanes = 4;
  for (const auto& device : o.devices) device->jitter_us = 200;
  const auto rig = expect_as_on_host(o, {{{.samples = 64 * 150 + 5}, {.samples = 64 * 20, .lost = 3}}});
  rig->expect_continuous();
}

/// Rehearsed blocks run as graphs: all except the first and the last of the stream.
TEST(DeviceEngine, RehearsedBlocksHit) {
  for (const int devices : {1, 2}) {
    Rig::Options o = with(past_and_future(), {"source", "b"}, devices);
    o.lanes = 2;
    const auto rig = expect_as_on_host(o, {{{.samples = 64 * 400}}});
    EXPECT_EQ(rig->engine->ring().samples() % o.block, 0);
    std::int64_t submits = 0, misses = 0;
    std::set<std::uint64_t> keys;
    for (const auto& device : o.devices) {
      submits += device->submits();
      misses += device->misses();
      for (const std::uint64_t key : device->keys()) EXPECT_TRUE(keys.insert(key).second) << "two lanes with one key";
    }
    EXPECT_EQ(submits, 400);
    EXPECT_EQ(keys.size(), std::lcm(std::lcm(8u, 2u), static_cast<unsigned>(rig->engine->ring().samples() / 64)));
    EXPECT_EQ(misses, 2) << "the first block has no past, the last no future";
  }
}

TEST(DeviceEngine, WithoutPastAndFutureNoneIsMissed) {
  Rig::Options o = with({{"window"}}, {"window"});
  const auto rig = expect_as_on_host(o, {{{.samples = 64 * 200}}});
  EXPECT_EQ(o.devices[0]->misses(), 0);
  EXPECT_EQ(o.devices[0]->hits(), 200);
}

/// Everything that a stage may use while it is enqueued: lengths, and differences between positions.
std::vector<std::int64_t> layout_of(const BlockWork& work) {
  std::vector<std::int64_t> layout;
  const std::int64_t block = work.block().first;
  for (std::size_t p = 0; p < work.plan().ports.size(); ++p) {
    const Span span = work.span_of(static_cast<int>(p));
    const Rate rate = work.plan().ports[p].rate;
    const bool moves = work.plan().ports[p].shape.axis == Axis::stream;
    layout.insert(layout.end(), {span.first * rate.den - (moves ? block * rate.num : 0), span.length(),
                                 span.first_new - span.first, span.end_new - span.first});
  }
  return layout;
}

/// In the same memory, blocks have equal keys exactly if they have the same layout.
TEST(DeviceEngine, KeysTellLayouts) {
  PlanRig planned(64, word_source(), {Side::device, {}});
  for (const StageLine& line : std::vector<StageLine>{{"window", "{past: 5, future: 3}", "a"},
                                                      {"window", "{granule: 3, yield: 2, past: 4}", "b"},
                                                      {"window", "{granule: 7, whole: true}", "c"},
                                                      {"pick"}})
    ASSERT_TRUE(planned.add(line)) << planned.complaints();
  planned.publish("pick.finds");
  const Plan plan = planned.planner.finish(planned.section);
  const auto host = make_cpu_backend();
  const auto devices = make_devices(1);
  const std::vector<std::shared_ptr<Backend>> backends{devices.front()};
  Carries carries(plan, *host, backends);
  BlockWork work(plan, carries, *host, *devices.front());
  Random random(3);
  std::map<std::vector<std::int64_t>, std::uint64_t> keys;
  std::set<std::uint64_t> all;
  std::byte window{};
  std::vector<std::byte> arena(plan.arena_bytes[index_of(Side::host)] + plan.arena_bytes[index_of(Side::device)]);
  LaneMemory lane;
  lane.arenas.fill(arena.data());
  for (int i = 0; i < 20'000; ++i) {
    SampleBlock block;
    block.first = 1000 + pick(random, 0, 200);
    block.length = pick(random, 55, 64);
    block.past = pick(random, 0, 8);
    block.future = pick(random, 0, 3);
    const SourceWindow at{
        &window, 4096, {block.first - block.past, block.end() + block.future, block.first, block.end()}};
    work.set(block, {&at, 1}, lane);
    const auto [known, is_new] = keys.insert({layout_of(work), work.capture_key()});
    ASSERT_EQ(known->second, work.capture_key());
    all.insert(work.capture_key());
  }
  EXPECT_EQ(all.size(), keys.size());
  EXPECT_GT(keys.size(), 100u);
}

/// After a gap, blocks soon have rehearsed places again. If the ring does not hold whole blocks, few places recur.
TEST(DeviceEngine, BlocksThatWereNotRehearsed) {
  for (const std::int64_t lost : {7, 1'000'000'007}) {
    Rig::Options shifted = with({{"window", "{past: 3}"}}, {"window"});
    expect_as_on_host(shifted, {{{.samples = 64 * 10}, {.samples = 64 * 100, .lost = lost}}});
    EXPECT_GE(shifted.devices[0]->misses(), 2) << "the start, and what is left of the block with the gap";
    EXPECT_LE(shifted.devices[0]->misses(), 4) << "lost " << lost;
  }

  Rig::Options odd = with({{"window", "{past: 3, granule: 3}"}}, {"window"});
  odd.block = 100;
  odd.slots = 7;
  odd.lanes = 3;
  expect_as_on_host(odd, {{{.samples = 100 * 300}}});
  EXPECT_EQ(odd.devices[0]->misses(), 1) << "the first; the device's ring holds whole blocks";
  odd.ring_saves = std::numeric_limits<std::size_t>::max();
  odd.devices = make_devices(1);
  expect_as_on_host(odd, {{{.samples = 100 * 300}}});
  EXPECT_GT(odd.devices[0]->misses(), 2) << "the host's ring does not";
}

/// A source that does not wait, and devices that do not keep up: what is published is right and reports its gaps.
TEST(DeviceEngine, Overload) {
  for (const bool is_mixed : {false, true}) {
    Rig::Options o = with(is_mixed ? mixed() : past_and_future(), {"source"}, 2);
    o.info.can_wait = false;
    o.intake.overrun = Overrun::drop;
    for (const auto& device : o.devices) device->jitter_us = 300;
    const auto rig = run(o, {{{.samples = 64 * 3000}}});
    rig->expect_continuous();
    EXPECT_GT(rig->drops(Drop::lanes), 0u);
    EXPECT_GT(rig->counters.published.value(), 0u);
  }
}

TEST(DeviceEngine, SlotsThatAreHeld) {
  Rig::Options o = with(past_and_future(), {"source"});
  o.slots = 6;
  Rig rig(o, {{{{.samples = 64 * 200}}}});
  rig.records[0].keep = 5;
  rig.run();
  rig.expect_conserved();
  rig.expect_continuous();
  EXPECT_EQ(rig.records[0].sent.size(), 200u);
}

/// State passes from block to block in the device's own order; later stages read the results of earlier blocks.
TEST(DeviceEngine, SequentialStagesInOrderWithHistory) {
  for (const std::optional<Side> side : {std::optional<Side>{}, std::optional(Side::host)})
    for (const int lanes : {1, 4}) {
      SCOPED_TRACE(fmt::format("{} lanes{}", lanes, side ? ", on the host" : ""));
      Rig::Options o = with({{"window", "{past: 3}", "w"},
                             {"running", "{}", "running", {}, side},
                             {"window", "{past: 20, future: 5}", "reader"},
                             {"running", "{}", "again"}},
                            {"running", "reader", "again"});
      o.info.channels = 2;
      o.lanes = lanes;
      o.devices[0]->jitter_us = 100;
      expect_as_on_host(o, kHoles);
      EXPECT_EQ(o.devices[0]->hits(), 0) << "blocks that depend on the previous one are not captured";
      EXPECT_GT(o.devices[0]->fence_waits(), 0);
    }
}

// --- times -----------------------------------------------------------------------------------------------------------

TEST(DeviceEngine, StepsAreTimed) {
  constexpr std::uint64_t kBlocks = 30;
  for (const int devices : {0, 1, 2}) {
    Rig::Options o = with(past_and_future(), {"source", "b"}, devices);
    o.time_every = 1;
    const auto rig = run(o, {{{.samples = 64 * kBlocks}}});
    const std::size_t steps = rig->engine->plan().steps.size();
    ASSERT_EQ(rig->engine->step_times().size(), steps + 1);
    for (std::size_t s = 0; s <= steps; ++s)
      EXPECT_EQ(rig->engine->step_times()[s].snapshot().count, kBlocks)
          << "step " << s << ", " << devices << " devices";
    for (const auto& device : o.devices) EXPECT_EQ(device->hits(), 0) << "timed blocks do not run as graphs";
  }
}

TEST(DeviceEngine, SomeStepsAreTimed) {
  Rig::Options o = with(past_and_future(), {"b"});
  o.time_every = 10;
  const auto rig = expect_as_on_host(o, {{{.samples = 64 * 100}}});
  EXPECT_EQ(rig->engine->step_times()[0].snapshot().count, 10u) << "every tenth of each of two lanes";
  EXPECT_GE(o.devices[0]->hits(), 88);
}

/// On both sides. The host's time is that of the step, without the wait for the device.
TEST(DeviceEngine, StepsOfMixedPlansAreTimed) {
  Rig::Options o = with(mixed(), {"a", "c"});
  o.time_every = 1;
  const auto rig = expect_as_on_host(o, {{{.samples = 64 * 30}}});
  const Plan& plan = rig->engine->plan();
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const auto times = rig->engine->step_times()[s].snapshot();
    EXPECT_EQ(times.count, 30u) << plan.steps[s].name;
    EXPECT_GT(times.sum_ns, 0u) << plan.steps[s].name;
  }
}

}  // namespace
}  // namespace iqd::testing
