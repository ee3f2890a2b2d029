// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The problems of a file, as the operator reads them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_catalogue.hpp"

namespace iqd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A correct file plus the given lines.
std::string with(const std::string& lines) {
  return "source: {tape: {}}\nblock: 64\n" + lines;
}

TEST(SpecProblems, ManyAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(problems_of(R"(nam: lab
source: {tap: {}}
block: many
overrun: sometimes
stages:
  - windw: {past: 3}
  - window: {pst: 3}
  - {window: {}, gate: {}}
  - window: {past: 1}
  - 5
publish:
  - {port: window.out, topic: a, bind: x, dtype: f33}
  - {topic: b}
sinks:
  - {port: window.out, drein: {}}
)"),
            "x.yaml:1:1 nam: unknown key (did you mean 'name'?)\n"
            "x.yaml:2:10 source.tap: this build has no such source (did you mean 'tape'?); it has tape, radio\n"
            "x.yaml:3:1 block: 'many' is not a number\n"
            "x.yaml:4:1 overrun: 'sometimes' is not one of auto, drop, wait\n"
            "x.yaml:6:5 stages[0].windw: unknown stage (did you mean 'window'?); `iqd stages` lists all\n"
            "x.yaml:7:14 stages[1].window.pst: unknown key (did you mean 'past'?)\n"
            "x.yaml:8:5 stages[2]: expected one key, the name of a stage, found 2 keys\n"
            "x.yaml:9:13 stages[3].window: there is already a 'window': give this one its own `name:`\n"
            "x.yaml:10:5 stages[4]: expected one key, the name of a stage, found '5'\n"
            "x.yaml:12:43 publish[0].dtype: 'f33' is not an element type: sc16 cf32 f32 f16 i32 i16 i8 u8\n"
            "x.yaml:13:5 publish[1].port: is required\n"
            "x.yaml:13:5 publish[1]: needs a `bind:`\n"
            "x.yaml:15:24 sinks[0].drein: is neither `port` nor a sink of this build (did you mean 'drain'?); it has "
            "drain\n");
}

TEST(SpecProblems, Sources) {
  EXPECT_EQ(problems_of("block: 64\n"), "x.yaml:1:1 source: is required: one of tape, radio\n");
  EXPECT_EQ(problems_of("source: {tape: {}, radio: {}}\n"),
            "x.yaml:1:9 source: expected one key, the name of a driver, found 2 keys\n");
  EXPECT_EQ(problems_of("source: {drain: {path: x}}\n"),
            "x.yaml:1:10 source.drain: this build has no such source; it has tape, radio\n");
  EXPECT_EQ(problems_of("source: {tape: {rate: 13}}\n"), "x.yaml:1:17 source.tape.rate: brings bad luck\n");
  EXPECT_EQ(problems_of("source: {tape: }\n"), "") << "a driver needs no keys";
}

TEST(SpecProblems, Overrun) {
  EXPECT_EQ(problems_of("source: {radio: {}}\noverrun: wait\n"),
            "x.yaml:2:1 overrun: a radio cannot wait: `wait` is for file, zmq, generate and recall\n");
  EXPECT_EQ(problems_of("source: {radio: {}}\noverrun: drop\n"), "");
  EXPECT_EQ(problems_of("source: {tape: {}}\noverrun: drop\n"), "");
}

TEST(SpecProblems, Stages) {
  EXPECT_EQ(problems_of(with("stages: {window: {}}\n")), "x.yaml:3:9 stages: expected a list, found a map\n");
  EXPECT_EQ(problems_of(with("stages:\n  - window: {name: a.b}\n")),
            "x.yaml:4:14 stages[0].window.name: 'a.b' cannot be a name: letters, digits, - and _ only, and not "
            "'source'\n");
  EXPECT_EQ(problems_of(with("stages:\n  - window: {name: source}\n")),
            "x.yaml:4:14 stages[0].window.name: 'source' cannot be a name: letters, digits, - and _ only, and not "
            "'source'\n");
  EXPECT_EQ(problems_of(with("stages:\n  - window: {name: a}\n  - gate: {name: a}\n")),
            "x.yaml:5:12 stages[1].gate.name: there is already a 'a': give this one its own `name:`\n");
  EXPECT_EQ(problems_of(with("stages:\n  - window: {backend: gpu}\n")),
            "x.yaml:4:14 stages[0].window.backend: 'gpu' is not one of auto, cpu, cuda, cuda:N\n");
  EXPECT_EQ(problems_of(with("stages:\n  - sum: {from: {in0: [source]}}\n")),
            "x.yaml:4:23 stages[0].sum.from.in0: expected stage.output, found a list\n");
  EXPECT_EQ(problems_of(with("stages:\n  - window: {from: [source]}\n")),
            "x.yaml:4:20 stages[0].window.from: expected stage.output or {input: stage.output}, found a list\n");
  EXPECT_EQ(problems_of(with("stages:\n  - gate: {from: sorce}\n")),
            "x.yaml:4:12 stages[0].gate.from: there is no port 'sorce' (did you mean 'source'?); there are: source\n");
  EXPECT_EQ(problems_of(with("stages:\n  - window: {granule: 65, whole: true}\n")),
            "x.yaml:2:1 block: 64 samples are too few: window takes 65 at once; use a block of at least 65\n");
}

TEST(SpecProblems, PublishAndSinks) {
  EXPECT_EQ(problems_of(with("publish: [x]\n")), "x.yaml:3:11 publish[0]: expected a map of keys, found 'x'\n");
  EXPECT_EQ(problems_of(with("publish:\n  - {port: source, topic: a}\n")), "x.yaml:4:5 publish[0]: needs a `bind:`\n");
  EXPECT_EQ(problems_of(with("publish:\n  - {port: sorce, topic: a, bind: x}\n")),
            "x.yaml:4:6 publish[0].port: there is no port 'sorce' (did you mean 'source'?); there are: source\n");
  EXPECT_EQ(problems_of(with("publish:\n  - {port: source, topic: a, bind: x, dtype: cf32}\n")),
            "x.yaml:4:39 publish[0].dtype: cannot be cast\n");
  EXPECT_EQ(problems_of(with("publish:\n  - {port: source, topic: a, bind: x, dtype: i64}\n")),
            "x.yaml:4:39 publish[0].dtype: there is no conversion to i64\n");
  EXPECT_EQ(problems_of(with("sinks:\n  - {drain: {path: x}}\n")),
            "x.yaml:4:13 sinks[0].drain: needs `port: stage.output`\n");
  EXPECT_EQ(problems_of(with("sinks:\n  - {port: source}\n")), "x.yaml:4:5 sinks[0]: needs a sink: one of drain\n");
  EXPECT_EQ(problems_of(with("sinks:\n  - {port: source, drain: {}}\n")),
            "x.yaml:4:27 sinks[0].drain.path: is required\n");
  EXPECT_EQ(problems_of(with("sinks:\n  - {port: source, drain: {path: x}}\n")), "");
}

TEST(SpecProblems, ValuesThatAreOutOfRange) {
  EXPECT_EQ(problems_of("source: {tape: {}}\nblock: 0\nlanes: 33\n"),
            "x.yaml:2:1 block: must be between 1 and 268435456, is 0\n"
            "x.yaml:3:1 lanes: must be between 0 and 32, is 33\n");
  EXPECT_EQ(problems_of("source: {tape: {}}\nbackend: cuda:x\n"),
            "x.yaml:2:1 backend: 'cuda:x' is not one of auto, cpu, cuda, cuda:N\n");
}

TEST(SpecProblems, NumbersThatNoMachineHas) {
  const auto window = [](const std::string& keys) {
    return problems_of(with("stages:\n" + keys + "publish:\n  - {port: source, topic: a, bind: x}\n"));
  };
  const std::string huge = "4611686018427387904";
  for (const std::string key : {"granule: ", "yield: ", "past: ", "future: "})
    EXPECT_THAT(window("  - window: {" + key + huge + "}\n"),
                AllOf(HasSubstr("x.yaml:4:13 stages[0].window: "), HasSubstr("too large to compute with")))
        << key;
  EXPECT_THAT(window("  - window: {name: a, granule: 67108859}\n  - window: {name: b, granule: 67108837}\n"
                     "  - window: {name: c, granule: 67108819}\n"),
              HasSubstr("x.yaml:6:13 stages[2].window: the ratio of its rate to the source's has too large terms; "
                        "b.out already has 1/4503597479886983 positions a sample"));
  EXPECT_THAT(window("  - window: {yield: 67108864}\n  - window: {name: b, yield: 67108864}\n"),
              HasSubstr("of [n] in a block; the maximum is 68719476736; use a smaller block"));
}

TEST(SpecProblems, MemoryThatIsNotThere) {
  const std::string text = problems_of(
      "source: {tape: {channels: 8}}\nblock: 268435456\nlanes: 32\n"
      "publish:\n  - {port: source, topic: a, bind: x}\n");
  EXPECT_TRUE(
      text.starts_with("x.yaml:2:1 block: blocks of 268435456 samples and 32 lanes need 601299 MB (36 result slots "
                       "309238, ring of 9126805504 samples 292058), but "))
      << text;
  EXPECT_TRUE(text.ends_with(" MB are free; use a smaller block or fewer lanes\n")) << text;
}

TEST(SpecProblems, PipelinesThatDoNotGoTogether) {
  EXPECT_EQ(problems_of(R"(pipelines:
  - {name: a, block: 64, source: {tape: {}}, publish: [{port: source, topic: t, bind: x}]}
  - {name: b, block: 64, source: {tape: {}}, publish: [{port: source, topic: u, bind: x}]}
)"),
            "x.yaml:3:81 pipelines[1].publish[0].bind: x already belongs to pipeline 'a'; choose another port\n");
  EXPECT_EQ(problems_of("pipelines:\n  - {name: a, source: {tape: {}}}\n  - {name: a, source: {tape: {}}}\n"),
            "x.yaml:3:6 pipelines[1].name: there is already a pipeline 'a': each needs its own `name:`\n");
  EXPECT_EQ(problems_of("pipelines: []\n"), "x.yaml:1:1 pipelines: the list is empty\n");
  EXPECT_EQ(problems_of("pipelines:\n  - {source: {tape: {}}, monitor: {}}\n"),
            "x.yaml:2:26 pipelines[0].monitor: unknown key\n");
  EXPECT_EQ(problems_of("pipelines:\n  - {source: {tape: {}}}\nblock: 4\n"), "x.yaml:3:1 block: unknown key\n");
}

TEST(SpecProblems, TwoThatClaimOneRadio) {
  const std::string one = "  - {name: a, source: {radio: {args: x}}}\n";
  EXPECT_EQ(problems_of("pipelines:\n" + one + "  - {name: b, source: {radio: {args: y}}}\n"), "");
  EXPECT_EQ(problems_of("pipelines:\n" + one + "  - {name: b, source: {radio: {args: x}}}\n"),
            "x.yaml:3:32 pipelines[1].source.radio.args: pipeline 'a' already uses radio 'x': use another radio or "
            "channel, or publish `source` there and read it here with a `zmq` source\n");
}

TEST(SpecProblems, TwoEntriesThatClaimOneThing) {
  const auto sinks = [](const std::string& more, const std::string& one, const std::string& other) {
    return problems_of("source: {tape: {}}\nblock: 64\n" + more + "sinks:\n- {port: source, drain: {path: '" + one +
                       "'}}\n- {port: source, drain: {path: '" + other + "'}}\n");
  };
  EXPECT_EQ(sinks("", "/a", "/b"), "");
  EXPECT_EQ(sinks("", "/a", "/b/../a"),
            "x.yaml:5:26 sinks[1].drain.path: sinks[0].drain already writes /b/../a; choose another path\n");
  EXPECT_EQ(sinks("", "tcp://127.0.0.1:1", "tcp://localhost:1"),
            "x.yaml:5:26 sinks[1].drain.path: sinks[0].drain already binds tcp://127.0.0.1:1; choose another port\n");
  EXPECT_EQ(sinks("publish: [{port: source, topic: t, bind: 'tcp://*:1'}]\n", "/a", "tcp://127.0.0.1:1"),
            "x.yaml:6:26 sinks[1].drain.path: publish[0] already binds tcp://*:1; choose another port\n");
  EXPECT_EQ(sinks("monitor: {listen: '127.0.0.1:1'}\n", "/a", "tcp://127.0.0.1:1"),
            "x.yaml:3:11 monitor.listen: sinks[1].drain already binds tcp://127.0.0.1:1; choose another port\n");
  EXPECT_EQ(problems_of("source: {tape: {}}\nblock: 64\npublish:\n"
                        "- {port: source, topic: a, bind: 'tcp://*:1'}\n- {port: source, topic: b, bind: 'tcp://*:1'}\n"
                        "- {port: source, topic: a, bind: 'tcp://lo:1'}\n"),
            "x.yaml:6:28 publish[2].bind: publish[0] already binds tcp://*:1; choose another port\n");
}

TEST(SpecProblems, NoPipelineAtAll) {
  EXPECT_EQ(problems_of("- a\n"),
            "x.yaml:1:1: expected a pipeline (a map with source, stages, publish), found a list\n");
  EXPECT_EQ(problems_of(""), "x.yaml: is empty\n");
}

}  // namespace
}  // namespace iqd::testing
