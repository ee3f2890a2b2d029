// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/bench/stage_trial.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "daemon/bench/bench_input.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kBlock = 100;

std::vector<StageInput> samples(std::int64_t length = kBlock * kBlocksOfInput) {
  StageInput in;
  in.length = length;
  in.shape.rate_hz = in.shape.source_rate_hz = 1e6;
  fill_random(in, false);
  return {in};
}

StageTrial trial_of(std::string_view stage, const std::string& keys) {
  return {.entry = find_stage(stage), .keys = keys, .block = kBlock, .backend = "cpu"};
}

std::vector<StageOutput> outputs_of(const StageTrial& trial, const std::vector<StageInput>& inputs) {
  Problems problems;
  const auto runner = make_runner(trial, inputs, Timed::whole, problems);
  EXPECT_TRUE(problems.empty());
  return runner ? runner->run() : std::vector<StageOutput>{};
}

StageInput input_of(const StageOutput& output) {
  StageInput in;
  in.shape = output.shape;
  in.length = output.length;
  in.data = output.joined();
  return in;
}

TEST(StageTrial, AChainGivesWhatItsStagesGiveOneAfterTheOther) {
  const std::vector<StageInput> x = samples();
  const auto filtered = outputs_of(trial_of("fir", "{taps: [1, 2, 3], decimation: 2}"), x);
  StageTrial second = trial_of("conjugate", "{}");
  const auto conjugated = outputs_of(second, {input_of(filtered.at(0))});
  const auto expected = outputs_of(trial_of("complex_to_mag", "{}"), {input_of(conjugated.at(0))});
  StageTrial chain = trial_of("fir", "{taps: [1, 2, 3], decimation: 2}");
  chain.behind = {{find_stage("conjugate"), "{}"}, {find_stage("complex_to_mag"), "{}"}};
  for (const bool fuse : {true, false}) {
    chain.fuse = fuse;
    const auto got = outputs_of(chain, x);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].length, kBlock * kBlocksOfInput / 2);
    EXPECT_EQ(got[0].rows, expected.at(0).rows);
  }
}

TEST(StageTrial, WhatTheKeysOfAStageBehindLackIsAProblem) {
  StageTrial chain = trial_of("conjugate", "{}");
  chain.behind = {{find_stage("multiply_const"), "{}"}};
  Problems problems;
  EXPECT_EQ(make_runner(chain, samples(), Timed::whole, problems), nullptr);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems.front().path, "value");
}

TEST(StageTrial, StagesThatDoNotGoTogetherAreAProblem) {
  StageTrial chain = trial_of("complex_to_mag", "{}");
  chain.behind = {{find_stage("conjugate"), "{}"}};
  Problems problems;
  EXPECT_EQ(make_runner(chain, samples(), Timed::whole, problems), nullptr);
  EXPECT_FALSE(problems.empty());
}

/// Replaces each sample by the length of the block.
class BlockLength final : public Stage {
 public:
  explicit BlockLength(bool says_so) : says_so_(says_so) {}
  void fields(FieldVisitor&) override {}
  void shape(ShapeContext& context) override { context.chunk_exempt = says_so_; }
  std::unique_ptr<StageRun> make(Backend&) const override {
    return cpu_run([](const StageIo& io) noexcept {
      const View<cf32, 2> y = io.out[0].as<cf32>();
      for (std::int64_t n = 0; n < y.extent(1); ++n) y(0, n) = static_cast<float>(y.extent(1));
    });
  }

 private:
  bool says_so_;
};
template <bool kSaysSo> std::unique_ptr<Stage> make_block_length() {
  return std::make_unique<BlockLength>(kSaysSo);
}

StageEntry block_length(std::unique_ptr<Stage> (*make)()) {
  return {.family = "test",
          .name = "block_length",
          .summary = {},
          .inputs = {{.name = "in", .elements = {Element::cf32}}},
          .outputs = {{.name = "out"}},
          .make = make,
          .sample = {}};
}

TEST(StageTrial, ResultsAreHeldAgainstOtherBlocks) {
  EXPECT_TRUE(check_results(trial_of("fir", "{taps: [1, 2, 3]}"), samples(), 0));
  const StageEntry wrong = block_length(make_block_length<false>);
  StageTrial trial{.entry = &wrong, .block = kBlock, .backend = "cpu"};
  EXPECT_THROW(check_results(trial, samples(), 1e-6), WrongResult);
  const StageEntry exempt = block_length(make_block_length<true>);
  trial.entry = &exempt;
  EXPECT_FALSE(check_results(trial, samples(), 0));
}

TEST(StageTrial, EachBlockIsTimedThoughThereIsNoTime) {
  Problems problems;
  const auto runner = make_runner(trial_of("conjugate", "{}"), samples(), Timed::whole, problems);
  const std::vector<double> us = time_blocks(*runner, kBlock, Timed::whole, 0);
  EXPECT_GE(us.size(), 10u);
  for (const double t : us) EXPECT_GE(t, 0);
}

}  // namespace
}  // namespace iqd
