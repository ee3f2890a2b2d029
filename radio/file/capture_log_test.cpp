// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/capture_log.hpp"

#include <gtest/gtest.h>

#include "radio/file/awaited_annotations.hpp"
#include "radio/messages_for_test.hpp"

namespace iqd::radio {
namespace {

class Captures : public ::testing::Test {
 protected:
  /// A message of 100 items.
  Message message(SampleIndex sample, std::int64_t gap = 0) {
    return message_of<const float>(format_, sample, samples_, gap);
  }
  /// Records a message without a retune as the items from `item` on.
  std::optional<SigmfCapture> record(SampleIndex sample, std::int64_t item, std::int64_t gap = 0) {
    return log_.after_retune(message(sample, gap), 0, item);
  }

  PortFormat format_ = stream_format(Element::f32);
  std::vector<float> samples_ = std::vector<float>(100);
  CaptureLog log_{format_};
};

TEST_F(Captures, TheFirstItemAndEachGapNeedOne) {
  const auto first = record(1000, 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->sample_start, 0);
  EXPECT_EQ(first->global_index, 1000);
  EXPECT_EQ(first->frequency_hz, 1.4515e9);
  ASSERT_TRUE(first->time);
  EXPECT_FALSE(record(1100, 100));
  const auto after_gap = record(1230, 200, 30);
  ASSERT_TRUE(after_gap);
  EXPECT_EQ(after_gap->sample_start, 200);
  EXPECT_EQ(after_gap->global_index, 1230);
  EXPECT_FALSE(record(1330, 300));
  EXPECT_TRUE(record(1440, 400)) << "a gap that the message does not report";
}

TEST_F(Captures, TheIndexGrowsWhenTheStreamStartsAgain) {
  record(1000, 0);
  const auto again = record(0, 100, 7);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->global_index, 1107);
  EXPECT_FALSE(record(100, 200));
  const auto later = record(300, 300, 100);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->global_index, 1407);
}

TEST_F(Captures, ARetuneDividesAMessage) {
  record(0, 0);
  Message retuned = message(100);
  retuned.tuned = 140;
  retuned.retuned_hz = 1e6;
  log_.note_retune(retuned);
  ASSERT_EQ(log_.items_before_retune(retuned), 40);
  EXPECT_FALSE(log_.before_retune(retuned, 100)) << "these continue the capture before";
  const auto capture = log_.after_retune(retuned, 40, 140);
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->sample_start, 140);
  EXPECT_EQ(capture->global_index, 140);
  EXPECT_EQ(capture->frequency_hz, 1.4525e9);
  EXPECT_EQ(log_.items_before_retune(retuned), 0) << "a capture shows it";
}

TEST_F(Captures, AStageThatMovesTheFrequencyNeedsOne) {
  record(0, 0);
  Message moved = message(100);
  moved.retuned_hz = moved.was_retuned_hz = 40e3;
  const auto capture = log_.after_retune(moved, 0, 100);
  ASSERT_TRUE(capture);
  EXPECT_EQ(capture->sample_start, 100);
  EXPECT_EQ(capture->frequency_hz, 1.45154e9);
}

TEST_F(Captures, AStageAndTheRadioMayMoveItInOneMessage) {
  record(0, 0);
  Message both = message(100);
  both.tuned = 140;
  both.was_retuned_hz = 40e3;
  both.retuned_hz = 1.04e6;
  log_.note_retune(both);
  const auto before = log_.before_retune(both, 100);
  ASSERT_TRUE(before);
  EXPECT_EQ(before->frequency_hz, 1.45154e9);
  const auto after = log_.after_retune(both, 40, 140);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->sample_start, 140);
  EXPECT_EQ(after->frequency_hz, 1.45254e9);
}

TEST_F(Captures, ARetuneInALaterMessageWaits) {
  record(0, 0);
  Message early = message(100);
  early.tuned = 250;
  log_.note_retune(early);
  EXPECT_EQ(log_.items_before_retune(early), 100);
  EXPECT_FALSE(log_.before_retune(early, 100));
  EXPECT_EQ(log_.items_before_retune(message(200)), 50);
}

TEST(AwaitedAnnotations, ComeWhenTheirLastItemHasArrived) {
  AwaitedAnnotations awaited;
  awaited.add({.reason = "gap > 0", .number = 3, .first = 20, .items = 30}, 100);
  EXPECT_TRUE(awaited.take_complete(149).empty());
  const auto complete = awaited.take_complete(150);
  ASSERT_EQ(complete.size(), 1u);
  EXPECT_EQ(complete[0].sample_start, 120);
  EXPECT_EQ(complete[0].sample_count, 30);
  EXPECT_EQ(complete[0].label, "gap > 0");
  EXPECT_EQ(complete[0].comment, "trigger 3");
  EXPECT_TRUE(awaited.take_complete(150).empty());
}

TEST(AwaitedAnnotations, AreCutAtTheEnd) {
  AwaitedAnnotations awaited;
  awaited.add({.reason = "cut", .items = 30}, 100);
  awaited.add({.reason = "gone", .items = 30}, 110);
  awaited.cut(110);
  const auto complete = awaited.take_complete(110);
  ASSERT_EQ(complete.size(), 1u);
  EXPECT_EQ(complete[0].label, "cut");
  EXPECT_EQ(complete[0].sample_count, 10);
}

}  // namespace
}  // namespace iqd::radio
