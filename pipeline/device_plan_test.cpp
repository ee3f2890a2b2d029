// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Plans with two sides: what runs where, and what is copied.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/engine_rig.hpp"

namespace iqd::testing {
namespace {

constexpr std::int64_t kBlock = 64;
constexpr std::size_t kBytes = kBlock * sizeof(Word);
constexpr MappedLimits kAll{std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max()};

PlanTarget on_device(MappedLimits limits) {
  return {Side::device, limits};
}

std::vector<Side> sides_of(const Plan& plan) {
  std::vector<Side> sides;
  for (const PlanPart& p : plan.parts) sides.push_back(p.side);
  return sides;
}
const PlanPort& input(const Plan& plan, std::string_view step, std::size_t i = 0) {
  for (const PlanStep& s : plan.steps)
    if (s.name == step) return plan.ports.at(s.in.at(i));
  throw std::out_of_range("no such step");
}
const PlanPort& port_of(const Plan& plan, std::size_t output) {
  return plan.ports.at(plan.outputs.at(output).port);
}

TEST(DevicePlan, SmallBlocksAreReadInPlace) {
  PlanRig rig(kBlock, word_source(), on_device({.in = kBytes, .out = 0}));
  ASSERT_TRUE(rig.add({"window", "{past: 3}", "a"}));
  ASSERT_TRUE(rig.add({"window", "{}", "b", {{"", "source"}}}));
  const Plan plan = rig.planner.finish(rig.section);
  EXPECT_EQ(names_of(plan), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(input(plan, "b").name, "source");
  EXPECT_FALSE(plan.mixed());
  EXPECT_TRUE(plan.uses(Side::device));
  EXPECT_FALSE(plan.uses(Side::host));
  EXPECT_EQ(plan.arena_bytes[index_of(Side::host)], 0u);
}

TEST(DevicePlan, LargeBlocksAreCopiedOnceForAllWhoRead) {
  PlanRig rig(kBlock, word_source(), on_device({.in = kBytes - 1, .out = 0}));
  ASSERT_TRUE(rig.add({"window", "{past: 3}", "a"}));
  ASSERT_TRUE(rig.add({"window", "{past: 30, future: 5}", "b", {{"", "source"}}}));
  ASSERT_TRUE(rig.add({"sum", "{}", "c", {{"in0", "source"}, {"in1", "b"}}}));
  rig.publish("source");
  const Plan plan = rig.planner.finish(rig.section);
  EXPECT_EQ(names_of(plan), (std::vector<std::string>{"~source.device", "a", "b", "c"}));
  const PlanPort& copy = input(plan, "a");
  EXPECT_EQ(copy.name, "~source.device");
  EXPECT_EQ(copy.side, Side::device);
  EXPECT_EQ(copy.count_of, 0u);
  EXPECT_EQ(copy.capacity, kBlock + 30 + 5) << "as far as its readers reach";
  EXPECT_EQ(plan.reach().past, 30);
  EXPECT_EQ(plan.reach().future, 5);
  EXPECT_EQ(&input(plan, "b"), &copy);
  EXPECT_EQ(&input(plan, "c"), &copy);
  EXPECT_EQ(&port_of(plan, 0), &copy) << "and for the output";
  EXPECT_EQ(plan.outputs[0].format.port, "source");
}

/// A stage on the host between two on the device: a copy each way, and the names as written.
TEST(DevicePlan, StagesOnTheHostBetween) {
  PlanRig rig(kBlock, word_source(), on_device({}));
  ASSERT_TRUE(rig.add({"window", "{}", "a"}));
  ASSERT_TRUE(rig.add({"window", "{}", "b", {}, Side::host}));
  ASSERT_TRUE(rig.add({"window", "{}", "b2", {{"", "a.out"}}, Side::host}));
  ASSERT_TRUE(rig.add({"sum", "{}", "c", {{"in0", "b"}, {"in1", "b"}}}));
  for (const char* port : {"a", "b", "b2", "c", "source"}) rig.publish(port);
  const Plan plan = rig.planner.finish(rig.section);
  EXPECT_EQ(rig.complaints(), "");
  EXPECT_EQ(names_of(plan),
            (std::vector<std::string>{"~source.device", "a", "~a.out.host", "b", "b2", "~b.out.device", "c"}));
  EXPECT_EQ(sides_of(plan), (std::vector{Side::device, Side::host, Side::device}));
  EXPECT_EQ(plan.parts[0].end, 3u) << "a copy in either direction is the device's work";
  EXPECT_EQ(plan.parts[1].end, 5u);
  EXPECT_EQ(plan.parts[2].end, 7u);
  EXPECT_TRUE(plan.mixed());
  EXPECT_EQ(&input(plan, "b"), &input(plan, "b2")) << "one copy for both";
  EXPECT_EQ(input(plan, "b").side, Side::host);
  EXPECT_EQ(&input(plan, "c", 0), &input(plan, "c", 1));
  for (std::size_t o = 0; o < 5; ++o) {
    const std::string name = plan.outputs[o].format.port;
    EXPECT_EQ(name, (std::array{"a.out", "b.out", "b2.out", "c.out", "source"})[o]);
  }
  EXPECT_EQ(port_of(plan, 0).side, Side::device) << "published from where it was made";
  EXPECT_EQ(port_of(plan, 1).side, Side::host);
  EXPECT_TRUE(plan.outputs[1].in_place) << "the host writes to the slot for any reader";
}

/// A stage's `backend` overrides the pipeline's: a stage on the device in a pipeline on the host.
TEST(DevicePlan, OneStageOnTheDevice) {
  PlanRig rig(kBlock, word_source(), {Side::host, {}});
  ASSERT_TRUE(rig.add({"window", "{}", "a"}));
  ASSERT_TRUE(rig.add({"window", "{}", "b", {}, Side::device}));
  ASSERT_TRUE(rig.add({"window", "{}", "c"}));
  rig.publish("source");
  const Plan plan = rig.planner.finish(rig.section);
  EXPECT_EQ(names_of(plan), (std::vector<std::string>{"a", "~a.out.device", "b", "~b.out.host", "c"}));
  EXPECT_EQ(sides_of(plan), (std::vector{Side::host, Side::device, Side::host}));
  EXPECT_EQ(port_of(plan, 0).name, "source") << "no device needs it";
}

TEST(DevicePlan, PublishedSourceGoesThroughTheDevice) {
  for (const MappedLimits limits : {MappedLimits{}, kAll}) {
    PlanRig rig(kBlock, word_source(), on_device(limits));
    rig.publish("source");
    rig.publish("source", "f32");
    const Plan plan = rig.planner.finish(rig.section);
    EXPECT_EQ(names_of(plan), (std::vector<std::string>{"~source.device", "~~source.device.f32"}));
    EXPECT_EQ(sides_of(plan), std::vector{Side::device});
    for (const PlanOutput& o : plan.outputs) EXPECT_EQ(o.format.port, "source");
    EXPECT_FALSE(plan.outputs[0].in_place) << "the conversion reads it";
    EXPECT_EQ(plan.outputs[1].in_place, limits.out > 0);
  }
}

/// An input that is read in place is converted on the device, and so has another name than on the host.
TEST(DevicePlan, ConversionsOnBothSides) {
  PortShape source = word_source();
  source.element = Element::sc16;
  for (const MappedLimits limits : {MappedLimits{}, kAll}) {
    PlanRig rig(kBlock, source, on_device(limits));
    ASSERT_TRUE(rig.add({"complex", "{}", "d", {{"", "source"}}}));
    ASSERT_TRUE(rig.add({"complex", "{}", "h", {{"", "source"}}, Side::host}));
    ASSERT_TRUE(rig.add({"complex", "{}", "h2", {{"", "source"}}, Side::host}));
    ASSERT_TRUE(rig.add({"complex", "{}", "d2", {{"", "source"}}}));
    const OutputIndex output = rig.publish("source", "cf32");
    const Plan plan = rig.planner.finish(rig.section);
    ASSERT_EQ(rig.complaints(), "");
    EXPECT_EQ(input(plan, "d").side, Side::device);
    EXPECT_EQ(input(plan, "h").side, Side::host);
    EXPECT_EQ(&input(plan, "d"), &input(plan, "d2"));
    EXPECT_EQ(&input(plan, "h"), &input(plan, "h2"));
    EXPECT_EQ(plan.outputs[output].format.port, "source");
  }
}

TEST(DevicePlan, SmallResultsAreWrittenInPlace) {
  for (const std::size_t limit : {kBytes, kBytes - 1}) {
    PlanRig rig(kBlock, word_source(), on_device({.in = 0, .out = limit}));
    ASSERT_TRUE(rig.add({"window", "{past: 9}", "a"}));
    rig.publish("a");
    const Plan plan = rig.planner.finish(rig.section);
    const bool small = limit == kBytes;
    EXPECT_EQ(plan.outputs[0].in_place, small);
    EXPECT_EQ(port_of(plan, 0).home, small ? Home::slot : Home::arena);
    EXPECT_GT(plan.arena_bytes[index_of(Side::device)], small ? kBytes : 2 * kBytes);
  }
}

TEST(DevicePlan, ResultsThatStayHaveNoPlaceInTheSlot) {
  std::size_t slot_bytes[2];
  for (const bool stay : {false, true}) {
    PlanTarget target = on_device(kAll);
    target.results_stay = stay;
    PlanRig rig(kBlock, word_source(), target);
    ASSERT_TRUE(rig.add({"window", "{past: 9}", "a"}));
    ASSERT_TRUE(rig.add({"window", "{}", "b", {}, Side::host}));
    rig.publish("a");
    rig.publish("b");
    const Plan plan = rig.planner.finish(rig.section);
    EXPECT_EQ(plan.outputs[0].stays, stay);
    EXPECT_FALSE(plan.outputs[1].stays) << "the host's results are in the slot";
    slot_bytes[stay] = plan.slot_bytes;
  }
  EXPECT_GE(slot_bytes[false], slot_bytes[true] + kBytes);
}

/// Otherwise the device would read its own output back from the host's memory.
TEST(DevicePlan, WhatTheDeviceReadsAgainIsNotInTheSlot) {
  for (const Side side : {Side::host, Side::device}) {
    PlanRig rig(kBlock, word_source(), {side, kAll});
    ASSERT_TRUE(rig.add({"window", "{}", "a"}));
    ASSERT_TRUE(rig.add({"window", "{}", "b"}));
    rig.publish("a");
    rig.publish("b");
    const Plan plan = rig.planner.finish(rig.section);
    EXPECT_EQ(plan.outputs[0].in_place, side == Side::host);
    EXPECT_TRUE(plan.outputs[1].in_place);
  }
}

// --- devices made ready ----------------------------------------------------------------------------------------------

/// Needs room on the device.
class RoomyStage final : public Stage {
 public:
  void fields(FieldVisitor& v) override { v.field("room", room_, {.help = "bytes"}); }
  void shape(ShapeContext&) override {}
  std::unique_ptr<StageRun> make(Backend& backend) const override {
    EXPECT_EQ(FakeDevice::in_use(), &backend);
    struct Run final : StageRun {
      explicit Run(std::int64_t r) : room(r) {}
      void enqueue(const StageIo&, StreamView) const noexcept override {}
      std::size_t device_scratch_bytes() const noexcept override { return static_cast<std::size_t>(room); }
      std::int64_t room;
    };
    return std::make_unique<Run>(room_);
  }
  std::int64_t room_ = 0;
};

TEST(DevicePlan, ScratchLiesBehindThePortsOfTheDevice) {
  static const StageEntry entry{"test",     "roomy", "", {{"in", {Element::i32}}}, {{"out"}}, make_stage<RoomyStage>,
                                "roomy: {}"};
  Problems problems;
  const Section section("", {}, problems);
  PlanTarget target = on_device({});
  target.groups = one_group(2);
  Planner planner("test", kBlock, word_stages(), target);
  planner.add_source("source", word_source());
  for (const std::int64_t room : {100, 5000, 30}) {
    auto stage = std::make_unique<RoomyStage>();
    stage->room_ = room;
    ASSERT_TRUE(planner.add_stage(entry, "r" + std::to_string(room), std::move(stage), {}, section));
  }
  Plan plan = planner.finish(section);
  const std::size_t ports = plan.arena_bytes[index_of(Side::device)];
  const auto host = make_cpu_backend();
  const std::vector<std::shared_ptr<Backend>> devices{std::make_shared<FakeDevice>(0), std::make_shared<FakeDevice>(1)};
  plan.prepare(*host, devices);
  EXPECT_EQ(plan.scratch_offset[index_of(Side::device)], (ports + 255) / 256 * 256);
  EXPECT_EQ(plan.arena_bytes[index_of(Side::device)], plan.scratch_offset[index_of(Side::device)] + 5000)
      << "only one runs at a time";
  EXPECT_EQ(plan.arena_bytes[index_of(Side::host)], 0u);
  for (const PlanStep& s : plan.steps) EXPECT_EQ(s.runs.size(), 2u) << "one per device";
}

/// The number of a group may change from plan to plan.
TEST(DevicePlan, StateContinuesOnTheSameDevices) {
  const auto planned = [](std::vector<DeviceGroup> groups, Side side, const char* keys = "{}") {
    PlanTarget target = on_device({});
    target.groups = std::move(groups);
    PlanRig rig(kBlock, word_source(), target);
    EXPECT_TRUE(rig.add({"running", keys, "r", {}, side})) << rig.complaints();
    rig.publish("r");
    return rig.planner.finish(rig.section);
  };
  const auto go_on = [](const Plan& plan, const Plan& before) {
    return continues(plan, plan.steps.back(), before, before.steps.back());
  };
  const Plan before = planned({{"a", {0}}, {"b", {1}}}, device_side(1));
  EXPECT_TRUE(go_on(planned({{"a", {0}}, {"b", {1}}}, device_side(1)), before));
  EXPECT_TRUE(go_on(planned({{"a", {0}}, {"c", {2}}, {"b", {1}}}, device_side(2)), before)) << "as another group";
  EXPECT_FALSE(go_on(planned({{"a", {0}}, {"b", {2}}}, device_side(1)), before)) << "the same group, another device";
  EXPECT_FALSE(go_on(planned({{"a", {0}}}, Side::host), before));
  EXPECT_TRUE(go_on(planned({{"a", {0}}}, Side::host), planned({{"b", {1}}}, Side::host)));
}

}  // namespace
}  // namespace iqd::testing
