// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/silence_watch.hpp"

#include <gtest/gtest.h>

namespace iqd {
namespace {

constexpr std::int64_t kMilli = 1'000'000;

class SilenceWatchTest : public ::testing::Test {
 protected:
  SilenceWatchTest() {
    watch_.set_patience({}, kMilli);
    counters_.state = SourceState::streaming;
  }
  Counters counters_;
  SilenceWatch watch_{false, counters_};
};

TEST_F(SilenceWatchTest, OverdueAfterThePatience) {
  watch_.arrived(1000 * kMilli, kMilli);
  EXPECT_FALSE(watch_.is_overdue(1051 * kMilli));
  EXPECT_TRUE(watch_.is_overdue(1051 * kMilli + 1));
}

TEST_F(SilenceWatchTest, ThePatienceIsTwoBlocksOrAsConfigured) {
  watch_.set_patience({}, 40 * kMilli);
  watch_.arrived(1000 * kMilli, 0);
  EXPECT_FALSE(watch_.is_overdue(1080 * kMilli));
  EXPECT_TRUE(watch_.is_overdue(1080 * kMilli + 1));
  IntakeOptions options;
  options.stalled_ns = 10 * kMilli;
  watch_.set_patience(options, 40 * kMilli);
  watch_.arrived(2000 * kMilli, 0);
  EXPECT_FALSE(watch_.is_overdue(2010 * kMilli));
  EXPECT_TRUE(watch_.is_overdue(2010 * kMilli + 1));
}

TEST_F(SilenceWatchTest, StallsOnce) {
  watch_.arrived(1000 * kMilli, kMilli);
  watch_.look(1040 * kMilli);
  EXPECT_EQ(counters_.state.load(), SourceState::streaming);
  watch_.look(1100 * kMilli);
  watch_.look(1200 * kMilli);
  EXPECT_EQ(counters_.state.load(), SourceState::stalled);
  EXPECT_EQ(counters_.stalls.value(), 1u);
}

TEST_F(SilenceWatchTest, ABacklogGivesTimeUntilTheNext) {
  for (int i = 0; i < 10; ++i) watch_.arrived(1000 * kMilli, 100 * kMilli);  // a second's worth at once
  EXPECT_FALSE(watch_.is_overdue(2050 * kMilli));
  EXPECT_TRUE(watch_.is_overdue(2051 * kMilli));
}

TEST_F(SilenceWatchTest, TheBacklogIsBelievedUpToALimit) {
  watch_.arrived(1000 * kMilli, 3'600'000 * kMilli);
  EXPECT_FALSE(watch_.is_overdue(3550 * kMilli));
  EXPECT_TRUE(watch_.is_overdue(3551 * kMilli));
}

TEST_F(SilenceWatchTest, NothingIsDueBetweenTwoPieces) {
  watch_.arrived(1000 * kMilli, kMilli);
  watch_.expect_nothing();
  EXPECT_FALSE(watch_.is_overdue(1'000'000 * kMilli));
}

TEST_F(SilenceWatchTest, NothingIsDueBeforeTheFirstSamples) {
  EXPECT_FALSE(watch_.is_overdue(1'000'000 * kMilli));
}

TEST_F(SilenceWatchTest, AFileIsNeverOverdue) {
  SilenceWatch file(true, counters_);
  file.set_patience({}, kMilli);
  file.arrived(1000 * kMilli, kMilli);
  EXPECT_FALSE(file.is_overdue(1'000'000 * kMilli));
}

TEST_F(SilenceWatchTest, SilenceCountsFromSamplesOpeningOrExcuse) {
  watch_.arrived(1000 * kMilli, kMilli);
  EXPECT_EQ(watch_.silent_ns(1500 * kMilli), 500 * kMilli);
  watch_.opened(1400 * kMilli);
  EXPECT_EQ(watch_.silent_ns(1500 * kMilli), 100 * kMilli);
  watch_.excuse(1450 * kMilli);
  EXPECT_EQ(watch_.silent_ns(1500 * kMilli), 50 * kMilli);
  EXPECT_EQ(watch_.last_data_ns(), 1450 * kMilli);
}

}  // namespace
}  // namespace iqd
