// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/planner.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/engine_rig.hpp"

namespace iqd::testing {
namespace {

PortShape of(Element element) {
  PortShape s = word_source();
  s.element = element;
  return s;
}

TEST(Planner, ConvertsOnceForAllWhoAsk) {
  PlanRig rig(64, of(Element::sc16));
  ASSERT_TRUE(rig.add({"complex", "{}", "a", {{"", "source"}}}));
  ASSERT_TRUE(rig.add({"complex", "{}", "b", {{"", "source"}}}));
  ASSERT_TRUE(rig.add({"complex", "{}", "c"}));
  const OutputIndex output = rig.publish("source", "cf32");
  const Plan plan = rig.planner.finish(rig.section);
  EXPECT_EQ(rig.complaints(), "");
  ASSERT_EQ(plan.steps.size(), 4u) << "one conversion and three stages";
  EXPECT_EQ(plan.steps[0].entry->name, "convert");
  EXPECT_EQ(plan.steps[1].in, plan.steps[2].in);
  EXPECT_EQ(plan.steps[3].in, plan.steps[2].out) << "the previous stage's output is cf32 already";
  const PortFormat& format = plan.outputs[output].format;
  EXPECT_EQ(format.port, "source") << "the name of what was converted";
  EXPECT_EQ(format.element, Element::cf32);
}

TEST(Planner, InputsAreResolvedAsTheyAreWritten) {
  PlanRig rig(64);
  ASSERT_TRUE(rig.add({"window", "{}", "a"}));
  ASSERT_TRUE(rig.add({"window", "{}", "b"}));
  ASSERT_TRUE(rig.add({"window", "{}", "c", {{"", "a.out"}}}));
  ASSERT_TRUE(rig.add({"window", "{}", "d", {{"in", "b"}}}));
  ASSERT_TRUE(rig.add({"sum", "{}", "e", {{"in0", "source"}, {"in1", "c"}}}));
  const auto& ports = rig.planner.ports();
  const Plan plan = rig.planner.finish(rig.section);
  EXPECT_EQ(rig.complaints(), "");
  const auto input = [&](std::size_t step, std::size_t i) { return plan.ports[plan.steps[step].in[i]].name; };
  EXPECT_EQ(input(0, 0), "source");
  EXPECT_EQ(input(1, 0), "a.out");
  EXPECT_EQ(input(2, 0), "a.out");
  EXPECT_EQ(input(3, 0), "b.out");
  EXPECT_EQ(input(4, 0), "source");
  EXPECT_EQ(input(4, 1), "c.out");
  EXPECT_EQ(&ports, &rig.planner.ports());
}

/// Without `from`, an input takes the nearest earlier output of its own name, else the only output of the stage before.
TEST(Planner, InputTakesTheNearestOutputOfItsOwnName) {
  PlanRig rig(64);
  ASSERT_TRUE(rig.add({"pick", "{}", "far"}));
  ASSERT_TRUE(rig.add({"pick", "{}", "near", {{"", "source"}}}));
  ASSERT_TRUE(rig.add({"total", "{}", "total", {{"", "source"}}}));
  ASSERT_TRUE(rig.add({"use_finds"})) << rig.complaints();
  const Plan plan = rig.planner.finish(rig.section);
  EXPECT_EQ(plan.ports[plan.steps[3].in[0]].name, "near.finds");
}

/// What is optional is connected by name only, and a connection without a name is the required input's.
TEST(Planner, OptionalInputsStayFreeUnlessTheyAreNamed) {
  PlanRig rig(64);
  ASSERT_TRUE(rig.add({"pick", "{}", "first"}));
  ASSERT_TRUE(rig.add({"pick_more", "{}", "free", {{"", "source"}}})) << rig.complaints();
  ASSERT_TRUE(rig.add({"pick_more", "{}", "named", {{"in", "source"}, {"finds", "first.finds"}}})) << rig.complaints();
  const Plan plan = rig.planner.finish(rig.section);
  EXPECT_EQ(rig.complaints(), "");
  EXPECT_EQ(plan.ports[plan.steps[1].in[0]].name, "source");
  EXPECT_EQ(plan.steps[1].in[1], kNoPort);
  EXPECT_EQ(plan.ports[plan.steps[2].in[1]].name, "first.finds");
}

std::string complaint_about(const std::vector<StageLine>& lines, std::int64_t block = 64,
                            PortShape source = word_source()) {
  PlanRig rig(block, std::move(source));
  for (const StageLine& l : lines)
    if (!rig.add(l)) return rig.complaints();
  rig.planner.finish(rig.section);
  return rig.complaints();
}

TEST(Planner, MessagesSayWhatToDo) {
  EXPECT_EQ(complaint_about({{"window"}, {"window", "{}", "b", {{"", "windw.out"}}}}),
            "there is no port 'windw.out' (did you mean 'window.out'?); there are: source, window.out\n");
  EXPECT_EQ(complaint_about({{"window", "{}", "a", {{"", "later.out"}}}, {"window", "{}", "later"}}),
            "there is no port 'later.out'; there are: source\n");
  EXPECT_EQ(complaint_about({{"sum", "{}", "s", {{"in2", "source"}}}}),
            "sum has no input 'in2' (did you mean 'in0'?); it has: in0, in1\n");
  EXPECT_EQ(complaint_about({{"sum", "{}", "s", {{"", "source"}}}}),
            "sum has several inputs: in0, in1; name each, as in `from: {in0: source, in1: …}`\n");
  EXPECT_EQ(complaint_about({{"pick"}, {"window"}}),
            "input 'in' is not connected: stage 'pick' before it has several outputs; say `from: {in: pick.…}`\n");
  EXPECT_EQ(complaint_about({{"window"}}, 64, of(Element::u8)), "input 'in' takes i32 [n], but source gives u8 [n]\n");
  EXPECT_EQ(complaint_about({{"pick_bare", "{most: 5}"}, {"window"}}),
            "input 'in' takes i32 [n], but pick_bare.finds gives i32 [find up to 5]\n");
  EXPECT_EQ(complaint_about({{"total"}, {"window"}}), "input 'in' takes i32 [n], but total.out gives i32\n");
}

TEST(Planner, BlockThatIsTooSmall) {
  EXPECT_EQ(complaint_about({{"window", "{granule: 65, yield: 65, whole: true}", "fft"}}),
            "64 samples are too few: fft takes 65 at once; use a block of at least 65\n");
  EXPECT_EQ(complaint_about({{"window", "{granule: 4}", "slow"}, {"window", "{granule: 32, whole: true}", "fft"}}),
            "64 samples are too few: fft takes 32 at once at a lower rate; use a block of at least 128\n");
  EXPECT_EQ(complaint_about({{"window", "{granule: 4}", "slow"}, {"window", "{granule: 16, whole: true}", "fft"}}), "");
  EXPECT_EQ(complaint_about({{"window", "{granule: 65}", "slow"}}), "") << "a decimator may skip a block";
}

TEST(Planner, ShapesThatNoStageMayReadAreRefused) {
  PortShape shape = word_source();
  shape.rows = {{"channel", 0}};
  EXPECT_EQ(complaint_about({{"window"}}, 64, shape),
            "input 'in' cannot be read: source has 0 of [channel]; at least 1 is required\n");
  shape.rows = {{"channel", std::int64_t{1} << 62}};
  EXPECT_EQ(complaint_about({{"window"}}, 64, shape),
            "input 'in' cannot be read: source has i32 [channel 4611686018427387904][n] with 64 of [n] in a block, "
            "more than 1024 GB\n");
  shape = word_source();
  shape.rate_hz = std::numeric_limits<double>::infinity();
  EXPECT_EQ(complaint_about({{"window"}}, 64, shape), "input 'in' cannot be read: source has inf positions a second\n");
}

TEST(Planner, InputsHaveToGoTogether) {
  EXPECT_EQ(
      complaint_about({{"window", "{granule: 4}", "slow"}, {"sum", "{}", "s", {{"in0", "source"}, {"in1", "slow"}}}}),
      "its inputs must be equally long and have one rate; for 4 of source there are 1 of slow.out\n");
  EXPECT_EQ(complaint_about({{"window", "{granule: 4}", "a", {{"", "source"}}},
                             {"window", "{granule: 2}", "b", {{"", "source"}}},
                             {"window", "{granule: 2}", "c"},
                             {"sum", "{}", "s", {{"in0", "a"}, {"in1", "c"}}}}),
            "");
  PlanRig rig(64, word_source(2));
  rig.planner.add_source("other", word_source(3));
  EXPECT_FALSE(rig.add({"sum", "{}", "s", {{"in0", "source"}, {"in1", "other"}}}));
  EXPECT_EQ(rig.complaints(),
            "its inputs 'in0' and 'in1' have to be alike; they are i32 [channel 2][n] and i32 [channel 3][n]\n");
}

/// Rates, sizes and reaches are products over all stages; none may overflow.
TEST(Planner, ProductsOverManyStagesAreBounded) {
  const std::string odd = "{granule: 67108859, yield: 67108837}";
  EXPECT_EQ(complaint_about({{"window", odd, "a"}, {"window", odd, "b"}}), "");
  EXPECT_EQ(complaint_about({{"window", odd, "a"}, {"window", odd, "b"}, {"window", odd, "c"}}),
            fmt::format("the ratio of its rate to the source's has too large terms; b.out already has {}/{} positions "
                        "a sample\n",
                        std::int64_t{67108837} * 67108837, std::int64_t{67108859} * 67108859));
  EXPECT_EQ(complaint_about({{"window", "{yield: 65536}", "a"}, {"window", "{yield: 65536}", "b"}}),
            "b.out has 274877906944 of [n] in a block; the maximum is 68719476736; use a smaller block\n");
  EXPECT_EQ(complaint_about({{"window", "{past: 40000000000}", "a"}, {"window", "{past: 40000000000}", "b"}}),
            "stages after source read too far around a block: decimate less, or use shorter filters\n");
  EXPECT_EQ(complaint_about({{"window", "{granule: 67108865}"}}),
            "67108865 positions become 1, with 0 before and 0 after: too large to compute with\n");
}

TEST(Planner, UnknownPortsOfPublishAreToldWithAll) {
  PlanRig rig(64);
  ASSERT_TRUE(rig.add({"pick"}));
  EXPECT_EQ(rig.publish("pick"), kNoOutput) << "which of its outputs?";
  EXPECT_EQ(rig.publish("pick.fins"), kNoOutput);
  EXPECT_EQ(rig.complaints(),
            "there is no port 'pick' (did you mean 'pick.finds'?); there are: source, pick.finds, "
            "pick.start\nthere is no port 'pick.fins' (did you mean 'pick.finds'?); there are: source, "
            "pick.finds, pick.start\n");
}

TEST(Planner, OnePortPublishedTwiceIsOneOutput) {
  PlanRig rig(64);
  ASSERT_TRUE(rig.add({"window"}));
  EXPECT_EQ(rig.publish("window"), rig.publish("window.out"));
  EXPECT_NE(rig.publish("window"), rig.publish("window", "f32"));
  EXPECT_EQ(rig.publish("window", "f32"), rig.publish("window", "f32"));
  EXPECT_EQ(rig.publish("window", "i32"), rig.publish("window")) << "it is i32 already";
  EXPECT_EQ(rig.complaints(), "");
}

TEST(Planner, TypesThatNothingConvertsTo) {
  PlanRig rig(64);
  EXPECT_EQ(rig.publish("source", "i64"), kNoOutput);
  EXPECT_EQ(rig.publish("source", "cf32"), kNoOutput);
  EXPECT_EQ(rig.complaints(), "there is no conversion to i64\ncannot be cast\n");
}

TEST(Planner, OutputsLieInPlaceOrAreCopied) {
  PlanRig rig(64);
  ASSERT_TRUE(rig.add({"window", "{}", "a"}));
  ASSERT_TRUE(rig.add({"window", "{past: 3}", "b"}));
  const OutputIndex source = rig.publish("source");
  const OutputIndex a = rig.publish("a");
  const OutputIndex b = rig.publish("b");
  const Plan plan = rig.planner.finish(rig.section);
  EXPECT_FALSE(plan.outputs[source].in_place) << "the ring is not the slot";
  EXPECT_FALSE(plan.outputs[a].in_place) << "b reads further back than what is new";
  EXPECT_TRUE(plan.outputs[b].in_place);
  for (const PlanOutput& o : plan.outputs) {
    EXPECT_EQ(o.offset % 128, 0u);
    EXPECT_LE(o.offset + 64 * sizeof(Word), plan.slot_bytes);
  }
}

TEST(Planner, AFrequencyIsNoMatterOfLayout) {
  const auto plan_at = [](double frequency_hz, double span_hz, double rate_hz = 1e6) {
    PortShape source = word_source(1, rate_hz);
    source.frequency_hz = frequency_hz;
    source.span_hz = span_hz;
    PlanRig rig(64, source);
    EXPECT_TRUE(rig.add({"window"}));
    rig.publish("window");
    return rig.planner.finish(rig.section);
  };
  const Plan plan = plan_at(100e6, 5e5);
  EXPECT_EQ(plan.outputs[0].format.frequency_hz, 100e6);
  EXPECT_EQ(plan.outputs[0].format.span_hz, 5e5);
  EXPECT_TRUE(same_layout(plan, plan_at(101e6, 4e5)));
  EXPECT_FALSE(same_layout(plan, plan_at(100e6, 5e5, 2e6)));
}

TEST(Planner, FormatsTellWhatReadersNeed) {
  PlanRig rig(64, word_source(3, 2e6));
  ASSERT_TRUE(rig.add({"window", "{granule: 4}", "slow"}));
  ASSERT_TRUE(rig.add({"pick", "{most: 9}"}));
  ASSERT_TRUE(rig.add({"total", "{}", "total", {{"", "slow"}}}));
  const OutputIndex slow = rig.publish("slow"), finds = rig.publish("pick.finds"), total = rig.publish("total");
  const Plan plan = rig.planner.finish(rig.section);
  EXPECT_EQ(plan.outputs[slow].format.port, "slow.out");
  EXPECT_EQ(to_string(plan.outputs[slow].format.dims), "[channel 3][n 16]");
  EXPECT_EQ(plan.outputs[slow].format.varying, 1);
  EXPECT_EQ(plan.outputs[slow].format.rate_hz, 2e6);
  EXPECT_EQ(plan.outputs[slow].format.item_rate_hz, 5e5);
  EXPECT_EQ(to_string(plan.outputs[finds].format.dims), "[channel 3][find 9]");
  EXPECT_EQ(plan.outputs[finds].format.item_rate_hz, 0);
  EXPECT_EQ(to_string(plan.outputs[total].format.dims), "[channel 3]");
  EXPECT_EQ(plan.outputs[total].format.varying, -1);
}

}  // namespace
}  // namespace iqd::testing
