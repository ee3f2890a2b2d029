// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Which steps are fused, and the resulting plan.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/support/engine_rig.hpp"

namespace iqd::testing {
namespace {

constexpr std::int64_t kBlock = 64;

struct Planned {
  explicit Planned(const std::vector<StageLine>& lines, const std::vector<std::string>& publish,
                   PlanTarget target = {}) {
    PlanRig rig(kBlock, word_source(), target);
    for (const StageLine& line : lines) EXPECT_TRUE(rig.add(line)) << rig.complaints();
    for (const std::string& port : publish) rig.publish(port);
    plan = rig.planner.finish(rig.section);
    EXPECT_EQ(rig.complaints(), "");
  }
  std::vector<std::string> steps() const {
    std::vector<std::string> names;
    for (const PlanStep& s : plan.steps) names.push_back(s.name);
    return names;
  }
  std::vector<std::string> ports() const {
    std::vector<std::string> names;
    for (const PlanPort& p : plan.ports) names.push_back(p.name);
    return names;
  }
  std::vector<std::string> names(const std::vector<PortIndex>& ports) const {
    std::vector<std::string> all;
    for (const PortIndex p : ports) all.push_back(plan.ports.at(p).name);
    return all;
  }
  const PlanStep& step(std::string_view name) const {
    for (const PlanStep& s : plan.steps)
      if (s.name == name) return s;
    throw std::out_of_range("no step " + std::string(name));
  }
  Plan plan;
};
using Names = std::vector<std::string>;

StageLine scale(std::string name, std::string from, std::optional<Side> side = {}) {
  return {"scale", "{}", std::move(name), {{"", std::move(from)}}, side};
}
StageLine mix(std::string name, std::string in0, std::string in1) {
  return {"mix", "{}", std::move(name), {{"in0", std::move(in0)}, {"in1", std::move(in1)}}};
}
StageLine window(std::string name, std::string from, std::string keys = "{past: 3}") {
  return {"window", std::move(keys), std::move(name), {{"", std::move(from)}}};
}

TEST(Fuse, ARunBecomesOneStepWithoutMemoryBetween) {
  const Planned p({scale("a", "source"), scale("b", "a"), scale("c", "b")}, {"c"});
  EXPECT_EQ(p.steps(), Names{"a+b+c"});
  EXPECT_EQ(p.ports(), (Names{"source", "c.out"}));
  EXPECT_EQ(p.step("a+b+c").parts, (Names{"a", "b", "c"}));
  EXPECT_EQ(p.names(p.step("a+b+c").in), Names{"source"});
  EXPECT_EQ(p.plan.ports[1].maker, 0u);
  EXPECT_EQ(p.plan.ports[0].last_reader, 0u);
  EXPECT_EQ(p.plan.outputs[0].port, 1u);
  EXPECT_EQ(p.plan.outputs[0].format.port, "c.out");
  EXPECT_TRUE(p.plan.outputs[0].in_place);
}

TEST(Fuse, OffLeavesAllAsItIs) {
  const Planned p({scale("a", "source"), scale("b", "a")}, {"b"}, {.fuse = false});
  EXPECT_EQ(p.steps(), (Names{"a", "b"}));
  EXPECT_EQ(p.ports(), (Names{"source", "a.out", "b.out"}));
}

TEST(Fuse, OneAloneStaysAsItIs) {
  const Planned p({window("w", "source"), scale("a", "w"), window("v", "a")}, {"v"});
  EXPECT_EQ(p.steps(), (Names{"w", "a", "v"}));
  EXPECT_TRUE(p.step("a").parts.empty());
}

TEST(Fuse, KeysMayForbidIt) {
  const Planned p({scale("a", "source"), {"scale", "{alone: true}", "b", {{"", "a"}}}, scale("c", "b")}, {"c"});
  EXPECT_EQ(p.steps(), (Names{"a", "b", "c"}));
}

TEST(Fuse, APublishedMiddleLeavesToo) {
  const Planned p({scale("a", "source"), scale("b", "a"), scale("c", "b")}, {"a", "c"});
  EXPECT_EQ(p.steps(), Names{"a+b+c"});
  EXPECT_EQ(p.names(p.step("a+b+c").out), (Names{"a.out", "c.out"}));
  for (const PlanOutput& o : p.plan.outputs) EXPECT_TRUE(o.in_place);
}

TEST(Fuse, ABranchIsReadOnce) {
  const Planned p({scale("a", "source"), scale("b", "a"), scale("c", "a"), mix("d", "b", "c")}, {"d"});
  EXPECT_EQ(p.steps(), Names{"a+b+c+d"});
  EXPECT_EQ(p.names(p.step("a+b+c+d").in), Names{"source"});
  EXPECT_EQ(p.names(p.step("a+b+c+d").out), Names{"d.out"});
}

TEST(Fuse, ReadersOfTheSamePortLoadItOnce) {
  const Planned p({window("w", "source"), scale("a", "w"), scale("b", "w")}, {"a", "b"});
  EXPECT_EQ(p.steps(), (Names{"w", "a+b"}));
  EXPECT_EQ(p.names(p.step("a+b").in), Names{"w.out"});
}

/// The path through the window comes back: a and d cannot be fused, or the window would have to be inside.
TEST(Fuse, NoWayLeadsOutAndBack) {
  const Planned p({scale("a", "source"), window("w", "a"), mix("d", "a", "w")}, {"d"});
  EXPECT_EQ(p.steps(), (Names{"a", "w", "d"}));
  const Planned q({scale("a", "source"), scale("b", "a"), window("w", "b"), mix("d", "a", "w"), scale("e", "d")},
                  {"e"});
  EXPECT_EQ(q.steps(), (Names{"a+b", "w", "d+e"}));
}

/// Two groups must not wait for each other: a+d and b+c would.
TEST(Fuse, GroupsDoNotWaitForEachOther) {
  const Planned p({window("w", "source"), window("v", "source"), scale("a", "w"), scale("b", "v"), mix("c", "b", "a"),
                   mix("d", "a", "b")},
                  {"c", "d"});
  std::vector<bool> is_made(p.plan.ports.size());
  is_made[0] = true;
  for (const PlanStep& s : p.plan.steps) {
    for (const PortIndex in : s.in) EXPECT_TRUE(is_made.at(in)) << s.name;
    for (const PortIndex out : s.out) is_made[out] = true;
  }
}

/// Steps that a group waits for come before it, even if they stood between its stages.
TEST(Fuse, OthersComeBefore) {
  const Planned p({scale("a", "source"), window("w", "source"), window("v", "w"), mix("b", "a", "w")}, {"b", "v"});
  EXPECT_EQ(p.steps(), (Names{"w", "a+b", "v"}));
}

TEST(Fuse, SidesStayApart) {
  const Planned p({scale("a", "source"), scale("b", "a"), scale("c", "b", Side::host), scale("d", "c", Side::host),
                   scale("e", "d")},
                  {"e"}, {.side = Side::device});
  EXPECT_EQ(p.steps(), (Names{"~source.device", "a+b", "~b.out.host", "c+d", "~d.out.device", "e"}));
  EXPECT_EQ(p.step("a+b").side, Side::device);
  EXPECT_EQ(p.step("c+d").side, Side::host);
  EXPECT_EQ(p.plan.parts.size(), 3u);
}

TEST(Fuse, ADeviceThatCannotCompileIsLeftAsItIs) {
  const Planned p({scale("a", "source"), scale("b", "a"), scale("c", "b", Side::host), scale("d", "c", Side::host)},
                  {"d"}, {.side = Side::device, .device_fuses = false});
  EXPECT_EQ(p.steps(), (Names{"~source.device", "a", "b", "~b.out.host", "c+d"}));
}

/// Other rates, other items and newly counted items are other positions.
TEST(Fuse, OtherPositionsStayApart) {
  const Planned p({scale("a", "source"), window("slow", "a", "{granule: 4}"), scale("b", "slow"), scale("c", "b")},
                  {"c"});
  EXPECT_EQ(p.steps(), (Names{"a", "slow", "b+c"}));
  const Planned q(
      {scale("a", "source"), {"pick", "{most: 9}", "p", {{"", "a"}}}, scale("b", "p.finds"), scale("c", "b")}, {"c"});
  EXPECT_EQ(q.steps(), (Names{"a", "p", "b+c"})) << "counted items too";
}

/// b exists where both windows do, a where the first does: at the start and at gaps these differ.
TEST(Fuse, EachOutputHasThePositionsThatItHasAlone) {
  const std::vector<StageLine> windows{window("w", "source", "{granule: 4, yield: 4, whole: true}"),
                                       window("v", "source", "{granule: 8, yield: 8, whole: true}")};
  const auto with = [&](std::vector<StageLine> more) {
    std::vector<StageLine> all = windows;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Planned apart(with({scale("a", "w"), mix("b", "a", "v")}), {"a", "b"});
  EXPECT_EQ(apart.steps(), (Names{"w", "v", "a", "b"}));
  const Planned together(with({scale("a", "w"), mix("b", "a", "v"), scale("c", "b")}), {"b", "c"});
  EXPECT_EQ(together.steps(), (Names{"w", "v", "a+b+c"}));
  EXPECT_EQ(together.names(together.step("a+b+c").in), (Names{"w.out", "v.out"}));
  const Planned led(with({scale("a", "v"), mix("b", "w", "a"), scale("c", "b")}), {"c"});
  EXPECT_EQ(led.names(led.step("a+b+c").in), (Names{"w.out", "v.out"})) << "the input with the count comes first";
  const Planned swapped(with({mix("a", "v", "w"), mix("b", "w", "v")}), {"a", "b"});
  EXPECT_EQ(swapped.steps(), (Names{"w", "v", "a", "b"})) << "counted by different inputs";
  const Planned alike({window("w", "source"), window("v", "source"), mix("a", "v", "w"), mix("b", "w", "v")},
                      {"a", "b"});
  EXPECT_EQ(alike.steps(), (Names{"w", "v", "a+b"})) << "these windows have the source's positions";
}

/// a could not be fused with b alone, as w is needed only by b, nor with c alone, as the path leads through b.
TEST(Fuse, AThirdMayMakeOneOfTwo) {
  const Planned p({window("w", "source"), scale("a", "source"), mix("b", "a", "w"), mix("c", "a", "b")}, {"c"});
  EXPECT_EQ(p.steps(), (Names{"w", "a+b+c"}));
}

TEST(Fuse, WhatAKernelTakesIsLimited) {
  std::vector<StageLine> lines{scale("s0", "source")};
  for (int i = 1; i < 60; ++i) lines.push_back(scale(fmt::format("s{}", i), fmt::format("s{}", i - 1)));
  const Planned p(lines, {"s59"});
  EXPECT_EQ(p.steps().size(), 3u) << "24, 24 and 12";
  Names all;
  for (const PlanStep& s : p.plan.steps) all.insert(all.end(), s.parts.begin(), s.parts.end());
  for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(all.at(i), fmt::format("s{}", i));
  const Planned q({scale("a", "source"), scale("b", "a"), scale("c", "b"), scale("d", "c"), scale("e", "d")},
                  {"a", "b", "c", "d", "e"});
  EXPECT_EQ(q.steps(), (Names{"a+b+c+d", "e"})) << "four outputs at most";
}

TEST(Fuse, WhatThePlannerPutInIsPartOfIt) {
  PlanRig rig(kBlock);
  ASSERT_TRUE(rig.add(scale("a", "source"))) << rig.complaints();
  const OutputIndex output = rig.publish("a", "f32");
  const Plan plan = rig.planner.finish(rig.section);
  ASSERT_EQ(plan.steps.size(), 2u) << "this conversion is not declared element-wise";
  EXPECT_EQ(plan.outputs[output].format.port, "a.out");
}

/// A filter that reads one output's past makes the other outputs reach as far back too, so they are copied out.
TEST(Fuse, AllOutputsReachAsFar) {
  const Planned p({scale("a", "source"), scale("b", "a"), window("w", "a", "{past: 9, future: 2}")}, {"b", "w"});
  ASSERT_EQ(p.steps(), (Names{"a+b", "w"}));
  for (const PortIndex out : p.step("a+b").out) {
    EXPECT_EQ(p.plan.ports[out].reach, (Reach{9, 2}));
    EXPECT_EQ(p.plan.ports[out].capacity, kBlock + 11);
  }
  EXPECT_EQ(p.plan.reach(), (Reach{9, 2}));
  EXPECT_FALSE(p.plan.outputs[0].in_place);
}

/// Plans that differ only in live keys have the same layout, so blocks begun under one can continue.
TEST(Fuse, LiveKeysDoNotChangeTheLayout) {
  const auto with = [](const std::string& keys) {
    return Planned({{"scale", keys, "a", {{"", "source"}}}, scale("b", "a")}, {"b"});
  };
  EXPECT_TRUE(same_layout(with("{by: 2}").plan, with("{by: 5}").plan));
}

void expect_same_as_apart(Rig::Options options, const Script& script, const std::string& step) {
  Rig fused(options, {script});
  Names names;
  for (const PlanStep& s : fused.engine->plan().steps) names.push_back(s.name);
  EXPECT_TRUE(std::ranges::find(names, step) != names.end()) << fmt::format("{}", fmt::join(names, " "));
  options.fuse = false;
  Rig apart(options, {script});
  fused.run();
  apart.run();
  for (std::size_t r = 0; r < options.publish.size(); ++r) {
    ASSERT_EQ(fused.records[r].sent.size(), apart.records[r].sent.size());
    ASSERT_FALSE(fused.records[r].sent.empty());
    for (std::size_t i = 0; i < fused.records[r].sent.size(); ++i) {
      EXPECT_EQ(fused.records[r].sent[i].sample, apart.records[r].sent[i].sample);
      EXPECT_EQ(fused.records[r].sent[i].as<Word>(), apart.records[r].sent[i].as<Word>());
    }
  }
}

const Script kHoles{{{.samples = 3000}, {.samples = 700, .chunk = 37, .lost = 9}, {.samples = 33, .lost = 200}}};

TEST(Fuse, BlocksLongerThanAPieceAndRows) {
  Rig::Options o;
  o.block = 2500;
  o.info.channels = 3;
  o.stages = {{"scale", "{by: 3, along: 5}", "a", {{"", "source"}}},
              {"halves", "{}", "h", {{"", "a"}}},
              mix("m", "h.high", "h.low"),
              mix("n", "m", "a"),
              mix("k", "n", "n"),
              scale("z", "k")};
  o.publish = {"z", "h.low"};
  expect_same_as_apart(o, kHoles, "a+h+m+n+k+z");
}

TEST(Fuse, ItemsThatAreCounted) {
  Rig::Options o;
  o.stages = {{"pick", "{divisor: 3, most: 50}", "p", {{"", "source"}}},
              {"scale", "{by: 3, along: 5}", "a", {{"", "p.finds"}}},
              {"scale", "{by: 7, along: 1}", "b", {{"", "a"}}}};
  o.publish = {"a", "b"};
  o.send_empty = true;
  expect_same_as_apart(o, kHoles, "a+b");
  o.devices = {std::make_shared<FakeDevice>()};
  expect_same_as_apart(o, kHoles, "a+b");
}

/// Of two inputs with separate counts, the smaller count holds for everything made from them.
TEST(Fuse, ItemsOfTwoCounts) {
  Rig::Options o;
  o.stages = {{"pick", "{divisor: 3, most: 50}", "p", {{"", "source"}}},
              {"pick", "{divisor: 5, most: 50}", "q", {{"", "source"}}},
              mix("a", "p.finds", "q.finds"),
              {"scale", "{by: 7, along: 1}", "b", {{"", "a"}}}};
  o.publish = {"a", "b"};
  o.send_empty = true;
  expect_same_as_apart(o, kHoles, "a+b");
}

TEST(Fuse, OnePerBlock) {
  Rig::Options o;
  o.stages = {{"total", "{}", "t", {{"", "source"}}}, scale("a", "t"), mix("b", "a", "t")};
  o.publish = {"b"};
  expect_same_as_apart(o, kHoles, "a+b");
}

}  // namespace
}  // namespace iqd::testing
