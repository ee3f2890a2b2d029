// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Memory layout of a plan: no two ports that live at the same time may share a byte.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/support/engine_rig.hpp"

namespace iqd::testing {
namespace {

struct Place {
  std::size_t begin, end;
  StepIndex from, until;
  std::string what;
};

void expect_apart(const std::vector<Place>& places, std::size_t most) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_LE(places[i].end, most) << places[i].what;
    for (std::size_t j = i + 1; j < places.size(); ++j) {
      const Place &a = places[i], &b = places[j];
      const bool together = a.from <= b.until && b.from <= a.until;
      EXPECT_FALSE(together && a.begin < b.end && b.begin < a.end) << a.what << " and " << b.what;
    }
  }
}

std::vector<Place> arena_of(const Plan& plan, Side side = Side::host) {
  std::vector<Place> places;
  for (PortIndex p = 0; p < plan.ports.size(); ++p) {
    const PlanPort& port = plan.ports[p];
    const bool omitted = !port.wanted && !port.is_source() && port.name.ends_with(".start");
    if (port.home != Home::arena || port.side != side || omitted) continue;
    StepIndex until = port.maker;
    for (StepIndex s = 0; s < plan.steps.size(); ++s)
      for (const PortIndex in : plan.steps[s].in)
        if (in == p) until = s;
    for (const PlanOutput& o : plan.outputs)
      if (o.port == p) until = plan.steps.size();
    places.push_back({port.offset, port.offset + port.bytes(), port.maker, until, port.name});
  }
  return places;
}

std::vector<Place> slot_of(const Plan& plan) {
  std::vector<Place> places{
      {0, sizeof(SampleBlock) + plan.ports.size() * (2 * sizeof(std::int64_t) + sizeof(std::int32_t)), 0, 0,
       "block, positions and counts"}};
  for (const PlanOutput& o : plan.outputs) {
    const PlanPort& port = plan.ports[o.port];
    const auto bytes = static_cast<std::size_t>(port.most_new * port.shape.item_bytes() * port.shape.row_count());
    places.push_back({o.offset, o.offset + bytes, 0, 0, port.name});
  }
  for (PortIndex p = 0; p < plan.ports.size(); ++p) {
    const PlanPort& port = plan.ports[p];
    bool in_place = false;
    for (const PlanOutput& o : plan.outputs) in_place = in_place || (o.in_place && o.port == p);
    if (port.home == Home::slot && !in_place)
      places.push_back({port.offset, port.offset + port.bytes(), 0, 0, "the fact " + port.name});
  }
  return places;
}

/// A device reads small ports of the host in place, and nobody reads another device's memory, except copies between
/// peers.
void expect_within_reach(const Plan& plan, const PlanTarget& target) {
  std::set<std::pair<PortIndex, Side>> copies;
  for (const PlanStep& step : plan.steps) {
    const bool is_copy = step.is_transfer();
    for (const PortIndex in : step.in) {
      const PlanPort& port = plan.ports[in];
      const auto bytes = static_cast<std::size_t>(port.most_new * port.shape.item_bytes() * port.shape.row_count());
      if (!is_copy && step.side != port.side) {
        EXPECT_TRUE(on_device(step.side) && !on_device(port.side)) << step.name << " reads " << port.name;
        EXPECT_LE(bytes, target.mapped.in) << step.name << " reads " << port.name;
      }
      if (is_copy) {
        const Side to = plan.ports[step.out[0]].side;
        EXPECT_TRUE(copies.insert({in, to}).second) << step.name;
        EXPECT_EQ(step.side, on_device(to) ? to : port.side) << step.name;
        EXPECT_TRUE(target.peers || !on_device(port.side) || !on_device(to)) << step.name;
      }
    }
  }
  for (const PlanPart& part : plan.parts)
    for (StepIndex s = part.begin; s < part.end; ++s) EXPECT_EQ(plan.steps[s].side, part.side);
}

/// Each stage runs on a random one of so many sides.
void expect_sound_layouts(int sides) {
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const auto any_side = [&]() -> std::optional<Side> {
    if (sides == 1 || pick(0, 1)) return {};
    return static_cast<Side>(pick(0, sides - 1));
  };
  std::int64_t between = 0;
  for (int graph = 0; graph < 2000 && !::testing::Test::HasFailure(); ++graph) {
    PlanTarget target;
    if (sides > 1)
      target = {pick(0, 2) ? Side::device : Side::host,
                {static_cast<std::size_t>(pick(0, 4000)), static_cast<std::size_t>(pick(0, 4000))}};
    for (std::size_t g = 1; g + 1 < static_cast<std::size_t>(sides); ++g)
      target.groups.push_back({fmt::format("cuda:{}", g), {g}});
    target.peers = pick(0, 1) == 1;
    PlanRig rig(64 * pick(1, 8), word_source(pick(1, 3)), target);
    std::vector<std::string> ports{"source"};
    for (int s = 0, n = pick(1, 14); s < n; ++s) {
      const std::string name = "s" + std::to_string(s);
      const auto any = [&] { return ports[static_cast<std::size_t>(pick(0, static_cast<int>(ports.size()) - 1))]; };
      const int kind = pick(0, 5);
      if (kind == 0) {
        ASSERT_TRUE(rig.add({"sum", "{}", name, {{"in0", any()}, {"in1", any()}}, any_side()})) << rig.complaints();
      } else if (kind == 1) {
        ASSERT_TRUE(rig.add({"pick", "{most: 50}", name, {{"", any()}}, any_side()})) << rig.complaints();
        if (pick(0, 1)) rig.publish(name + ".finds");
        if (pick(0, 3) == 0) rig.publish(name + ".start");
        continue;
      } else {
        ASSERT_TRUE(
            rig.add({"window", "{past: " + std::to_string(pick(0, 90)) + "}", name, {{"", any()}}, any_side()}));
      }
      ports.push_back(name + ".out");
      if (pick(0, 3) == 0) rig.publish(any());
    }
    rig.publish(ports.back());
    const Plan plan = rig.planner.finish(rig.section);
    ASSERT_EQ(rig.complaints(), "") << "graph " << graph;
    for (int side = 0; side < std::max(sides, 2); ++side)
      expect_apart(arena_of(plan, static_cast<Side>(side)), plan.arena_bytes[static_cast<std::size_t>(side)]);
    expect_apart(slot_of(plan), plan.slot_bytes);
    expect_within_reach(plan, target);
    between += static_cast<std::int64_t>(crossing_of(plan).between);
  }
  EXPECT_EQ(between > 0, sides > 2);
}

TEST(PlanLayout, LivingPortsNeverOverlap) {
  expect_sound_layouts(1);
}
TEST(PlanLayout, NorDoThoseOfTwoSides) {
  expect_sound_layouts(2);
}
TEST(PlanLayout, NorDoThoseOfSeveralDevices) {
  expect_sound_layouts(4);
}

/// A long chain needs the memory of two stages, not of all.
TEST(PlanLayout, ArenaIsShared) {
  PlanRig rig(4096);
  for (int s = 0; s < 20; ++s) ASSERT_TRUE(rig.add({"window", "{}", "s" + std::to_string(s)}));
  rig.publish("s19");
  const Plan plan = rig.planner.finish(rig.section);
  EXPECT_EQ(plan.arena_bytes[0], 2 * 4096 * sizeof(Word));
}

TEST(PlanLayout, ReachAddsUpAtTheSource) {
  PlanRig rig(128);
  ASSERT_TRUE(rig.add({"window", "{past: 7}", "a"}));
  ASSERT_TRUE(rig.add({"window", "{granule: 4, past: 3, future: 2}", "b"}));
  ASSERT_TRUE(rig.add({"window", "{past: 5, future: 1}", "c"}));
  rig.publish("c");
  const Plan plan = rig.planner.finish(rig.section);
  EXPECT_EQ(plan.ports[2].reach.past, 5);
  EXPECT_EQ(plan.ports[2].reach.future, 1);
  EXPECT_EQ(plan.ports[1].reach.past, 5 * 4 + 3);
  EXPECT_EQ(plan.ports[1].reach.future, 1 * 4 + 2);
  EXPECT_EQ(plan.reach().past, 5 * 4 + 3 + 7);
  EXPECT_EQ(plan.window().past, 32) << "up to whole 128 bytes";
  EXPECT_EQ(plan.reach().future, 6);
}

/// Two branches whose new parts do not start together: each reaches as far as the other may lag.
TEST(PlanLayout, BranchesOfDifferentGranules) {
  PlanRig rig(10);
  ASSERT_TRUE(rig.add({"window", "{granule: 4, yield: 4, whole: true}", "frames"}));
  ASSERT_TRUE(rig.add({"sum", "{}", "s", {{"in0", "frames"}, {"in1", "source"}}}));
  rig.publish("s");
  const Plan plan = rig.planner.finish(rig.section);
  EXPECT_EQ(plan.ports[1].lag, 3);
  EXPECT_GE(plan.reach().future, 3);
}

Plan on_device(std::string_view keys, std::size_t ring_saves, MappedLimits mapped = {}, std::size_t devices = 1) {
  PlanRig rig(64, word_source(2),
              {.side = Side::device, .mapped = mapped, .groups = one_group(devices), .ring_saves = ring_saves});
  EXPECT_TRUE(rig.add({"window", std::string(keys)})) << rig.complaints();
  rig.publish("window");
  return rig.planner.finish(rig.section);
}

TEST(PlanLayout, ADeviceKeepsTheSourceIfThatSavesEnough) {
  constexpr std::size_t kSaved = 2 * (100 + 28) * sizeof(Word), kNew = 2 * 64 * sizeof(Word);
  const Plan kept = on_device("{past: 100, future: 28}", kSaved);
  ASSERT_NE(kept.ringed, kNoPort);
  EXPECT_EQ(kept.ports[kept.ringed].home, Home::ring);
  EXPECT_EQ(kept.steps[kept.ports[kept.ringed].maker].name, "~source.device");
  EXPECT_EQ(crossing_of(kept).to_device, kNew);
  EXPECT_EQ(crossing_of(kept).to_host, kNew);

  const Plan copied = on_device("{past: 100, future: 28}", kSaved + 1);
  EXPECT_EQ(copied.ringed, kNoPort);
  EXPECT_EQ(crossing_of(copied).to_device, kNew + kSaved);
  const Plan shared = on_device("{past: 100, future: 28}", kSaved - kNew, {}, 2);
  ASSERT_NE(shared.ringed, kNoPort);
  EXPECT_EQ(crossing_of(shared).to_device, 2 * kNew) << "each device needs the other's samples, too";
  EXPECT_EQ(on_device("{past: 100, future: 28}", kSaved, {}, 2).ringed, kNoPort);
  EXPECT_EQ(on_device("{}", 1).ringed, kNoPort) << "without past and future there is nothing to keep";
  const Plan in_place = on_device("{past: 100}", 1, {1 << 20, 1 << 20});
  EXPECT_EQ(in_place.ringed, kNoPort) << "the device reads the host's memory";
  EXPECT_EQ(crossing_of(in_place).to_device, 2 * 164 * sizeof(Word));
}

}  // namespace
}  // namespace iqd::testing
