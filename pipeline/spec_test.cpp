// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec.hpp"

#include <gtest/gtest.h>

#include "config/document.hpp"
#include "tests/support/test_catalogue.hpp"

namespace iqd::testing {
namespace {

/// A file that is right. Its sections keep the problems that they report to.
struct File {
  explicit File(const std::string& text) {
    const Document document = parse_document(text, "x.yaml", problems);
    spec = read_spec(document, test_catalogue(), problems);
    for (const Problem& p : problems) ADD_FAILURE() << p.text();
  }
  const PipelineSpec& first() const { return spec.pipelines.at(0); }
  std::vector<Plan> plans() {
    std::vector<Plan> made = check_spec(spec, test_catalogue(), problems);
    for (const Problem& p : problems) ADD_FAILURE() << p.text();
    return made;
  }
  Problems problems;
  Spec spec;
};

constexpr const char* kWhole = R"(name: lab
source: {tape: {rate: 20.625 MS/s, channels: 2}}
block: 4096
lanes: 3
backend: cpu
overrun: wait
realtime: {priority: 20, cpus: [1, 2], hang: 3 s}
stages:
  - window: {past: 3, name: smooth}
  - sum: {from: {in0: smooth, in1: source}}
  - gate:
publish:
  - {port: sum.out, topic: a, bind: "x", dtype: f32, empty: send}
sinks:
  - {port: gate, drain: {path: there}}
monitor: {listen: "127.0.0.1:9464"}
)";

TEST(Spec, WholeFile) {
  const File file(kWhole);
  const Spec& spec = file.spec;
  ASSERT_EQ(spec.pipelines.size(), 1u);
  const PipelineSpec& p = spec.pipelines[0];
  EXPECT_EQ(spec.listen, "127.0.0.1:9464");
  EXPECT_EQ(p.name, "lab");
  EXPECT_EQ(p.driver->name, "tape");
  EXPECT_EQ(p.block, 4096);
  EXPECT_EQ(p.lanes, 3);
  EXPECT_EQ(p.overrun, Overrun::wait);
  EXPECT_EQ(p.realtime.priority, 20);
  EXPECT_EQ(p.realtime.cpus, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(p.realtime.hang_s, 3);
  ASSERT_EQ(p.stages.size(), 3u);
  EXPECT_EQ(p.stages[0].name, "smooth");
  EXPECT_EQ(p.stages[1].name, "sum");
  EXPECT_EQ(p.stages[1].from, (Connections{{"in0", "smooth"}, {"in1", "source"}}));
  EXPECT_EQ(p.stages[2].entry->name, "gate");
  ASSERT_EQ(p.publish.size(), 1u);
  EXPECT_EQ(p.publish[0].dtype, "f32");
  EXPECT_TRUE(p.publish[0].send_empty);
  ASSERT_EQ(p.sinks.size(), 1u);
  EXPECT_EQ(p.sinks[0].port, "gate");
  EXPECT_EQ(problems_of(kWhole), "");
}

TEST(Spec, DefaultsAreThoseOfTheDocumentation) {
  File file("source: {tape: {}}\n");
  const Spec& spec = file.spec;
  const PipelineSpec& p = file.first();
  EXPECT_EQ(p.name, "iqd");
  EXPECT_EQ(p.block, 65536);
  EXPECT_EQ(p.backend, std::vector<std::string>{"auto"});
  EXPECT_FALSE(p.overrun.has_value());
  EXPECT_EQ(spec.listen, "");
}

/// A stage of a spec is made anew each time, with its keys.
TEST(Spec, StagesAreMadeWithTheirKeys) {
  File file("source: {tape: {}}\nblock: 64\nstages:\n  - window: {past: 7, granule: 2}\n");
  for (int i = 0; i < 2; ++i) {
    Problems problems;
    std::vector<int> outputs;
    const Plan plan =
        make_plan(file.first(), {.element = Element::i32, .rate_hz = 1}, test_catalogue(), {}, outputs, problems);
    EXPECT_TRUE(problems.empty());
    EXPECT_EQ(plan.steps.at(0).footprint[0].past, 7);
    EXPECT_EQ(plan.ports.at(1).rate.den, 2);
  }
}

TEST(Spec, SeveralPipelines) {
  File file(R"(pipelines:
  - {name: a, source: {tape: {}}}
  - {name: b, source: {radio: {rate: 2 MS/s}}}
monitor: {listen: "127.0.0.1:1"}
)");
  const Spec& spec = file.spec;
  ASSERT_EQ(spec.pipelines.size(), 2u);
  EXPECT_EQ(spec.pipelines[1].name, "b");
  EXPECT_EQ(spec.listen, "127.0.0.1:1");
}

TEST(Sizing, FitsTheRingToWhatIsAtWork) {
  File file(
      "source: {tape: {}}\nblock: 1000\nlanes: 2\nstages:\n  - window: {past: 100, future: 10}\n"
      "publish:\n  - {port: window, topic: a, bind: x}\n");
  const std::vector<Plan> plans = file.plans();
  ASSERT_EQ(plans.size(), 1u);
  StreamInfo stream{.element = Element::i32, .rate_hz = 1e6, .can_wait = true};
  const Sizing tape = size_up(file.first(), plans[0], stream);
  EXPECT_EQ(tape.engine.lanes, 2);
  EXPECT_EQ(tape.engine.ring_samples, 128 + 10 + 4 * 1000) << "past in whole 128 bytes, future, lanes and two more";
  EXPECT_EQ(tape.engine.slots, 32);
  EXPECT_EQ(tape.slot_bytes, plans[0].slot_bytes * 32);
  EXPECT_EQ(tape.arena_bytes, plans[0].arena_bytes[0] * 2);
  stream.can_wait = false;
  EXPECT_EQ(size_up(file.first(), plans[0], stream).engine.ring_samples, 100'000) << "a tenth of a second";
  stream.rate_hz = 1e9;
  EXPECT_EQ(size_up(file.first(), plans[0], stream).engine.ring_samples, 8 << 20) << "32 MiB at most";
}

TEST(Sizing, LargeResultsGetFewerSlots) {
  File file("source: {tape: {}}\nblock: 4194304\nlanes: 3\npublish:\n  - {port: source, topic: a, bind: x}\n");
  const std::vector<Plan> plans = file.plans();
  const Sizing s = size_up(file.first(), plans.at(0), {.element = Element::i32, .rate_hz = 1e6});
  EXPECT_EQ(s.engine.slots, 7) << "lanes and four more";
}

TEST(Sizing, SaysWhatDoesNotFit) {
  File file("source: {tape: {}}\nblock: 1000000\nlanes: 2\npublish:\n  - {port: source, topic: a, bind: x}\n");
  Problems problems;
  PipelineSpec& spec = file.spec.pipelines.at(0);
  spec.section = Section("", {"x.yaml", 1, 1}, problems);
  Sizing sizing;
  sizing.engine.lanes = 2;
  sizing.ring_bytes = 16'000'000, sizing.arena_bytes = 8'000'000, sizing.slot_bytes = 24'000'000;
  check_memory(spec, sizing, {48'000'000, 64'000'000});
  EXPECT_TRUE(problems.empty()) << "fits exactly";
  check_memory(spec, sizing, {47'000'000, 64'000'000});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(
      problems[0].what,
      "blocks of 1000000 samples and 2 lanes need 48 MB (ring 16, lanes 8, results 24), but 47 MB are free; use a "
      "smaller block or fewer lanes");
}

}  // namespace
}  // namespace iqd::testing
