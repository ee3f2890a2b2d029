// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/coding/merge_words/merge_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/stages/stages.hpp"
#include "tests/support/coding_items.hpp"

namespace iqd::merge_words {
namespace {

using coding::all_of;
using coding::Bytes;
using coding::items_of;
using coding::outputs_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MergeWords, OnlyWordsThatFailedAreReplaced) {
  const Bytes bits{1, 1, 1, 1, 1, 1, 1, 1}, failed{0, 0, 0, 1, 1, 1, 0, 0};
  const Bytes again{2, 3, 4, 5}, failed_again{0, 0, 1, 0};
  const auto out = outputs_of(
      entry(), {items_of(bits, {{"word", 2}, {"k", 1}}), items_of(failed, {{"word", 2}}),
                items_of(again, {{"word", 2}, {"k", 1}}, "retry"), items_of(failed_again, {{"word", 2}}, "retry")});
  EXPECT_THAT(all_of<std::uint8_t>(out[0]), ElementsAre(1, 1, 1, 3, 4, 5, 1, 1));
  EXPECT_THAT(all_of<std::uint8_t>(out[1]), ElementsAre(0, 0, 0, 0, 1, 0, 0, 0));
  EXPECT_THAT(all_of<std::int64_t>(out[kTally]), ElementsAre(8, 2, 1));
}

TEST(MergeWords, WordsThatAFrameDoesNotHaveAreNotCounted) {
  const Bytes bits{1, 1, 1, 1, 1, 1}, failed{0, 1, 0, 0, 0, 0};
  const auto out = outputs_of(
      entry(), {items_of(bits, {{"word", 3}, {"k", 1}}), items_of(failed, {{"word", 3}}),
                items_of(Bytes{2, 2, 2}, {{"word", 3}, {"k", 1}}, "retry"), items_of(Bytes(3), {{"word", 3}}, "retry"),
                items_of(std::vector<std::int32_t>{4, 15, 0, 3, 0, 0}, {{"word", 3}})});
  EXPECT_THAT(all_of<std::uint8_t>(out[0]), ElementsAre(1, 2, 1, 1, 1, 1));
  EXPECT_THAT(all_of<std::int64_t>(out[kTally]), ElementsAre(3, 1, 0));
}

TEST(MergeWords, AFrameWithoutASecondPassKeepsItsBits) {
  const Bytes bits{7, 8}, failed{1, 1};
  const auto out = outputs_of(
      entry(), {items_of(bits, {{"word", 1}, {"k", 1}}), items_of(failed, {{"word", 1}}),
                items_of(Bytes{9}, {{"word", 1}, {"k", 1}}, "retry"), items_of(Bytes{0}, {{"word", 1}}, "retry")});
  EXPECT_THAT(all_of<std::uint8_t>(out[0]), ElementsAre(9, 8));
  EXPECT_THAT(all_of<std::uint8_t>(out[1]), ElementsAre(0, 1));
}

TEST(MergeWords, RefusesOtherWords) {
  Problems problems;
  const StageEntry stage = entry();
  const StageRunner runner(stage, "{}",
                           {items_of(Bytes(6), {{"word", 2}, {"k", 3}}), items_of(Bytes(2), {{"word", 2}}),
                            items_of(Bytes(6), {{"word", 3}, {"k", 2}}), items_of(Bytes(3), {{"word", 3}})},
                           0, "cpu", problems);
  ASSERT_FALSE(problems.empty());
  EXPECT_THAT(problems[0].text(), HasSubstr("have to have the words of 'bits' and 'failed'"));
}

}  // namespace
}  // namespace iqd::merge_words
