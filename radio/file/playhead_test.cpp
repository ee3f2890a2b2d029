// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/playhead.hpp"

#include <gtest/gtest.h>

#include "radio/file/pace.hpp"

namespace iqd::radio {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Two segments of one channel at 1 kS/s, with 5 samples lost between them.
Recording two_segments() {
  Recording recording;
  recording.rate_hz = 1000;
  recording.format = find_disk_format("ci16_le");
  recording.segments = {{.byte = 0, .samples = 10, .lost = 0, .time_ns = 1000 * kMs},
                        {.byte = 48, .samples = 20, .lost = 5, .time_ns = 1015 * kMs}};
  return recording;
}

TEST(Playhead, GoesThroughTheSegmentsOnce) {
  const Recording recording = two_segments();
  Playhead head(recording, false);
  ASSERT_TRUE(head.find_next());
  head.advance(4);
  ASSERT_TRUE(head.find_next());
  EXPECT_EQ(head.segment(), 0u);
  EXPECT_EQ(head.left(), 6);
  EXPECT_EQ(head.byte(), 16);
  EXPECT_EQ(head.time_ns(), 1004 * kMs);
  EXPECT_EQ(head.take_lost(), 0);
  head.advance(6);
  ASSERT_TRUE(head.find_next());
  EXPECT_EQ(head.segment(), 1u);
  EXPECT_EQ(head.left(), 20);
  EXPECT_EQ(head.byte(), 48);
  EXPECT_EQ(head.time_ns(), 1015 * kMs);
  EXPECT_EQ(head.take_lost(), 5);
  EXPECT_EQ(head.take_lost(), 0);
  head.advance(20);
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(head.find_next());
}

TEST(Playhead, TheNextRoundContinuesTheTime) {
  const Recording recording = two_segments();
  Playhead head(recording, true);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(head.find_next());
    EXPECT_EQ(head.time_ns(), (1000 + 35 * round) * kMs);
    head.advance(10);
    ASSERT_TRUE(head.find_next());
    EXPECT_EQ(head.take_lost(), 5);
    head.advance(20);
  }
}

TEST(Playhead, SeeksWithinASegment) {
  const Recording recording = two_segments();
  Playhead head(recording, false);
  EXPECT_EQ(head.seek(17), 17);
  ASSERT_TRUE(head.find_next());
  EXPECT_EQ(head.segment(), 1u);
  EXPECT_EQ(head.left(), 18);
  EXPECT_EQ(head.byte(), 56);
  EXPECT_EQ(head.take_lost(), 0);
  EXPECT_EQ(head.seek(3), 3) << "back again";
  ASSERT_TRUE(head.find_next());
  EXPECT_EQ(head.byte(), 12);
  head.advance(7);
  EXPECT_EQ(head.at(), 10);
  ASSERT_TRUE(head.find_next());
  EXPECT_EQ(head.at(), 15);
}

TEST(Playhead, WhereSamplesAreMissingItSaysSo) {
  const Recording recording = two_segments();
  Playhead head(recording, false);
  for (const SampleIndex at : {10, 12, 15}) {
    EXPECT_EQ(head.seek(at), 10) << at;
    ASSERT_TRUE(head.find_next());
    EXPECT_EQ(head.at(), 15);
    EXPECT_EQ(head.byte(), 48);
    EXPECT_EQ(head.take_lost(), 5);
  }
}

TEST(Playhead, BehindTheEndThereIsNothing) {
  const Recording recording = two_segments();
  Playhead head(recording, false);
  EXPECT_EQ(head.seek(35), 35);
  EXPECT_FALSE(head.find_next());
  EXPECT_EQ(head.seek(1'000'000), 35);
}

TEST(Playhead, TheFrequencyIsThatBeforeTheNextSample) {
  Recording recording = two_segments();
  recording.segments[0].frequency_hz = 1e6;
  recording.segments[1].frequency_hz = 2e6;
  Playhead head(recording, false);
  for (const auto& [at, hz] : {std::pair{0, 1e6}, {5, 1e6}, {12, 1e6}, {15, 1e6}, {16, 2e6}}) {
    head.seek(at);
    EXPECT_EQ(head.frequency_hz(), hz) << at;
  }
}

TEST(Playhead, WithoutAnySampleItEnds) {
  Recording recording = two_segments();
  for (Segment& segment : recording.segments) segment.samples = 0;
  EXPECT_FALSE(Playhead(recording, true).find_next());
}

TEST(Pace, SamplesAreDueAtTheirRate) {
  Pace pace(1000);
  EXPECT_EQ(pace.due(50, 7 * kMs), 0) << "it starts now";
  EXPECT_NEAR(pace.ns_until(10, 9 * kMs), 8e6, 1);
  EXPECT_EQ(pace.due(50, 17 * kMs), 10);
  EXPECT_EQ(pace.due(8, 17 * kMs), 8) << "no more are wanted";
  pace.gave(8);
  EXPECT_EQ(pace.due(50, 17 * kMs), 2);
  EXPECT_LT(pace.ns_until(1, 17 * kMs), 0);
}

}  // namespace
}  // namespace iqd::radio
