// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/tuning_log.hpp"

#include <gtest/gtest.h>

#include "tests/support/scripted_source.hpp"

namespace iqd::testing {
namespace {

class TuningLogTest : public ::testing::Test {
 protected:
  static SampleBlock block(SampleIndex first, std::int64_t length = 100) {
    SampleBlock b;
    b.first = first;
    b.length = length;
    return b;
  }
  SampleBlock marked(SampleIndex first) {
    SampleBlock b = block(first);
    log_.mark(b);
    return b;
  }
  void tune(SampleIndex from, double hz) {
    StreamInfo stream;
    stream.frequency_hz = hz;
    log_.add(from, options_, stream);
  }

  SourceView view_;
  ScriptedOptions options_{StreamInfo{}, {}, view_};
  Counters counters_;
  TuningLog log_{100e6, 100e6, counters_};
};

TEST_F(TuningLogTest, BlocksBeforeARetuneDoNotShowIt) {
  tune(250, 101e6);
  EXPECT_EQ(counters_.tuned.load(), 250);
  EXPECT_EQ(counters_.frequency_hz.value(), 101e6);
  EXPECT_EQ(marked(0).tuned, -1);
  EXPECT_EQ(marked(100).retuned_hz, 0);
  const SampleBlock in = marked(200);
  EXPECT_EQ(in.tuned, 250);
  EXPECT_EQ(in.retuned_hz, 1e6);
  EXPECT_EQ(in.was_retuned_hz, 0);
  const SampleBlock behind = marked(300);
  EXPECT_EQ(behind.tuned, -1);
  EXPECT_EQ(behind.retuned_hz, 1e6);
  EXPECT_EQ(behind.was_retuned_hz, 1e6);
}

TEST_F(TuningLogTest, OfSeveralInABlockTheLastCounts) {
  tune(110, 101e6);
  tune(150, 99e6);
  const SampleBlock b = marked(100);
  EXPECT_EQ(b.tuned, 150);
  EXPECT_EQ(b.retuned_hz, -1e6);
}

TEST_F(TuningLogTest, ARetuneInAGapIsShownByTheBlockBehind) {
  tune(150, 101e6);
  const SampleBlock b = marked(400);
  EXPECT_EQ(b.tuned, 400);
  EXPECT_EQ(b.retuned_hz, 1e6);
}

TEST_F(TuningLogTest, TheNextIsNeverBeforeTheLast) {
  tune(500, 101e6);
  tune(300, 102e6);
  EXPECT_EQ(counters_.tuned.load(), 500);
}

TEST_F(TuningLogTest, WhatWasNotDeliveredIsShownAgain) {
  tune(150, 101e6);
  tune(250, 102e6);
  const std::array lost{marked(100), marked(200)};
  ASSERT_EQ(lost[0].tuned, 150);
  ASSERT_EQ(lost[1].tuned, 250);
  log_.unmark(lost);
  log_.compare_with(102e6);
  const SampleBlock again = marked(100);
  EXPECT_EQ(again.tuned, 150);
  EXPECT_EQ(again.retuned_hz, -1e6);
  EXPECT_EQ(marked(200).retuned_hz, 0);
}

}  // namespace
}  // namespace iqd::testing
