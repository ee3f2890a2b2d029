// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/stream_clock.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace iqd {
namespace {

constexpr std::int64_t kMilliNs = 1'000'000;
constexpr std::int64_t kStartNs = 1'700'000'000'000'000'000;

/// A radio at 1 MS/s whose samples arrive as soon as they were taken, on a host clock that the test sets.
class StreamClockTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kPiece = 1000;

  static StreamInfo radio() {
    StreamInfo info;
    info.rate_hz = 1e6;
    info.reconnects = true;
    info.time = TimeSource::radio;
    return info;
  }
  static Received piece(std::int64_t time_ns) {
    Received r;
    r.event = Received::Event::samples;
    r.samples = kPiece;
    r.has_time = true;
    r.time_ns = time_ns;
    return r;
  }
  /// Receives a piece with this time stamp after `idle_ns`, and returns what was missing before it.
  std::int64_t receive(std::int64_t time_ns, std::int64_t idle_ns = kMilliNs) {
    Received r = piece(time_ns);
    now_ += idle_ns;
    const std::int64_t missing = clock_.missing_before(r, position_, now_, now_ - idle_ns);
    position_ += missing;
    clock_.arrived(r, position_, now_);
    position_ += r.samples;
    return missing;
  }
  /// Receives flawless pieces.
  void run(int pieces) {
    for (int i = 0; i < pieces; ++i) ASSERT_EQ(receive(kStartNs + position_ * 1000), 0);
  }

  Counters counters_;
  StreamClock clock_{"test", radio(), counters_};
  SampleIndex position_ = 0;
  std::int64_t now_ = 1'000 * kMilliNs;
};

/// Whichever samples a call returns, their times are those since the first one.
TEST_F(StreamClockTest, TimesMayCountFromAnEarlierSample) {
  StreamClock clock("test", {.rate_hz = 30.72e6, .time = TimeSource::radio, .can_wait = true}, counters_);
  Received r = piece(kStartNs + 33);
  r.since = 1;
  r.since_ns = kStartNs;
  clock.arrived(r, 1, now_);
  EXPECT_EQ(clock.time_of(0), kStartNs);
  EXPECT_EQ(clock.time_of(18'632), kStartNs + 606'510) << "606,510.42";
  EXPECT_EQ(clock.time_of(48), kStartNs + 1'563) << "1,562.5";
}

TEST_F(StreamClockTest, TimesFollowTheStamps) {
  run(3);
  EXPECT_EQ(clock_.time_of(0), kStartNs);
  EXPECT_EQ(clock_.time_of(2500), kStartNs + 2'500'000);
  EXPECT_EQ(clock_.source(), TimeSource::radio);
}

TEST_F(StreamClockTest, ALaterStampMeansLostSamples) {
  run(3);
  EXPECT_EQ(receive(kStartNs + (position_ + 700) * 1000, kMilliNs + 700'000), 700);
  EXPECT_EQ(counters_.time_jumps.value(), 0u);
  EXPECT_EQ(clock_.time_of(3700), kStartNs + 3'700'000);
}

TEST_F(StreamClockTest, AStampOfLessThanHalfASampleMeansNothing) {
  run(3);
  EXPECT_EQ(receive(kStartNs + position_ * 1000 + 499), 0);
  EXPECT_EQ(receive(kStartNs + position_ * 1000 - 499), 0);
}

TEST_F(StreamClockTest, AClockThatGoesFurtherThanTheHostsWasSet) {
  run(3);
  EXPECT_EQ(receive(kStartNs + position_ * 1000 + 3'600'000 * kMilliNs), 0);
  EXPECT_EQ(counters_.time_jumps.value(), 1u);
  EXPECT_EQ(clock_.time_of(3000), kStartNs + 3 * kMilliNs + 3'600'000 * kMilliNs);
}

TEST_F(StreamClockTest, AClockThatGoesBackWasSet) {
  run(3);
  EXPECT_EQ(receive(kStartNs + position_ * 1000 - 20 * kMilliNs), 0);
  EXPECT_EQ(counters_.time_jumps.value(), 1u);
}

TEST_F(StreamClockTest, TheDriversCountComesFirst) {
  run(3);
  Received r = piece(kStartNs);
  r.lost = 42;
  EXPECT_EQ(clock_.missing_before(r, position_, now_ + kMilliNs, now_), 42);
}

TEST_F(StreamClockTest, AnAnnouncedLossWithoutStampsIsMeasuredByTheHost) {
  run(3);
  clock_.expect_loss();
  Received r = piece(0);
  r.has_time = false;
  EXPECT_EQ(clock_.missing_before(r, position_, now_ + 8 * kMilliNs, now_), 8000 - kPiece);
}

TEST_F(StreamClockTest, AnAnnouncedLossIsAtLeastOneSample) {
  run(3);
  clock_.expect_loss();
  Received r = piece(0);
  r.has_time = false;
  EXPECT_EQ(clock_.missing_before(r, position_, now_, now_), 1);
}

TEST_F(StreamClockTest, StampsThatJitterReportNoLoss) {
  run(3);
  EXPECT_EQ(receive(kStartNs + position_ * 1000 - 20'000), 0);  // back by 20 us: once a jump…
  EXPECT_EQ(counters_.time_jumps.value(), 1u);
  for (const std::int64_t off : {30'000, -30'000, 15'000, 39'000})  // …then jitter up to twice as much
    EXPECT_EQ(receive(clock_.time_of(position_) + off), 0);
  EXPECT_EQ(counters_.time_jumps.value(), 1u);
}

TEST_F(StreamClockTest, NoGapLeadsBeyondTheLastPosition) {
  run(1);
  Received r = piece(0);
  r.lost = 500;
  clock_.limit_gaps(position_ + 500);
  EXPECT_EQ(clock_.missing_before(r, position_, now_, now_), 500);
  clock_.limit_gaps(position_ + 499);
  EXPECT_EQ(clock_.missing_before(r, position_, now_, now_), 1);
  EXPECT_EQ(counters_.time_jumps.value(), 1u);
}

TEST_F(StreamClockTest, APieceThatEndsLeavesTheNextItsOwnTime) {
  run(3);
  clock_.end_piece();
  EXPECT_EQ(receive(kStartNs + 5'000 * kMilliNs), 0);
  EXPECT_EQ(counters_.time_jumps.value(), 0u);
  EXPECT_EQ(clock_.time_of(3000), kStartNs + 5'000 * kMilliNs);
}

TEST_F(StreamClockTest, ReopenedWithTheHostsTime) {
  run(3);
  clock_.reopened(TimeSource::host);
  EXPECT_EQ(clock_.source(), TimeSource::host);
  Received r = piece(0);
  r.has_time = false;
  EXPECT_EQ(clock_.missing_before(r, position_, now_ + 50 * kMilliNs, now_), 50'000 - kPiece);
}

TEST_F(StreamClockTest, VerifyRefusesAnImpossibleNumberOfSamples) {
  Received r = piece(kStartNs);
  EXPECT_EQ(clock_.verify(r, kPiece), "");
  r.samples = kPiece + 1;
  EXPECT_NE(clock_.verify(r, kPiece).find("1001 samples; 1000 were requested"), std::string::npos);
  r.samples = -1;
  EXPECT_NE(clock_.verify(r, kPiece), "");
}

TEST_F(StreamClockTest, VerifyRefusesAnImpossibleLoss) {
  for (const std::int64_t lost : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    Received r = piece(kStartNs);
    r.lost = lost;
    EXPECT_NE(clock_.verify(r, kPiece), "") << lost;
  }
}

TEST_F(StreamClockTest, VerifyCorrectsWhatASourceThatStaysOpenClaims) {
  StreamInfo file = radio();
  file.reconnects = false;
  StreamClock clock("test", file, counters_);
  Received r = piece(SampleTime::kMostNs + 1);
  r.lost = -1;
  EXPECT_EQ(clock.verify(r, kPiece), "");
  EXPECT_EQ(r.lost, 0);
  EXPECT_FALSE(r.has_time);
  EXPECT_EQ(counters_.time_jumps.value(), 2u);
}

TEST_F(StreamClockTest, FirstAfterATimeOrTheTimeThatPassed) {
  run(3);
  EXPECT_EQ(clock_.first_after(kStartNs + 3'500'500, position_, 0), 3501);
  EXPECT_EQ(clock_.first_after(kStartNs, position_, 0), position_);
  EXPECT_EQ(clock_.first_after(std::nullopt, position_, 2 * kMilliNs), position_ + 2000);
  EXPECT_EQ(clock_.first_after(std::nullopt, position_, 60'000 * kMilliNs), position_ + 10'000'000);
}

TEST(SampleTime, WithoutARateSamplesTakeNoTime) {
  const SampleTime none(0);
  EXPECT_FALSE(none.is_known());
  EXPECT_EQ(none.ns_of(1000), 0);
}

TEST(SampleTime, Limits) {
  const SampleTime slow(1e-3);
  EXPECT_EQ(slow.ns_of(std::numeric_limits<std::int64_t>::max()), SampleTime::kMostNs);
  EXPECT_EQ(slow.ns_of(std::numeric_limits<std::int64_t>::min()), -SampleTime::kMostNs);
  EXPECT_EQ(SampleTime(1e9).samples_in(std::numeric_limits<std::int64_t>::max()), kMostPosition);
}

}  // namespace
}  // namespace iqd
