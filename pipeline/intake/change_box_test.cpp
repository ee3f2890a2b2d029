// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/change_box.hpp"

#include <gtest/gtest.h>

namespace iqd {
namespace {

StreamChange change_of(int priority) {
  StreamChange change;
  change.options.priority = priority;
  return change;
}

TEST(ChangeBox, HoldsNothingAtFirst) {
  ChangeBox box;
  EXPECT_FALSE(box.is_posted());
  EXPECT_EQ(box.take(), nullptr);
  EXPECT_FALSE(box.withdraw());
}

TEST(ChangeBox, DeliversOnce) {
  ChangeBox box;
  box.post(change_of(7));
  ASSERT_TRUE(box.is_posted());
  StreamChange* const taken = box.take();
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->options.priority, 7);
  EXPECT_EQ(box.take(), nullptr);
  EXPECT_FALSE(box.is_done());
  box.done({});
  EXPECT_TRUE(box.is_done());
  EXPECT_TRUE(box.collect().is_done());
  EXPECT_FALSE(box.is_done());
}

TEST(ChangeBox, ARefusalDoesNotOutliveItsChange) {
  ChangeBox box;
  box.post(change_of(1));
  box.take();
  box.done({ChangeOutcome::Answer::refused, "out of range"});
  const ChangeOutcome outcome = box.collect();
  EXPECT_EQ(outcome.answer, ChangeOutcome::Answer::refused);
  EXPECT_EQ(outcome.why, "out of range");
  box.post(change_of(2));
  box.take();
  box.done({});
  EXPECT_TRUE(box.collect().is_done());
}

TEST(ChangeBox, WithdrawnWhileNobodyHasTakenIt) {
  ChangeBox box;
  box.post(change_of(1));
  EXPECT_TRUE(box.withdraw());
  EXPECT_EQ(box.take(), nullptr);
  box.post(change_of(2));
  box.take();
  EXPECT_FALSE(box.withdraw()) << "the receiver was quicker";
  box.done({});
  EXPECT_TRUE(box.is_done());
}

}  // namespace
}  // namespace iqd
