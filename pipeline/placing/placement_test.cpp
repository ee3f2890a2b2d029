// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Which stages of a file `backend: auto` places where, and what it says about it.
#include "pipeline/placing/placement.hpp"

#include <gtest/gtest.h>

#include "pipeline/auto_place.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "tests/support/test_catalogue.hpp"

namespace iqd::testing {
namespace {

const StreamInfo kStream{.element = Element::i32, .rate_hz = 1e6};

/// A file with `backend: auto`, and times of its stages.
struct PlacedFile {
  explicit PlacedFile(const std::string& lines) {
    spec = read_spec(parse_document("source: {tape: {}}\nblock: 64\n" + lines, "x.yaml", problems), test_catalogue(),
                     problems);
    for (const Problem& p : problems) ADD_FAILURE() << p.text();
    device->limits = {.in = 1 << 20, .out = 1 << 20};
    chosen.backends = {make_cpu_backend(), {device}};
    chosen.names = "cuda:0";
    for (const Wait wait : {Wait::spin, Wait::block}) host[block_name(wait)] = 0, on_device[block_name(wait)] = 10;
    for (const std::size_t bytes : {4, 1 << 20})
      for (const char* way : {"to_device", "to_host"}) on_device[crossing_name(way, bytes)] = 5;
  }
  PipelineSpec& first() { return spec.pipelines.at(0); }
  /// Stores times of a stage.
  PlacedFile& time(const std::string& stage, double host_us, double device_us) {
    const std::optional<Plan> plan = plan_to_place(first(), stream, test_catalogue());
    for (const PlanStepGroup& group : groups_of(*plan, first()))
      if (group.name() == stage) {
        host[time_name(*plan, group, first())] = host_us;
        on_device[time_name(*plan, group, first())] = device_us;
        return *this;
      }
    ADD_FAILURE() << "no stage " << stage;
    return *this;
  }
  std::optional<Placement> place(const Plan* running = nullptr) {
    return place_stages(first(), stream, test_catalogue(), chosen, running,
                        KnownTimes({host, false}, {on_device, is_stale}));
  }
  /// `a:cpu b:cuda`
  std::string places() {
    std::string text;
    for (const StageSpec& stage : first().stages) text += (text.empty() ? "" : " ") + stage.name + ':' + stage.placed;
    return text;
  }
  std::string reason(const std::string& stage, const Placement& placement) {
    for (const Placement::Part& part : placement.parts)
      if (part.group.name() == stage) return placement.reason(part);
    return "no such stage";
  }
  Plan plan() {
    std::vector<OutputIndex> outputs;
    return make_plan(first(), stream, test_catalogue(), target_of(first(), chosen.backends), outputs, problems);
  }

  Problems problems;
  Spec spec;
  StreamInfo stream = kStream;
  std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();
  ChosenBackends chosen;
  Times host, on_device;
  bool is_stale = false;
};

const std::string kTwo =
    "stages:\n  - window: {name: a}\n  - window: {name: b, past: 1}\npublish:\n  - {port: b, topic: t, bind: x}\n";

/// With `x`, and `r`, which has a state, each with a backend or none.
std::string with_state(const std::string& x, const std::string& r) {
  return "stages:\n  - window: {name: x" + x + "}\n  - running: {name: r" + r +
         "}\npublish:\n  - {port: r, topic: t, bind: x}\n";
}

TEST(Placement, TheQuickestPlaceCrossingsIncluded) {
  const auto places = [](double host_us, double device_us) {
    PlacedFile file(kTwo);
    file.time("a", host_us, device_us).time("b", host_us, device_us).place();
    return file.places();
  };
  EXPECT_EQ(places(10, 1), "a:cpu b:cpu") << "20 against 2 and 20 of launch and crossings";
  EXPECT_EQ(places(12, 1), "a:cuda b:cuda");
}

TEST(Placement, OneStageOnEachSide) {
  PlacedFile file(kTwo);
  const std::optional<Placement> placement = file.time("a", 100, 1).time("b", 1, 100).place();
  ASSERT_TRUE(placement);
  EXPECT_EQ(file.places(), "a:cuda b:cpu");
  EXPECT_EQ(placement->us, 1 + 10 + 5 + 5 + 1);
  EXPECT_EQ(placement->host_us, 101);
  EXPECT_EQ(placement->device_us, 101 + 10 + 5 + 5);
  EXPECT_EQ(file.reason("a", *placement), "measured 1.00 us; cpu would take 100 us, with 20.0 us less of crossing");
  EXPECT_EQ(file.reason("b", *placement), "measured 1.00 us; cuda:0 would take 100 us and 0.00 us of crossing");
  EXPECT_EQ(file.chosen.reason,
            "by measured times a block takes 22.0 us; it would take 101 us on cpu and 121 us on cuda:0");
  const Plan plan = file.plan();
  EXPECT_TRUE(plan.mixed());
  EXPECT_EQ(plan.steps.front().side, Side::device);
  EXPECT_EQ(plan.steps.back().side, Side::host);
  EXPECT_EQ(file.problems.size(), 0u);
}

TEST(Placement, ADeviceThatNothingUsesIsLetGo) {
  PlacedFile file(kTwo);
  file.time("a", 1, 1).time("b", 1, 1).place();
  EXPECT_TRUE(file.chosen.backends.devices.empty());
  EXPECT_TRUE(file.chosen.left_device);
  EXPECT_EQ(file.chosen.names, "cpu");
  EXPECT_EQ(file.device.use_count(), 1);
  EXPECT_FALSE(file.plan().uses(Side::device));
}

TEST(Placement, WithoutTimesTheDevice) {
  PlacedFile file(kTwo);
  const std::optional<Placement> placement = file.place();
  ASSERT_TRUE(placement);
  EXPECT_EQ(file.places(), "a:cuda b:cuda");
  EXPECT_EQ(file.reason("a", *placement), "neither measured nor in the built-in table");
  EXPECT_FALSE(file.plan().uses(Side::host));
  file.time("a", 1, 1000).place();
  EXPECT_EQ(file.places(), "a:cpu b:cuda") << "what is known counts";
}

TEST(Placement, WhatTheFileSaysStays) {
  PlacedFile file(
      "stages:\n  - window: {name: a, backend: cpu}\n  - window: {name: b, past: 1, backend: cuda}\n  - window: {name: "
      "c, past: 2}\n"
      "publish:\n  - {port: c, topic: t, bind: x}\n");
  const std::optional<Placement> placement = file.time("a", 100, 1).time("b", 1, 100).time("c", 7, 1).place();
  ASSERT_TRUE(placement);
  EXPECT_EQ(file.places(), "a: b: c:cuda");
  EXPECT_EQ(file.reason("a", *placement),
            "as the file says, measured 100 us; cuda:0 would take 1.00 us and 0.00 us of crossing");
  const Plan plan = file.plan();
  const auto side = [&](std::string_view name) { return std::ranges::find(plan.steps, name, &PlanStep::name)->side; };
  EXPECT_EQ(side("a"), Side::host);
  EXPECT_EQ(side("b"), Side::device);
  EXPECT_EQ(side("c"), Side::device);
}

TEST(Placement, OtherBackendsAreNotPlaced) {
  for (const char* lines : {"backend: cpu\n", "backend: cuda\n", "gpu: {share: 16 SM}\n"}) {
    PlacedFile file(lines + kTwo);
    file.time("a", 1, 1000).time("b", 1, 1000);
    EXPECT_FALSE(file.place()) << lines;
    EXPECT_EQ(file.places(), "a: b:") << lines;
    EXPECT_EQ(file.chosen.backends.devices.size(), 1u) << lines;
  }
  PlacedFile file(kTwo);
  file.chosen.backends.devices.clear();
  EXPECT_FALSE(file.place()) << "there is no device";
}

TEST(Placement, WhyAPipelineIsNotPlaced) {
  const auto why = [](const std::string& lines) { return why_not_placed(PlacedFile(lines).first()); };
  EXPECT_EQ(why(kTwo), "");
  EXPECT_EQ(why(with_state(", backend: cuda", "")), "");
  EXPECT_EQ(why("backend: cpu\n" + kTwo), "the file says which backend it uses");
  EXPECT_EQ(why("gpu: {share: 16 SM}\n" + kTwo), "it has a part of the GPU for itself");
  EXPECT_EQ(why(with_state(", backend: 'cuda:0'", ", backend: 'cuda:1'")), "its stages are on several devices");
}

TEST(Placement, ATaskKnowsHowLongABlockLasts) {
  PlacedFile file("lanes: 1\n" + kTwo);
  const std::optional<Plan> plan = plan_to_place(file.first(), kStream, test_catalogue());
  const KnownTimes times;
  const PlacingTask task = placing_task(file.first(), kStream, *plan, times, "cuda:0");
  EXPECT_EQ(task.block_s, 64 / 1e6);
  EXPECT_EQ(task.host_lanes, 1);
}

TEST(Placement, ADeviceRelievesACpuThatIsTooSlow) {
  PlacedFile file("lanes: 1\n" + kTwo);  // a block lasts 64 us
  const std::optional<Placement> placement = file.time("a", 70, 65).time("b", 5, 70).place();
  ASSERT_TRUE(placement);
  EXPECT_TRUE(placement->relieves);
  EXPECT_EQ(file.places(), "a:cuda b:cuda") << "75 us would be quicker than 155, but too slow";
  EXPECT_NE(placement->summary().find("the CPU could not keep up"), std::string::npos);
}

TEST(Placement, AStateStaysWhereItIs) {
  const std::string lines = "stages:\n  - running: {name: r}\npublish:\n  - {port: r, topic: t, bind: x}\n";
  PlacedFile running(lines);
  running.time("r", 1, 100).place();
  EXPECT_EQ(running.places(), "r:cpu");
  const Plan now = running.plan();
  PlacedFile next(lines);
  const std::optional<Placement> placement = next.time("r", 100, 1).place(&now);
  EXPECT_EQ(next.places(), "r:cpu");
  EXPECT_EQ(next.reason("r", *placement).find("continues with its state where it is"), 0u);
  next.chosen.backends.devices = {next.device};
  next.place();
  EXPECT_EQ(next.places(), "r:cuda") << "a new one";
  PlacedFile kept(lines);
  keep_places(running.first(), kept.first());
  EXPECT_EQ(kept.places(), "r:cpu");
}

TEST(Placement, TheFileMayMoveAState) {
  PlacedFile running(with_state(", backend: cuda", ""));
  running.time("x", 1, 1).time("r", 1, 100).place();
  EXPECT_EQ(running.places(), "x: r:cpu");
  const Plan now = running.plan();
  PlacedFile next(with_state("", ", backend: cuda"));
  const std::optional<Placement> placement = next.time("x", 1, 100).time("r", 1, 100).place(&now);
  EXPECT_EQ(next.places(), "x:cpu r:");
  EXPECT_EQ(next.reason("r", *placement).find("as the file says"), 0u);
  EXPECT_EQ(next.chosen.backends.devices.size(), 1u) << "r runs there";
  Plan plan = next.plan();
  EXPECT_TRUE(plan.uses(Side::device));
  plan.prepare(*next.chosen.backends.host, next.chosen.backends.devices);
}

TEST(Placement, AStateStaysWhereTheFileHadPutIt) {
  PlacedFile running(with_state(", backend: cuda", ", backend: cuda"));
  running.time("x", 1, 1).time("r", 1, 1).place();
  const Plan now = running.plan();
  PlacedFile next(with_state(", backend: cuda", ""));
  const std::optional<Placement> placement = next.time("x", 1, 1).time("r", 1, 100).place(&now);
  EXPECT_EQ(next.places(), "x: r:cuda");
  EXPECT_EQ(next.reason("r", *placement).find("continues with its state where it is"), 0u);
}

TEST(Placement, WhatDoesNotContinueMayMove) {
  const auto lines = [](const std::string& keys) {
    return "stages:\n  - running: {name: r" + keys + "}\npublish:\n  - {port: r, topic: t, bind: x}\n";
  };
  PlacedFile running(lines(""));
  running.time("r", 1, 100).place();
  EXPECT_EQ(running.places(), "r:cpu");
  const Plan now = running.plan();
  const auto places = [&](const std::string& keys, int channels) {
    PlacedFile next(lines(keys));
    next.stream.channels = channels;
    next.time("r", 100, 1).place(&now);
    return next.places();
  };
  EXPECT_EQ(places("", 1), "r:cpu");
  EXPECT_EQ(places(", start: 5", 1), "r:cuda") << "another key: its state does not continue";
  EXPECT_EQ(places("", 2), "r:cuda") << "another size of its state";
}

TEST(Placement, FusedStagesArePlacedTogether) {
  PlacedFile file("stages:\n  - scale: {name: a}\n  - scale: {name: b}\npublish:\n  - {port: b, topic: t, bind: x}\n");
  file.time("a+b", 1, 1).place();
  EXPECT_EQ(file.places(), "a:cpu b:cpu");
}

TEST(Placement, StaleTimesAreMentioned) {
  PlacedFile file(kTwo);
  file.is_stale = true;
  EXPECT_NE(file.place()->summary().find("belongs to another driver or build"), std::string::npos);
}

TEST(Placement, TimesOfAnotherWaitAreEstimates) {
  PlacedFile file(kTwo);
  file.time("a", 1, 1).time("b", 1, 1);
  EXPECT_EQ(file.place()->summary().find("by measured times"), 0u);
  PlacedFile other("wait: spin\n" + kTwo);
  other.time("a", 1, 1).time("b", 1, 1);
  other.on_device.erase(block_name(Wait::spin));
  EXPECT_EQ(other.place()->summary().find("by estimated times"), 0u);
}

TEST(Placement, ATimeOfOneSideCounts) {
  PlacedFile file(kTwo);
  file.time("a", 1, 1).time("b", 1, 1);
  const std::optional<Plan> plan = plan_to_place(file.first(), kStream, test_catalogue());
  file.on_device.erase(time_name(*plan, groups_of(*plan, file.first()).front(), file.first()));
  const std::optional<Placement> placement = file.place();
  EXPECT_EQ(file.places(), "a:cuda b:cuda");
  EXPECT_EQ(file.reason("a", *placement), "measured on one side, and not in the built-in table");
  PlacedFile known("stages:\n  - convert: {name: c, dtype: f32}\npublish:\n  - {port: c, topic: t, bind: x}\n");
  known.time("c", 7, 1).on_device.clear();
  const std::optional<Placement> by_both = known.place();
  EXPECT_EQ(known.places(), "c:cpu");
  EXPECT_EQ(known.reason("c", *by_both).find("measured 7.00 us; cuda:0 would take estimated "), 0u);
  EXPECT_EQ(by_both->summary().find("by estimated times"), 0u);
}

TEST(Placement, ATimeBelongsToKeysShapeAndBlock) {
  const auto name_with = [](const std::string& window, const StreamInfo& stream, const std::string& lines = "") {
    PlacedFile file(lines + "stages:\n  - window: " + window + "\npublish:\n  - {port: a, topic: t, bind: x}\n");
    const std::optional<Plan> plan = plan_to_place(file.first(), stream, test_catalogue());
    return time_name(*plan, groups_of(*plan, file.first()).front(), file.first());
  };
  const std::string name = name_with("{name: a}", kStream);
  EXPECT_EQ(name.find("window-64-"), 0u) << name;
  EXPECT_EQ(name_with("{name: a}", {.element = Element::i32, .rate_hz = 2e6}), name) << "the rate does not count";
  EXPECT_NE(name_with("{name: a, past: 3}", kStream), name);
  EXPECT_NE(name_with("{name: a}", kStream, "transfer: copy\n"), name);
  EXPECT_EQ(name_with("{name: a}", kStream, "wait: spin\n"), name)
      << "the times of whole blocks have it in their names";
  EXPECT_NE(name_with("{name: a}", {.element = Element::i32, .channels = 2, .rate_hz = 1e6}), name);
}

TEST(Placement, TimesOfCopiesAreInterpolated) {
  const KnownTimes times({}, {{{"to_device-1000", 2}, {"to_device-3000", 6}, {"to_host-1000", 4}}, false});
  EXPECT_EQ(times.to_device_us(10), 2);
  EXPECT_EQ(times.to_device_us(2000), 4);
  EXPECT_EQ(times.to_device_us(5000), 10);
  EXPECT_EQ(times.to_host_us(2000), 8);
  EXPECT_GT(KnownTimes().to_host_us(1 << 20), 0) << "an estimate";
  EXPECT_GT(KnownTimes().device_block_us(Wait::block), KnownTimes().device_block_us(Wait::spin));
}

TEST(Placement, Estimates) {
  EXPECT_EQ(estimated("no such stage", 8192, 0).host_from, TimeFrom::nothing);
  const BothTimes fir = estimated("fir", 8192, 64);
  EXPECT_EQ(fir.host_from, TimeFrom::estimate);
  EXPECT_EQ(fir.device_from, TimeFrom::estimate);
  EXPECT_GT(*fir.host_us, *fir.device_us);
  EXPECT_NEAR(*estimated("fir", 4096, 64).host_us, *fir.host_us / 2, 1e-9);
  EXPECT_EQ(*estimated("fir", 4096, 64).device_us, *fir.device_us) << "a launch";
  EXPECT_NEAR(*estimated("fir", 8192, 129).host_us, *fir.host_us * 2, 1e-9) << "twice the taps";
  EXPECT_GT(*estimated("fir", 1 << 22, 64).host_us, 3 * *estimated("fir", 1 << 20, 64).host_us);
}

}  // namespace
}  // namespace iqd::testing
