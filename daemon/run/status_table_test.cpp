// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/status_table.hpp"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/run/run_report.hpp"

namespace iqd {
namespace {

using terminal::Paint;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

PipelineStatus receiver() {
  PipelineStatus s;
  s.name = "fsk_text";
  s.radio = "soapy";
  s.state = SourceState::streaming;
  s.received = 3'000'000;
  s.published = 2'999'000;
  s.blocks = 30;
  s.lost = 7;
  s.dropped[0] = 1000;
  s.overflows = 2;
  s.ports.push_back({"framer.out", "text", 12, 768, 3, {}, "tcp://127.0.0.1:5555"});
  s.endpoints.push_back({"tcp://127.0.0.1:5555", 2, 1, 0});
  s.tallies = {{{"framer", "bad_crc"}, 4}, {{"framer", "good"}, 12}};
  s.levels = {{{"evm_meter", "evm", "user", "1"}, -21.5}};
  s.channels.push_back({-20.25, -9, 5, 1, true});
  return s;
}

std::vector<std::string> table(terminal::Size room, const std::vector<PipelineStatus>& statuses = {receiver()}) {
  std::vector<StatusFacts> facts;
  for (const PipelineStatus& s : statuses) facts.push_back(facts_of(s, {}, 1));
  return status_table(facts, facts_of(std::vector<OpenRadio>{{"uhd", "addr=1", {}, {{"reference", "", 0, true}}}}),
                      room, Paint(false));
}

TEST(StatusTable, ShowsWhatAnOperatorLooksFor) {
  const std::vector<std::string> lines = table({120, 50});
  EXPECT_THAT(lines[0], AllOf(HasSubstr("PIPELINE"), HasSubstr("STATE"), HasSubstr("RATE"), HasSubstr("DROPPED")));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("fsk_text  streaming"), HasSubstr("3.000 MS/s"), HasSubstr("1000")));
  EXPECT_THAT(lines,
              Contains(AllOf(HasSubstr("events"), HasSubstr("framer"), HasSubstr("bad_crc 4"), HasSubstr("good 12"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("dropped"), HasSubstr("lanes 1000"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("text"), HasSubstr("refused 3"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("soapy"), HasSubstr("overflows 2"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("2 connected"), HasSubstr("handshake_failures 1"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("levels"), HasSubstr("evm user 1 -21.5"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("channel 0"), HasSubstr("-20.2 dBFS"), HasSubstr("OVERLOADED"))));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("uhd addr=1"), HasSubstr("reference NOT LOCKED"))));
}

TEST(StatusTable, FitsAnyTerminal) {
  EXPECT_THAT(table({50, 30}), Contains(HasSubstr("…127.0.0.1:5555"))) << "addresses differ at their ends";
  for (int columns = 1; columns < 200; ++columns)
    for (const int rows : {1, 2, 5, 24}) {
      const std::vector<std::string> lines = table({columns, rows}, {receiver(), receiver(), receiver()});
      EXPECT_LE(std::ssize(lines), std::max(rows, 1)) << columns;
      for (const std::string& line : lines) EXPECT_LE(terminal::width_of(line), columns) << line;
    }
}

TEST(StatusTable, ANarrowOneKeepsDropsAndEvents) {
  const std::string all = fmt::format("{}", fmt::join(table({40, 50}), "\n"));
  EXPECT_THAT(all,
              AllOf(HasSubstr("DROPPED"), HasSubstr("fsk_text"), HasSubstr("bad_crc 4"), Not(HasSubstr("BLOCKS"))));
}

TEST(StatusTable, ALowOneLosesDetailsBeforePipelines) {
  const std::vector<std::string> lines = table({120, 4}, {receiver(), receiver(), receiver()});
  EXPECT_EQ(std::ranges::count_if(lines, [](const std::string& l) { return l.starts_with("fsk_text"); }), 3);
}

TEST(StatusTable, GrowthIsBadAndOldLossesAreAWarning) {
  PipelineStatus then = receiver();
  then.tallies[0].second = 3;
  const auto tone_of = [&](const StatusFacts& facts) {
    for (const Detail& d : facts.details)
      if (d.kind == Detail::Kind::events) return d.items[0].tone;
    return terminal::Tone::plain;
  };
  EXPECT_EQ(tone_of(facts_of(receiver(), then, 1)), terminal::Tone::bad);
  EXPECT_EQ(tone_of(facts_of(receiver(), receiver(), 1)), terminal::Tone::warning);
}

TEST(StatusTable, AFileHasALineForEachPipeline) {
  EXPECT_THAT(status_header(), HasSubstr("PIPELINE"));
  const std::string line = status_line(facts_of(receiver(), {}, 1));
  EXPECT_THAT(line, AllOf(HasSubstr("fsk_text"), HasSubstr("events framer: bad_crc 4, good 12"), Not(HasSubstr("\n"))));
}

TEST(RunReport, TheSummaryHasAllLossesByReason) {
  const std::string lines = fmt::format("{}", fmt::join(summary_lines(receiver(), 3), "\n"));
  for (const char* words :
       {"ended after 3.0 s: 3000000 samples received, 2999000 published", "7 lost by the radio", "1000 dropped: lanes",
        "12 messages", "errors of soapy: overflows 2", "errors of text: refused 3", "handshake_failures 1",
        "events of framer: bad_crc 4, good 12"})
    EXPECT_THAT(lines, HasSubstr(words));
  EXPECT_THAT(lines, Not(HasSubstr("connected")));
  const std::vector<std::string> block = summary_block(receiver(), 3, 60, Paint(false));
  for (const std::string& line : block) EXPECT_LE(terminal::width_of(line), 60) << line;
}

TEST(RunReport, AQuietRunHasOneLine) {
  PipelineStatus s;
  s.name = "quiet";
  const std::vector<std::string> lines = summary_lines(s, 1);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("none lost"), HasSubstr("no errors")));
}

TEST(RunReport, EachEndpointIsNamedOnceWithItsTopics) {
  const std::vector<Served> served{{"tcp://127.0.0.1:5555", {"a (fir.out)", "b (source)"}},
                                   {"http://127.0.0.1:9464", {"/metrics"}}};
  EXPECT_THAT(served_lines(served, 0, Paint(false)),
              ::testing::ElementsAre("serving tcp://127.0.0.1:5555: a (fir.out), b (source)",
                                     "serving http://127.0.0.1:9464: /metrics"));
  for (const std::string& line : served_lines(served, 40, Paint(false))) EXPECT_LE(terminal::width_of(line), 40);
}

}  // namespace
}  // namespace iqd
