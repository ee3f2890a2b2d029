// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec_shares.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/spec/spec_change.hpp"
#include "tests/support/test_catalogue.hpp"

namespace iqd::testing {
namespace {

using ::testing::ElementsAre;

std::string share_problem(const std::string& share, const std::string& backend = "cuda") {
  return problems_of(fmt::format("source: {{tape: {{}}}}\nbackend: {}\ngpu: {{share: {}}}\n", backend, share));
}

/// Pipelines a, b, c … of one file, each with these keys.
struct Pipelines {
  explicit Pipelines(const std::vector<std::string>& keys) {
    std::string text = "pipelines:\n";
    for (std::size_t i = 0; i < keys.size(); ++i)
      text += fmt::format("  - {{name: {}, source: {{tape: {{}}}}, {}}}\n", static_cast<char>('a' + i), keys[i]);
    spec = read_spec(parse_document(text, "x.yaml", problems), test_catalogue(), problems);
  }
  PipelineSpec& operator[](std::size_t i) { return spec.pipelines.at(i); }
  std::string lines() const {
    std::string all;
    for (const Problem& p : problems) all += p.text() + "\n";
    return all;
  }

  Problems problems;
  Spec spec;
};

TEST(SpecShares, AreProcessorsOrPercent) {
  for (const char* good : {"16 SM", "16SM", "1 SM", "12 %", "12.5%", "100 %", "0.1 %"})
    EXPECT_EQ(share_problem(good), "");
  Pipelines file({"gpu: {share: 16 SM}", "gpu: {share: 12.5 %}"});
  EXPECT_THAT(file[0].shares.at("cuda:0").parts,
              ElementsAre(DeviceShare::Part{"a", {.processors = 16}}, DeviceShare::Part{"b", {.percent = 12.5}}));
  EXPECT_EQ(file[1].shares.at("cuda:0").pipeline, "b");
}

TEST(SpecShares, OthersAreRefused) {
  for (const char* bad : {"16", "16 foo", "-3", "SM", "1.5 SM", "many SM", "nan %", "16 SM 12 %"})
    EXPECT_EQ(share_problem(bad),
              fmt::format("x.yaml:3:7 gpu.share: '{}' is not a number of multiprocessors (`16 SM`) or "
                          "a percentage (`12 %`)\n",
                          bad));
  for (const char* bad : {"0 SM", "-3 SM", "1e9 SM"})
    EXPECT_EQ(
        share_problem(bad),
        fmt::format("x.yaml:3:7 gpu.share: {} is out of range: at least 1 SM, and at most what the GPU has\n", bad));
  for (const char* bad : {"0 %", "-3 %", "101 %"})
    EXPECT_EQ(share_problem(bad),
              fmt::format("x.yaml:3:7 gpu.share: {} is out of range: more than 0 %, at most 100 %\n", bad));
  EXPECT_EQ(share_problem("[1, 2]"), "x.yaml:3:7 gpu.share: expected a string, found a list\n");
  EXPECT_EQ(problems_of("source: {tape: {}}\ngpu: {shares: 16 SM}\n"),
            "x.yaml:2:7 gpu.shares: unknown key (did you mean 'share'?)\n");
}

TEST(SpecShares, HaveNoEffectOnTheCpu) {
  EXPECT_EQ(share_problem("16 SM", "cpu"), "x.yaml:3:7 gpu.share: has no effect: the pipeline runs on the CPU alone\n");
  EXPECT_EQ(share_problem("16 SM",
                          "cpu\nstages:\n  - window: {backend: cuda}\npublish:\n"
                          "  - {port: window, topic: a, bind: x}"),
            "");
}

TEST(SpecShares, PercentagesOfADeviceAreAtMostAllOfIt) {
  Pipelines file({"gpu: {share: 60 %}", "backend: cuda:1, gpu: {share: 60 %}", "gpu: {share: 50 %}", "lanes: 1"});
  EXPECT_EQ(file.lines(),
            "x.yaml:2:41 pipelines[0].gpu.share: shares of 60 %, 50 %: 110 % of cuda:0\n"
            "x.yaml:4:41 pipelines[2].gpu.share: shares of 60 %, 50 %: 110 % of cuda:0\n");
  EXPECT_EQ(Pipelines({"gpu: {share: 33.4 %}", "gpu: {share: 66.6 %}"}).lines(), "");
  EXPECT_EQ(Pipelines({"gpu: {share: 100 %}", "gpu: {share: 100 SM}"}).lines(), "") << "only the device knows";
}

TEST(SpecShares, AreOfEachDevice) {
  Pipelines file({"backend: [cuda:0, cuda:1], gpu: {share: 8 SM}", "backend: cuda:1, gpu: {share: 16 SM}",
                  "backend: cuda:1", "backend: cuda:2", "backend: cpu"});
  EXPECT_EQ(file.lines(), "");
  const auto names = [&](std::size_t pipeline, const std::string& device) {
    std::string all;
    for (const DeviceShare::Part& part : file[pipeline].shares.at(device).parts) all += part.pipeline;
    return all;
  };
  EXPECT_EQ(names(0, "cuda:0"), "a");
  EXPECT_EQ(names(0, "cuda:1"), "ab");
  EXPECT_EQ(names(2, "cuda:1"), "ab") << "it gets what they leave";
  EXPECT_TRUE(file[3].shares.empty());
  EXPECT_TRUE(file[4].shares.empty());
}

TEST(SpecShares, WithoutAnyNothingIsDivided) {
  Pipelines file({"backend: cuda", "backend: auto"});
  EXPECT_TRUE(file[0].shares.empty());
  EXPECT_TRUE(file[1].shares.empty());
}

TEST(SpecShares, UrgencyIsTheRankOfThePriority) {
  Pipelines file({"realtime: {priority: 50}", "lanes: 1", "realtime: {priority: 7}", "realtime: {priority: 50}",
                  "backend: cpu, realtime: {priority: 99}"});
  std::vector<int> urgencies;
  for (const PipelineSpec& p : file.spec.pipelines) urgencies.push_back(p.urgency);
  EXPECT_THAT(urgencies, ElementsAre(2, 0, 1, 2, 0));
  EXPECT_EQ(Pipelines({"realtime: {priority: 50}"})[0].urgency, 0) << "alone";
  Pipelines apart({"backend: cuda:0, realtime: {priority: 50}", "backend: cuda:1, realtime: {priority: 7}"});
  EXPECT_EQ(apart[0].urgency, 0) << "alone on its device";
}

TEST(SpecShares, AChangeConcernsItsPipelineAndThoseWithoutAShare) {
  Pipelines running({"gpu: {share: 8 SM}", "gpu: {share: 8 SM}", "lanes: 1", "backend: cuda:1"});
  Pipelines next({"gpu: {share: 16 SM}", "gpu: {share: 8 SM}", "lanes: 1", "backend: cuda:1"});
  const auto changes = [&](std::size_t i) { return compare(running[i], next[i]).keys; };
  EXPECT_THAT(changes(0), ElementsAre("gpu.share"));
  EXPECT_TRUE(changes(1).empty());
  EXPECT_THAT(changes(2), ElementsAre("gpu.share"));
  EXPECT_FALSE(compare(running[0], next[0]).is_by_others());
  EXPECT_TRUE(compare(running[2], next[2]).is_by_others());
  EXPECT_TRUE(changes(3).empty());
  EXPECT_TRUE(same_part(running[1], next[1]));
  EXPECT_FALSE(same_part(running[2], next[2]));
}

TEST(SpecShares, APriorityConcernsThoseWhoseRankItChanges) {
  Pipelines running({"realtime: {priority: 50}", "realtime: {priority: 50}", "lanes: 1"});
  Pipelines next({"realtime: {priority: 50}", "realtime: {priority: 20}", "lanes: 1"});
  EXPECT_THAT(compare(running[0], next[0]).keys, ElementsAre("realtime.priority"));
  EXPECT_THAT(compare(running[1], next[1]).keys, ElementsAre("realtime.priority"));
  EXPECT_TRUE(compare(running[2], next[2]).none());
}

}  // namespace
}  // namespace iqd::testing
