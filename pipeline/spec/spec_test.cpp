// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec.hpp"

#include <gtest/gtest.h>

#include "config/document.hpp"
#include "pipeline/spec_plan.hpp"
#include "tests/support/test_catalogue.hpp"

namespace iqd::testing {
namespace {

/// A correct file. Its sections refer to the problems that they report to.
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
  EXPECT_EQ(routes_of(p), (std::vector<RouteSpec>{&p.publish[0], &p.sinks[0]}));
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

/// A spec makes a new stage with its keys on each call.
TEST(Spec, StagesAreMadeWithTheirKeys) {
  File file("source: {tape: {}}\nblock: 64\nstages:\n  - window: {past: 7, granule: 2}\n");
  for (int i = 0; i < 2; ++i) {
    Problems problems;
    std::vector<OutputIndex> outputs;
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

}  // namespace
}  // namespace iqd::testing
