// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/silence_watch.hpp"

#include <gtest/gtest.h>

namespace iqd {
namespace {

constexpr std::int64_t kMs = 1'000'000;

class SilenceWatchTest : public ::testing::Test {
 protected:
  SilenceWatchTest() {
    watch_.set_patience({}, kMs);
    counters_.state = SourceState::streaming;
  }
  Counters counters_;
  SilenceWatch watch_{false, counters_};
};

TEST_F(SilenceWatchTest, OverdueAfterThePatience) {
  watch_.arrived(1000 * kMs, kMs);
  EXPECT_FALSE(watch_.is_overdue(1051 * kMs));
  EXPECT_TRUE(watch_.is_overdue(1051 * kMs + 1));
}

TEST_F(SilenceWatchTest, ThePatienceIsTwoBlocksOrAsConfigured) {
  watch_.set_patience({}, 40 * kMs);
  watch_.arrived(1000 * kMs, 0);
  EXPECT_FALSE(watch_.is_overdue(1080 * kMs));
  EXPECT_TRUE(watch_.is_overdue(1080 * kMs + 1));
  IntakeOptions options;
  options.stalled_ns = 10 * kMs;
  watch_.set_patience(options, 40 * kMs);
  watch_.arrived(2000 * kMs, 0);
  EXPECT_FALSE(watch_.is_overdue(2010 * kMs));
  EXPECT_TRUE(watch_.is_overdue(2010 * kMs + 1));
}

TEST_F(SilenceWatchTest, StallsOnce) {
  watch_.arrived(1000 * kMs, kMs);
  watch_.look(1040 * kMs);
  EXPECT_EQ(counters_.state.load(), SourceState::streaming);
  watch_.look(1100 * kMs);
  watch_.look(1200 * kMs);
  EXPECT_EQ(counters_.state.load(), SourceState::stalled);
  EXPECT_EQ(counters_.stalls.value(), 1u);
}

TEST_F(SilenceWatchTest, ABacklogGivesTimeUntilTheNext) {
  for (int i = 0; i < 10; ++i) watch_.arrived(1000 * kMs, 100 * kMs);  // a second's worth at once
  EXPECT_FALSE(watch_.is_overdue(2050 * kMs));
  EXPECT_TRUE(watch_.is_overdue(2051 * kMs));
}

TEST_F(SilenceWatchTest, TheBacklogIsBelievedUpToALimit) {
  watch_.arrived(1000 * kMs, 3'600'000 * kMs);
  EXPECT_FALSE(watch_.is_overdue(3550 * kMs));
  EXPECT_TRUE(watch_.is_overdue(3551 * kMs));
}

TEST_F(SilenceWatchTest, NothingIsDueBetweenTwoPieces) {
  watch_.arrived(1000 * kMs, kMs);
  watch_.expect_nothing();
  EXPECT_FALSE(watch_.is_overdue(1'000'000 * kMs));
}

TEST_F(SilenceWatchTest, NothingIsDueBeforeTheFirstSamples) {
  EXPECT_FALSE(watch_.is_overdue(1'000'000 * kMs));
}

TEST_F(SilenceWatchTest, AFileIsNeverOverdue) {
  SilenceWatch file(true, counters_);
  file.set_patience({}, kMs);
  file.arrived(1000 * kMs, kMs);
  EXPECT_FALSE(file.is_overdue(1'000'000 * kMs));
}

TEST_F(SilenceWatchTest, SilenceCountsFromSamplesOpeningOrExcuse) {
  watch_.arrived(1000 * kMs, kMs);
  EXPECT_EQ(watch_.silent_ns(1500 * kMs), 500 * kMs);
  watch_.opened(1400 * kMs);
  EXPECT_EQ(watch_.silent_ns(1500 * kMs), 100 * kMs);
  watch_.excuse(1450 * kMs);
  EXPECT_EQ(watch_.silent_ns(1500 * kMs), 50 * kMs);
  EXPECT_EQ(watch_.last_data_ns(), 1450 * kMs);
}

}  // namespace
}  // namespace iqd
