// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// One problem hides no other, and is not reported again as its consequences. Warnings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/test_catalogue.hpp"

namespace iqd::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream all(problems_of(text));
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> warnings_of(const std::string& text) {
  Problems problems;
  const Spec spec = read_spec(parse_document(text, "x.yaml", problems), test_catalogue(), problems);
  check_spec(spec, test_catalogue(), problems);
  for (const Problem& p : problems) ADD_FAILURE() << p.text();
  std::vector<std::string> lines;
  for (const Problem& p : problems.warnings()) lines.push_back(p.text());
  return lines;
}

/// A mistake, as an entry of a list or as a line of its own, and what its problem says.
struct Mistake {
  std::string list;
  std::string line;
  std::string said;
};

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> all{
      {"", "nam: lab", "unknown key"},
      {"", "lanes: many", "'many' is not a number"},
      {"", "source: {tap: {}}", "this build has no such source"},
      {"", "source: {radio: {rate: fast}}", "'fast' is not a number"},
      {"", "source: {radio: {gian: 3}}", "unknown key (did you mean 'gain'?)"},
      {"stages", "windw: {past: 3}", "unknown stage"},
      {"stages", "window: {name: w1, from: source, pst: 3}", "unknown key (did you mean 'past'?)"},
      {"stages", "window: {name: w2, from: source, past: few}", "'few' is not a number"},
      {"stages", "window: {name: w3, from: sorce}", "there is no port 'sorce'"},
      {"stages", "sum: {name: s1, from: {in7: source}}", "sum has no input 'in7'"},
      {"stages", "complex: {from: good.out}", "input 'in' takes cf32 [n], but good.out gives i32 [n]"},
      {"stages", "window: {name: w4, from: good.in}", "there is no port 'good.in'"},
      {"stages", "window: {name: w5, from: source, backend: gpu}", "'gpu' is not one of"},
      {"publish", "{port: nothing, topic: n, bind: x}", "there is no port 'nothing'"},
      {"publish", "{port: good, topic: m}", "needs a `bind:`"},
      {"publish", "{port: good, topic: f, bind: x, dtype: f33}", "'f33' is not an element type"},
      {"publish", "{port: good, topic: good, bind: x}", "'good' is already the topic of good at x"},
      {"sinks", "{port: good, drein: {}}", "is neither `port` nor a sink of this build (did you mean 'drain'?)"},
      {"sinks", "{port: nowhere, drain: {path: x}}", "there is no port 'nowhere'"},
      {"sinks", "{port: good, drain: {}}", "is required"},
      {"apply", "{port: nobody, to: source.gain}", "there is no port 'nobody'"},
      {"apply", "{port: numbers, to: nobody.past}", "iqd has no stage 'nobody'"},
  };
  return all;
}

/// A correct file with some mistakes. `good` is a stage that reads the second source port of the file, if there is one.
std::string file_with(const std::vector<const Mistake*>& made) {
  const auto is_source = [](const Mistake* m) { return m->line.starts_with("source:"); };
  std::string text = std::ranges::any_of(made, is_source) ? "" : "source: {radio: {}}\n";
  text += "block: 64\n";
  for (const Mistake* m : made)
    if (m->list.empty()) text += m->line + "\n";
  const std::pair<std::string, std::string> lists[] = {
      {"stages", "- window: {name: good, from: source}\n- total: {name: numbers, from: source}\n"},
      {"publish", "- {port: good, topic: good, bind: x}\n"},
      {"sinks", ""},
      {"apply", ""}};
  for (const auto& [list, first] : lists) {
    std::string entries = first;
    for (const Mistake* m : made)
      if (m->list == list) entries += "- " + m->line + "\n";
    if (!entries.empty()) text += list + ":\n" + entries;
  }
  return text;
}

bool has(const std::vector<std::string>& lines, const Mistake& mistake) {
  return std::ranges::any_of(lines, [&](const std::string& l) { return l.find(mistake.said) != std::string::npos; });
}

TEST(SpecCheck, TheFileWithoutMistakesIsCorrect) {
  EXPECT_THAT(lines_of(file_with({})), IsEmpty());
}

/// A type mismatch cannot be judged if the source is not known.
bool can_be_judged(const Mistake& one, const Mistake& other) {
  const bool unknown_source = one.line == "source: {tap: {}}" || other.line == "source: {tap: {}}";
  const bool type =
      one.said.find("but good.out gives") != one.said.npos || other.said.find("but good.out gives") != other.said.npos;
  return !(unknown_source && type);
}

TEST(SpecCheck, OfEveryTwoMistakesBothAreReportedAndNothingElse) {
  for (const Mistake& one : mistakes())
    for (const Mistake& other : mistakes()) {
      const bool twice = one.line.starts_with("source:") && other.line.starts_with("source:");
      if (&one >= &other || twice || !can_be_judged(one, other)) continue;
      const std::string text = file_with({&one, &other});
      const std::vector<std::string> lines = lines_of(text);
      EXPECT_TRUE(has(lines, one)) << text;
      EXPECT_TRUE(has(lines, other)) << text;
      EXPECT_EQ(lines.size(), 2u) << text << ::testing::PrintToString(lines);
    }
}

TEST(SpecCheck, AllMistakesAtOnce) {
  std::vector<const Mistake*> all;
  for (const Mistake& m : mistakes())
    if (!m.line.starts_with("source:")) all.push_back(&m);
  const std::vector<std::string> lines = lines_of(file_with(all));
  for (const Mistake* m : all) EXPECT_TRUE(has(lines, *m)) << m->line;
  EXPECT_EQ(lines.size(), all.size()) << ::testing::PrintToString(lines);
}

std::vector<std::string> after(const std::string& stages, const std::string& publish) {
  return lines_of("source: {tape: {}}\nblock: 64\nstages:\n" + stages + "publish:\n" + publish);
}

TEST(SpecCheck, WhatReadsAnUnknownStageIsNotJudged) {
  const std::string published = "- {port: last, topic: a, bind: x}\n";
  EXPECT_THAT(after("- windw: {}\n- complex: {name: last}\n", published), ElementsAre(HasSubstr("unknown stage")))
      << "by its place";
  EXPECT_THAT(after("- windw: {}\n- complex: {name: last, from: windw.out}\n", published),
              ElementsAre(HasSubstr("unknown stage")));
  EXPECT_THAT(after("- windw: {}\n- complex: {name: last, from: window.result}\n", published),
              ElementsAre(HasSubstr("unknown stage")))
      << "by the name that was meant";
  EXPECT_THAT(after("- windw: {name: w}\n- complex: {name: last, from: w}\n", published),
              ElementsAre(HasSubstr("unknown stage")));
  EXPECT_THAT(after("- picc: {}\n- use_finds: {name: last}\n", published), ElementsAre(HasSubstr("unknown stage")))
      << "it may have an output of the input's name";
  EXPECT_THAT(after("- window\n- complex: {name: last, from: window}\n", published),
              ElementsAre(HasSubstr("found 'window'")));
  EXPECT_THAT(after("- {window: {}, gate: {}}\n- complex: {name: last, from: gate}\n", published),
              ElementsAre(HasSubstr("found 2 keys")));
  EXPECT_THAT(
      after("- window: {name: a}\n- complex: {name: a, from: source}\n- gate: {name: last, from: a}\n", published),
      ElementsAre(HasSubstr("input 'in' takes cf32"), HasSubstr("there is already a 'a'")));
}

TEST(SpecCheck, WhatDependsOnAWrongStageIsNotJudgedButItsPortsAre) {
  EXPECT_THAT(after("- window: {past: few}\n- complex: {name: last}\n", "- {port: last, topic: a, bind: x}\n"),
              ElementsAre(HasSubstr("'few' is not a number")));
  EXPECT_THAT(after("- window: {past: few, from: sorce}\n", "- {port: window.aut, topic: a, bind: x}\n"),
              ElementsAre(HasSubstr("'few' is not a number"), HasSubstr("there is no port 'sorce'"),
                          HasSubstr("there is no port 'window.aut' (did you mean 'window.out'?); there are: source, "
                                    "window.out")));
  EXPECT_THAT(after("- pick: {divisor: few}\n- window: {name: last}\n", "- {port: last, topic: a, bind: x}\n"),
              ElementsAre(HasSubstr("'few' is not a number"),
                          HasSubstr("input 'in' is not connected: stage 'pick' before it has several outputs")));
}

TEST(SpecCheck, AWrongRateHidesNoWrongType) {
  EXPECT_THAT(lines_of("source: {tape: {rate: 13}}\nblock: 64\nstages:\n- complex: {}\n"),
              ElementsAre(HasSubstr("brings bad luck"), HasSubstr("input 'in' takes cf32")));
}

TEST(SpecCheck, ASyntaxErrorOfOnePipelineHidesNoOther) {
  EXPECT_THAT(lines_of("pipelines:\n"
                       "- {name: a, source: {tape: {}, publish: [{port: source, topic: t, bind: x}]}\n"
                       "- name: b\n  source: {tape: {}}\n  blok: 3\n"
                       "  stages: [total: {}]\n"
                       "  apply: [{port: total, to: a/source.gain}]\n"),
              ElementsAre(HasSubstr("x.yaml:2:"), HasSubstr("pipelines[1].blok: unknown key (did you mean 'block'?)")));
}

TEST(SpecCheck, ATopicOfAnEndpointBelongsToOneEntry) {
  const auto two = [](const std::string& one, const std::string& other) {
    return problems_of("source: {tape: {}}\nblock: 64\nstages:\n- window: {}\npublish:\n- {port: source, " + one +
                       "}\n- {port: window, " + other + "}\n");
  };
  EXPECT_EQ(
      two("topic: a, bind: x", "topic: a, bind: x"),
      "x.yaml:7:18 publish[1].topic: 'a' is already the topic of source at x; choose another, so that readers can "
      "tell them apart\n");
  EXPECT_EQ(two("topic: a, bind: x", "topic: a, bind: y"), "");
  EXPECT_EQ(two("topic: iq, bind: x", "topic: iq2, bind: x"), "") << "a topic ends at a space";
  const std::string pipeline = ", source: {tape: {}}, block: 64, publish: [{port: source, topic: a, connect: x}]}\n";
  EXPECT_EQ(
      problems_of("pipelines:\n- {name: a" + pipeline + "- {name: b" + pipeline),
      "x.yaml:3:69 pipelines[1].publish[0].topic: 'a' is already the topic of source of pipeline 'a' at x; choose "
      "another, so that readers can tell them apart\n");
}

TEST(SpecCheck, WarnsOfAStageThatNothingReads) {
  const std::string head = "source: {tape: {}}\nblock: 64\nstages:\n- window: {}\n- gate: {from: source}\n";
  const std::string out = "publish:\n- {port: gate, topic: a, bind: x}\n";
  EXPECT_THAT(warnings_of(head + out),
              ElementsAre("x.yaml:4:11: warning: stages[0].window: nothing reads window.out: publish it, or leave the "
                          "stage out"));
  EXPECT_THAT(warnings_of(head + out + "- {port: window, topic: b, bind: x}\n"), IsEmpty());
  EXPECT_THAT(warnings_of(head + out + "sinks:\n- {port: window, drain: {path: x}}\n"), IsEmpty());
  EXPECT_THAT(warnings_of("fuse: off\n" + head + out), ::testing::SizeIs(1));
  EXPECT_THAT(
      warnings_of("source: {tape: {}}\nblock: 64\nstages:\n- scale: {}\n- scale: {name: b}\n- gate: {from: source}\n" +
                  out),
      ElementsAre(HasSubstr("nothing reads b.out")))
      << "the last of a chain is enough";
  EXPECT_THAT(warnings_of("source: {tape: {}}\nblock: 64\nstages:\n- pick: {}\n- parity: {from: source}\n"
                          "publish:\n- {port: pick.finds, topic: a, bind: x}\n"),
              IsEmpty())
      << "one output is enough; a tally is shown; a fact is in headers";
}

TEST(SpecCheck, WarnsOfAPipelineThatNothingLeaves) {
  EXPECT_THAT(
      warnings_of("source: {tape: {}}\n"),
      ElementsAre("x.yaml:1:1: warning: nothing leaves this pipeline: it has no `publish`, `sinks` or `apply`"));
  EXPECT_THAT(warnings_of("source: {tape: {}}\nblock: 64\nstages:\n- window: {}\n"), ::testing::SizeIs(1));
  EXPECT_THAT(warnings_of("source: {tape: {}}\nblock: 64\nstages:\n- parity: {}\n"), IsEmpty()) << "numbers are shown";
}

}  // namespace
}  // namespace iqd::testing
