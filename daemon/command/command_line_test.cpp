// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/command/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace iqd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The outcome of a command line: the exit code, or empty if the action may run, and what was printed.
struct Outcome {
  std::optional<int> exit;
  std::string out;
  std::string err;
};

Outcome parse(CommandLine& line, const std::vector<const char*>& words) {
  std::vector<std::string> texts{"iqd"};
  texts.insert(texts.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.exit = line.parse(static_cast<int>(pointers.size()), pointers.data());
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

/// A program with one command that has every kind of option.
struct Program {
  bool verbose = false;
  bool quick = false;
  int count = 1;
  std::int64_t block = 8;
  double seconds = 0.5;
  std::string file;
  std::string wait = "block";
  bool has_topic = false;
  std::string topic = "none";
  std::vector<std::string> config;
  std::vector<std::string> files;
  std::vector<std::int64_t> blocks;
  std::vector<std::int64_t> channels;
  CommandLine line{"iqd", "a test program", "1.2.3"};

  Program() {
    line.options().option("-v,--verbose", &verbose, "log more");
    line.command("go", "goes", [] { return Exit::threshold; })
        .option("FILE", &file, "a file", {.required = true})
        .option("--topic", &topic, "a topic", {.given = &has_topic})
        .option("--count", &count, "how many", {.range = {{1, 9}}})
        .option("--block", &block, "samples", {.positive = true})
        .option("--blocks", &blocks, "samples, several", {.positive = true})
        .option("--quick", &quick, "quickly", {.excludes = "--block"})
        .option("--seconds", &seconds, "so long", {.range = {{0, 1}}})
        .option("--wait", &wait, "how", {.one_of = {"spin", "block"}})
        .option("--config", &config, "key=value")
        .option("--channels", &channels, "0,1", {.separator = ','});
    line.command("put", "puts", [] { return Exit::ok; })
        .option("FILES", &files, "one or two", {.required = true, .words = {{1, 2}}})
        .option("--device", &count, "which", {.not_negative = true})
        .option("--root", &wait, "below it", {.folder = true});
  }
};

TEST(CommandLine, RunsTheChosenCommand) {
  Program p;
  EXPECT_EQ(parse(p.line, {"go", "a.yaml"}).exit, std::nullopt);
  EXPECT_EQ(p.line.action()(), Exit::threshold);
  EXPECT_EQ(p.file, "a.yaml");
  EXPECT_FALSE(p.verbose);
}

TEST(CommandLine, KeepsWhatIsNotGiven) {
  Program p;
  EXPECT_EQ(parse(p.line, {"go", "a.yaml"}).exit, std::nullopt);
  EXPECT_EQ(p.block, 8);
  EXPECT_EQ(p.seconds, 0.5);
  EXPECT_EQ(p.wait, "block");
  EXPECT_EQ(p.topic, "none");
  EXPECT_FALSE(p.has_topic);
}

TEST(CommandLine, SetsEachTarget) {
  Program p;
  EXPECT_EQ(
      parse(p.line, {"-v", "go", "a.yaml", "--count", "9", "--quick", "--seconds", "0.25", "--wait", "spin"}).exit,
      std::nullopt);
  EXPECT_TRUE(p.verbose && p.quick);
  EXPECT_EQ(p.count, 9);
  EXPECT_EQ(p.seconds, 0.25);
  EXPECT_EQ(p.wait, "spin");
}

TEST(CommandLine, ListsStandSideBySideOrAreRepeated) {
  Program p;
  EXPECT_EQ(parse(p.line, {"go", "a.yaml", "--config", "a=1", "--config", "b=2", "c=3", "--blocks", "8", "16",
                           "--blocks", "32", "--channels", "0,1"})
                .exit,
            std::nullopt);
  EXPECT_THAT(p.config, ElementsAre("a=1", "b=2", "c=3"));
  EXPECT_THAT(p.blocks, ElementsAre(8, 16, 32));
  EXPECT_THAT(p.channels, ElementsAre(0, 1));
}

TEST(CommandLine, AnEmptyTextIsGiven) {
  Program p;
  EXPECT_EQ(parse(p.line, {"go", "a.yaml", "--topic", ""}).exit, std::nullopt);
  EXPECT_TRUE(p.has_topic);
  EXPECT_EQ(p.topic, "");
}

TEST(CommandLine, RefusesWhatBreaksARule) {
  const std::vector<std::pair<std::vector<const char*>, const char*>> cases = {
      {{"go"}, "FILE is required"},
      {{"go", "a.yaml", "--count", "10"}, "--count: Value 10 not in range"},
      {{"go", "a.yaml", "--count", "two"}, "--count"},
      {{"go", "a.yaml", "--seconds", "1.5"}, "--seconds: Value 1.5 not in range"},
      {{"go", "a.yaml", "--block", "0"}, "--block: must be more than 0, is 0"},
      {{"go", "a.yaml", "--blocks", "8", "-1"}, "--blocks"},
      {{"go", "a.yaml", "--block", "many"}, "--block: expected a number, found 'many'"},
      {{"go", "a.yaml", "--wait", "sleep"}, "sleep not in {spin,block}"},
      {{"go", "a.yaml", "--block", "8", "--quick"}, "--block excludes --quick"},
      {{"go", "a.yaml", "--slow"}, "--slow"},
      {{"put"}, "FILES is required"},
      {{"put", "a", "b", "c"}, "c"},
      {{"put", "a", "--device", "-1"}, "--device: must not be negative, is -1"},
      {{"put", "a", "--root", "/no/such/folder"}, "/no/such/folder"},
      {{"stop"}, "A subcommand is required"},
      {{}, "A subcommand is required"},
  };
  for (const auto& [words, why] : cases) {
    Program p;
    const Outcome outcome = parse(p.line, words);
    EXPECT_EQ(outcome.exit, static_cast<int>(Exit::configuration)) << why;
    EXPECT_THAT(outcome.err, HasSubstr(why));
  }
}

TEST(CommandLine, HelpShowsRulesAndEndsWell) {
  Program p;
  const Outcome help = parse(p.line, {"go", "--help"});
  EXPECT_EQ(help.exit, 0);
  for (const char* words :
       {"FILE TEXT REQUIRED", "--count INT:INT in [1 - 9]", "--block INT:POSITIVE Excludes: --quick",
        "--wait TEXT:{spin,block}", "--seconds FLOAT:FLOAT in [0 - 1]"})
    EXPECT_THAT(help.out, HasSubstr(words));
  EXPECT_EQ(parse(p.line, {"--version"}).out, "1.2.3\n");
}

TEST(CommandLine, AProgramMayHaveNoCommands) {
  int antennas = 16;
  CommandLine line("bench", "measures");
  line.options().option("--antennas", &antennas, "that receive", {.range = {{1, 64}}});
  EXPECT_EQ(parse(line, {"--antennas", "32"}).exit, std::nullopt);
  EXPECT_EQ(antennas, 32);
  EXPECT_EQ(parse(line, {"--antennas", "65"}).exit, static_cast<int>(Exit::configuration));
}

}  // namespace
}  // namespace iqd
