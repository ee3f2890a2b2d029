// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/silence_watch.hpp"

#include <gtest/gtest.h>

#include "base/log.hpp"

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
  SilenceWatch watch_{"test", {.rate_hz = 1e6}, counters_};
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

TEST_F(SilenceWatchTest, LongBlocksGiveNoMoreThanASecond) {
  watch_.set_patience({}, 60'000 * kMilli);
  watch_.arrived(1000 * kMilli, kMilli);
  EXPECT_FALSE(watch_.is_overdue(2001 * kMilli));
  EXPECT_TRUE(watch_.is_overdue(2001 * kMilli + 1));
  EXPECT_EQ(watch_.idle_ns(2001 * kMilli), 0);
}

TEST_F(SilenceWatchTest, WhatComesInLongMessagesHasTimeForOne) {
  watch_.set_patience({}, 60'000 * kMilli);
  watch_.arrived(1000 * kMilli, 4000 * kMilli);
  EXPECT_FALSE(watch_.is_overdue((1000 + 2500 + 4000) * kMilli));
  EXPECT_TRUE(watch_.is_overdue((1000 + 2500 + 4000) * kMilli + 1));
}

TEST_F(SilenceWatchTest, ASourceThatCanStallIsNotIdleBeforeItIsOverdue) {
  IntakeOptions options;
  options.stalled_ns = 5000 * kMilli;
  watch_.set_patience(options, kMilli);
  watch_.arrived(1000 * kMilli, 0);
  EXPECT_EQ(watch_.idle_ns(6000 * kMilli), 0) << "no reader is at fault";
  EXPECT_GT(watch_.idle_ns(6001 * kMilli), 0);
}

TEST_F(SilenceWatchTest, ACallThatDoesNotReturnStallsOnceToo) {
  watch_.arrived(1000 * kMilli, kMilli);
  const std::uint64_t lines = log::lines();
  watch_.look_during_call(1040 * kMilli);
  EXPECT_EQ(counters_.stalls.value(), 0u);
  watch_.look_during_call(1500 * kMilli);
  EXPECT_EQ(counters_.state.load(), SourceState::stalled);
  for (int i = 0; i < 5; ++i) watch_.look_during_call((2000 + i) * kMilli);
  watch_.look(2100 * kMilli);
  EXPECT_EQ(counters_.stalls.value(), 1u);
  EXPECT_EQ(log::lines(), lines + 1);
  watch_.expect_nothing();
  watch_.look_during_call(9000 * kMilli);
  EXPECT_FALSE(watch_.is_overdue(99'000 * kMilli)) << "a piece has ended";
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
  SilenceWatch file("test", {.rate_hz = 1e6, .can_wait = true}, counters_);
  file.set_patience({}, kMilli);
  file.arrived(1000 * kMilli, kMilli);
  EXPECT_FALSE(file.is_overdue(1'000'000 * kMilli));
}

TEST_F(SilenceWatchTest, APeerIsOverdueAlthoughItCanWait) {
  SilenceWatch peer("test", {.rate_hz = 1e6, .can_wait = true, .from_peer = true}, counters_);
  peer.set_patience({}, kMilli);
  peer.arrived(1000 * kMilli, kMilli);
  EXPECT_FALSE(peer.is_overdue(1051 * kMilli));
  EXPECT_EQ(peer.trouble(1051 * kMilli), "");
  EXPECT_TRUE(peer.is_overdue(1051 * kMilli + 1));
  EXPECT_EQ(peer.trouble(4000 * kMilli), "no samples for 3.0 s");
}

TEST_F(SilenceWatchTest, APeerThatHasNeverBeenThereStalls) {
  SilenceWatch peer("test", {.rate_hz = 1e6, .can_wait = true, .from_peer = true}, counters_);
  peer.set_patience({}, kMilli);
  counters_.state = SourceState::opening;
  peer.opened(1000 * kMilli);
  peer.look(1999 * kMilli);
  EXPECT_EQ(counters_.state.load(), SourceState::opening);
  peer.look(2001 * kMilli);
  EXPECT_EQ(counters_.state.load(), SourceState::stalled);
  EXPECT_EQ(counters_.stalls.value(), 1u);
}

TEST_F(SilenceWatchTest, ARadioThatHasJustBeenOpenedIsOpenedAgainInstead) {
  SilenceWatch radio("test", {.rate_hz = 1e6, .reconnects = true}, counters_);
  radio.set_patience({}, kMilli);
  counters_.state = SourceState::opening;
  radio.opened(1000 * kMilli);
  const std::uint64_t lines = log::lines();
  radio.look(4000 * kMilli);
  EXPECT_EQ(counters_.state.load(), SourceState::opening);
  EXPECT_EQ(counters_.stalls.value(), 0u);
  EXPECT_EQ(log::lines(), lines);
  EXPECT_EQ(radio.trouble(4000 * kMilli), "no samples for 3.0 s");
}

TEST_F(SilenceWatchTest, ASecondIsLoggedAndItsEnd) {
  watch_.arrived(1000 * kMilli, kMilli);
  const std::uint64_t lines = log::lines();
  watch_.look(1900 * kMilli);
  EXPECT_EQ(log::lines(), lines);
  for (int i = 0; i < 10; ++i) watch_.look((2000 + i * 100) * kMilli);
  EXPECT_EQ(log::lines(), lines + 1);
  watch_.arrived(3000 * kMilli, kMilli);
  EXPECT_EQ(log::lines(), lines + 2);
  watch_.look(3900 * kMilli);
  watch_.arrived(3950 * kMilli, kMilli);
  EXPECT_EQ(log::lines(), lines + 2) << "less than a second";
}

TEST_F(SilenceWatchTest, LessIsLoggedWhereLessIsSilence) {
  IntakeOptions options;
  options.silent_ns = 200 * kMilli;
  watch_.set_patience(options, kMilli);
  watch_.arrived(1000 * kMilli, kMilli);
  const std::uint64_t lines = log::lines();
  watch_.look(1199 * kMilli);
  EXPECT_EQ(log::lines(), lines);
  watch_.look(1200 * kMilli);
  EXPECT_EQ(log::lines(), lines + 1);
}

TEST_F(SilenceWatchTest, WhoeverDidNotReadWaitsAgain) {
  watch_.arrived(1000 * kMilli, kMilli);
  watch_.excuse(5000 * kMilli);
  EXPECT_FALSE(watch_.is_overdue(5050 * kMilli));
  EXPECT_TRUE(watch_.is_overdue(5051 * kMilli));
}

TEST_F(SilenceWatchTest, AfterAPieceTheNextIsDueWhenTheSourceSaysSo) {
  watch_.arrived(1000 * kMilli, kMilli);
  watch_.expect_nothing();
  watch_.look(5000 * kMilli);
  EXPECT_FALSE(watch_.is_overdue(5050 * kMilli));
  watch_.look(5051 * kMilli);
  EXPECT_EQ(counters_.state.load(), SourceState::stalled);
}

TEST_F(SilenceWatchTest, ASourceThatIsNotReadIsIdle) {
  SilenceWatch file("test", {.rate_hz = 1e6, .can_wait = true}, counters_);
  file.set_patience({}, kMilli);
  EXPECT_EQ(file.idle_ns(9000 * kMilli), 0) << "not opened yet";
  file.opened(1000 * kMilli);
  file.arrived(1000 * kMilli, kMilli);
  EXPECT_EQ(file.idle_ns(3000 * kMilli), 0);
  EXPECT_EQ(file.idle_ns(4000 * kMilli), 3000 * kMilli);
  file.expect_nothing();
  EXPECT_EQ(file.idle_ns(9000 * kMilli), 0);
}

TEST_F(SilenceWatchTest, SlowSourcesHaveTimeForTwoSamples) {
  SilenceWatch file("test", {.rate_hz = 0.5, .can_wait = true}, counters_);
  file.set_patience({}, kMilli);
  file.arrived(1000 * kMilli, kMilli);
  EXPECT_EQ(file.idle_ns(7000 * kMilli), 0);
  EXPECT_GT(file.idle_ns(7001 * kMilli), 0);
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
