// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/key_judge.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iqd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Has problems that depend on its input, and some that do not.
class Picky final : public Stage {
 public:
  void fields(FieldVisitor&) override {}
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    context.section.problem("word", "is no word");
    context.section.problem("cutoff", fmt::format("is not below {} Hz", in.rate_hz / 2));
    if (in.row_count() < 2) context.section.problem("pair", "needs two channels");
    if (in.rate_hz > 1e6) context.section.problem("speed", "is too low");
    if (context.most_new < 1000) context.section.problem("size", "is longer than a block");
  }
  std::unique_ptr<StageRun> make(Backend&) const override { return nullptr; }
};

std::vector<std::string> said(const std::vector<InputSpec>& inputs) {
  StageEntry entry;
  entry.family = "test";
  entry.name = "picky";
  entry.inputs = inputs;
  entry.outputs = {{"out"}};
  Problems problems;
  Picky stage;
  judge_keys(stage, entry, Section("picky", {"x.yaml", 1, 1}, problems));
  std::vector<std::string> all;
  for (const Problem& p : problems) all.push_back(p.text());
  return all;
}

TEST(KeyJudge, ReportsOnlyWhatDoesNotDependOnTheInput) {
  EXPECT_THAT(said({{.name = "in", .elements = {Element::cf32}}}), ElementsAre("x.yaml:1:1 picky.word: is no word"));
  EXPECT_THAT(said({{.name = "in", .elements = {Element::cf32, Element::f32}, .dims = "any"}}),
              ElementsAre("x.yaml:1:1 picky.word: is no word"));
}

TEST(KeyJudge, LeavesItemsAlone) {
  EXPECT_THAT(said({{.name = "in", .elements = {Element::cf32}, .dims = "[packet][sample]"}}), IsEmpty());
}

}  // namespace
}  // namespace iqd
