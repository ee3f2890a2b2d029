// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/fields.hpp"

#include <gtest/gtest.h>

#include <array>

namespace iqd {
namespace {

constexpr std::array<std::string_view, 8> kKeys{"taps", "decimation", "method", "frequency",
                                                "rate", "kinds",      "size",   "threshold"};

std::string_view near(std::string_view word) {
  return nearest(word, kKeys);
}

TEST(Nearest, FindsSlipsOfTheFingers) {
  EXPECT_EQ(near("tabs"), "taps");   // one wrong
  EXPECT_EQ(near("tapss"), "taps");  // one too many
  EXPECT_EQ(near("tps"), "taps");    // one missing
  EXPECT_EQ(near("atps"), "taps");   // two swapped
  EXPECT_EQ(near("decimatoin"), "decimation");
  EXPECT_EQ(near("Decimation"), "decimation");
  EXPECT_EQ(near("freqency"), "frequency");
  EXPECT_EQ(near("treshhold"), "threshold");
}

TEST(Nearest, TakesABeginning) {
  EXPECT_EQ(near("freq"), "frequency");
  EXPECT_EQ(near("dec"), "decimation");
  EXPECT_EQ(near("taps_of_the_filter"), "taps");
}

TEST(Nearest, PrefersABeginningToTwoEdits) {
  const std::string_view windows[] = {"hann", "hamming", "blackman"};
  EXPECT_EQ(nearest("hanning", windows), "hann");
  EXPECT_EQ(nearest("hamning", windows), "hamming");
}

TEST(Nearest, LeavesAloneWhatIsFar) {
  EXPECT_EQ(near("gain"), "");
  EXPECT_EQ(near("x"), "");
  EXPECT_EQ(near(""), "");
  EXPECT_EQ(near(std::string(100000, 'a')), "");
  EXPECT_EQ(nearest("taps", {}), "");
  const std::array<std::string_view, 2> letters{"y", "h"};
  EXPECT_EQ(nearest("z", letters), "");  // one edit, but nothing in common
}

TEST(Nearest, PrefersTheFewestEdits) {
  const std::array<std::string_view, 3> words{"bites", "bits", "bit"};
  EXPECT_EQ(nearest("bitss", words), "bites");
  EXPECT_EQ(nearest("bist", words), "bits");
  EXPECT_EQ(nearest("bt", words), "bit");
}

TEST(DidYouMean, IsReadyToAppend) {
  EXPECT_EQ(did_you_mean("tabs", kKeys), " (did you mean 'taps'?)");
  EXPECT_EQ(did_you_mean("gain", kKeys), "");
}

TEST(Problem, TextLeavesOutWhatIsUnknown) {
  EXPECT_EQ((Problem{{"a.yaml", 9, 5}, "stages[2].fir.tabs", "unknown key"}).text(),
            "a.yaml:9:5 stages[2].fir.tabs: unknown key");
  EXPECT_EQ((Problem{{"a.yaml", 9, 0}, "", "invalid YAML"}).text(), "a.yaml:9: invalid YAML");
  EXPECT_EQ((Problem{{"a.yaml", 0, 0}, "", "is empty"}).text(), "a.yaml: is empty");
  EXPECT_EQ((Problem{{}, "fir.taps", "is required"}).text(), "fir.taps: is required");
  EXPECT_EQ((Problem{{}, "", "broken"}).text(), "broken");
  EXPECT_EQ((Problem{{}, "a\nb", "one\nline"}).text(), "a b: one line");
  EXPECT_EQ((Problem{{}, "a\x1b[2Jb", "\x7f and \xff seen"}).text(), "a?[2Jb: ? and ? seen");
}

TEST(Section, FallsBackToItsOwnPlace) {
  Problems problems;
  Section section("stages[0].fir", {"a.yaml", 3, 5}, problems);
  section.note("taps", {"a.yaml", 4, 9});
  section.problem("taps", "too many");
  section.problem("decimation", "too large");
  section.problem("", "all wrong");
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0].text(), "a.yaml:4:9 stages[0].fir.taps: too many");
  EXPECT_EQ(problems[1].text(), "a.yaml:3:5 stages[0].fir.decimation: too large");
  EXPECT_EQ(problems[2].text(), "a.yaml:3:5 stages[0].fir: all wrong");
  EXPECT_TRUE(section.has("taps"));
  EXPECT_FALSE(section.has("decimation"));
}

TEST(Section, AtTheRootHasNoDot) {
  Problems problems;
  Section("", {"a.yaml", 1, 1}, problems).problem("block", "too small");
  EXPECT_EQ(problems.at(0).text(), "a.yaml:1:1 block: too small");
}

TEST(Warnings, AreNoProblems) {
  Problems problems;
  Section section("source.file", {"a.yaml", 3, 1}, problems);
  section.note("rate", {"a.yaml", 4, 7});
  section.warning("rate", "is slow");
  section.warning("", "is odd");
  section.warning("rate", "is slow");
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(problems.begin(), problems.end());
  ASSERT_EQ(problems.warnings().size(), 2u) << "the same is kept once";
  EXPECT_EQ(problems.warnings()[0].text(), "a.yaml:3:1: warning: source.file: is odd");
  EXPECT_EQ(problems.warnings()[1].text(), "a.yaml:4:7: warning: source.file.rate: is slow");
  section.problem("rate", "is wrong");
  EXPECT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems.front().text(), "a.yaml:4:7 source.file.rate: is wrong");
}

TEST(Warnings, AreNoMoreThanAreUseful) {
  Problems problems;
  for (int i = 0; i < 5000; ++i) problems.warn({"a.yaml", i, 1}, "", "is odd");
  EXPECT_EQ(problems.warnings().size(), 1000u);
}

TEST(Section, KnowsItsWrongKeys) {
  Problems problems;
  const Section section("source.file", {"a.yaml", 3, 1}, problems);
  section.problem("", "is odd");
  section.problem("curve.secret", "is missing");
  problems.push_back({{"a.yaml", 4, 1}, "source.file.list[3]", "is wrong"});
  problems.push_back({{"a.yaml", 4, 1}, "source.files", "is another section"});
  problems.push_back({{"b.yaml", 4, 1}, "source.file.path", "is in another file"});
  section.warning("rate", "is slow");
  EXPECT_EQ(section.wrong_keys(), (std::vector<std::string>{"", "curve.secret", "list"}));
  EXPECT_TRUE(section.is_wrong("list"));
  EXPECT_FALSE(section.is_wrong("rate"));
  Problems others;
  section.with(others).problem("rate", "is wrong");
  EXPECT_EQ(problems.size(), 5u);
  EXPECT_EQ(others.front().text(), "a.yaml:3:1 source.file.rate: is wrong");
}

}  // namespace
}  // namespace iqd
