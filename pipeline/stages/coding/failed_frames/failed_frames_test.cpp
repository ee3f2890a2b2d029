// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/coding/failed_frames/failed_frames.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/stages/stages.hpp"
#include "tests/support/coding_items.hpp"

namespace iqd::failed_frames {
namespace {

using coding::all_of;
using coding::Bytes;
using coding::items_of;
using coding::outputs_of;
using ::testing::ElementsAre;

TEST(FailedFrames, AreTakenOutInOrder) {
  const Bytes failed{0, 0, 0, 1, 0, 0, 1, 1};
  const std::vector<cf32> carriers{{0, 1}, {2, 3}, {4, 5}, {6, 7}};
  const std::vector<float> posterior{1, 2, 3, 4}, extrinsic{10, 20, 30, 40};
  for (const std::int64_t block : {0, 1, 3}) {
    const auto out = outputs_of(entry(),
                                {items_of(failed, {{"word", 2}}), items_of(carriers, {{"carrier", 1}}),
                                 items_of(posterior, {{"bit", 1}}), items_of(extrinsic, {{"bit", 1}})},
                                block);
    EXPECT_EQ(all_of<cf32>(out[0]), (std::vector<cf32>{{2, 3}, {6, 7}})) << block;
    EXPECT_THAT(all_of<float>(out[1]), ElementsAre(2, 4));
    EXPECT_THAT(all_of<float>(out[2]), ElementsAre(20, 40));
    EXPECT_EQ(out[0].shape.axis_name, "retry");
  }
}

TEST(FailedFrames, TakeTheirModulationAlong) {
  const Bytes failed{0, 1, 1, 0}, sent{4, 2, 6, 0, 2, 2, 4, 4};
  const std::vector<float> llr{1, 2, 3, 4, 5, 6, 7, 8};
  const auto out =
      outputs_of(entry(), {items_of(failed, {{"word", 1}}), items_of(std::vector<cf32>(4), {{"carrier", 1}}),
                           items_of(llr, {{"tx", 2}, {"bit", 1}}), items_of(llr, {{"tx", 2}, {"bit", 1}}),
                           items_of(sent, {{"tx", 2}})});
  EXPECT_THAT(all_of<std::uint8_t>(out[kModulation]), ElementsAre(6, 0, 2, 2));
  EXPECT_EQ(out[kModulation].shape.axis_name, "retry");
}

TEST(FailedFrames, WithoutFailuresNothingIsTakenOut) {
  const auto out = outputs_of(
      entry(), {items_of(Bytes(6), {{"word", 2}}), items_of(std::vector<cf32>(3), {{"carrier", 1}}),
                items_of(std::vector<float>(3), {{"bit", 1}}), items_of(std::vector<float>(3), {{"bit", 1}})});
  EXPECT_TRUE(all_of<cf32>(out[0]).empty());
  EXPECT_THAT(all_of<std::int64_t>(out[kTally]), ElementsAre(3, 0));
}

}  // namespace
}  // namespace iqd::failed_frames
