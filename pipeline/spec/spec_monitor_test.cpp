// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec_monitor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/document.hpp"
#include "pipeline/spec/spec_change.hpp"
#include "tests/support/test_catalogue.hpp"

namespace iqd::testing {
namespace {

struct Read {
  explicit Read(const std::string& text, std::vector<AddedSink> added = {}) {
    spec = read_spec(parse_document(text, "x.yaml", problems), test_catalogue(), problems, {}, added);
    for (const Problem& p : problems) lines += p.text() + "\n";
  }
  Problems problems;
  Spec spec;
  std::string lines;
};

std::string one(const std::string& monitor) {
  return "name: lab\nsource: {tape: {}}\nblock: 64\nstages:\n  - window: {past: 7}\nmonitor: {listen: \"127.0.0.1:1\"" +
         monitor + "}\n";
}

std::string two(const std::string& monitor) {
  return "pipelines:\n  - {name: a, source: {tape: {}}}\n  - {name: b, source: {tape: {}}}\n"
         "monitor: {listen: \"127.0.0.1:1\"" +
         monitor + "}\n";
}

TEST(Monitor, ThePageIsThereUnlessTheFileSaysNo) {
  EXPECT_TRUE(Read(one("")).spec.has_page());
  EXPECT_TRUE(Read(one("")).spec.pipelines[0].watched);
  EXPECT_FALSE(Read(one(", page: false")).spec.has_page());
  EXPECT_FALSE(Read(one(", page: false")).spec.pipelines[0].watched);
  EXPECT_FALSE(Read("source: {tape: {}}\n").spec.has_page());
}

TEST(Monitor, WatchedPortsBelongToTheirPipelines) {
  EXPECT_EQ(Read(one(", watch: [window.out]")).spec.pipelines[0].watch, std::vector<std::string>{"window.out"});
  EXPECT_EQ(Read(one(", watch: [lab/window.out]")).spec.pipelines[0].watch, std::vector<std::string>{"window.out"});
  const Read both(two(", watch: [b/source]"));
  EXPECT_EQ(both.lines, "");
  EXPECT_TRUE(both.spec.pipelines[0].watch.empty());
  EXPECT_EQ(both.spec.pipelines[1].watch, std::vector<std::string>{"source"});
  EXPECT_THAT(Read(two(", watch: [source]")).lines, ::testing::HasSubstr("write PIPELINE/source; there are: a, b"));
  EXPECT_THAT(Read(two(", watch: [c/source]")).lines, ::testing::HasSubstr("there is no such pipeline"));
}

TEST(Monitor, OtherWatchedPortsAreAnotherPlan) {
  const Read before(one("")), after(one(", watch: [window.out]"));
  EXPECT_TRUE(same_port(before.spec, after.spec)) << "the port need not be opened again";
  Spec kept = Read(one(", grafana: \"http://g/\"")).spec;
  EXPECT_FALSE(same_port(before.spec, kept));
  keep_port(before.spec, kept);
  EXPECT_TRUE(same_port(before.spec, kept));
}

TEST(AddedSinks, AreSinksOfTheirPipeline) {
  Problems none;
  const Node entry = parse_document("{port: source, drain: {path: x}}", "recording", none).root;
  const Read read(two(""), {{"b", entry, false}});
  EXPECT_EQ(read.lines, "");
  EXPECT_TRUE(read.spec.pipelines[0].sinks.empty());
  ASSERT_EQ(read.spec.pipelines[1].sinks.size(), 1u);
  EXPECT_EQ(read.spec.pipelines[1].sinks[0].port, "source");
}

TEST(AddedSinks, ThoseThatAreOpenAreNotLookedForAgain) {
  Problems none;
  const Node entry = parse_document("{port: source, drain: {path: /gone}}", "recording", none).root;
  for (const bool is_open : {false, true}) {
    const Read read(two(""), {{"b", entry, is_open}});
    ASSERT_EQ(read.spec.pipelines[1].sinks.size(), 1u);
    Problems problems;
    const SinkSpec& sink = read.spec.pipelines[1].sinks[0];
    sink.options->check({}, Section("sinks[0]", {}, problems));
    EXPECT_EQ(problems.empty(), is_open);
  }
}

}  // namespace
}  // namespace iqd::testing
