// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/received_samples.hpp"

#include <gtest/gtest.h>

#include <string>

#include "radio/zmq/peer_count.hpp"

namespace iqd::radio::zmq {
namespace {

/// Samples of two bytes.
std::string taken(ReceivedSamples& samples, std::int64_t n) {
  std::string bytes(static_cast<std::size_t>(2 * n), '\0');
  samples.take(reinterpret_cast<std::byte*>(bytes.data()), n);
  return bytes;
}

TEST(ReceivedSamples, AreTakenPieceByPiece) {
  ReceivedSamples samples(2);
  EXPECT_EQ(samples.left(), 0);
  EXPECT_FALSE(samples.are_whole("abc"));
  samples.begin_message();
  EXPECT_EQ(samples.add("a1b2c3"), 3);
  EXPECT_EQ(samples.left(), 3);
  EXPECT_EQ(taken(samples, 2), "a1b2");
  EXPECT_EQ(samples.left(), 1);
  samples.drop();
  EXPECT_EQ(samples.left(), 0);
  EXPECT_EQ(samples.time_ns(), nullptr);
}

TEST(ReceivedSamples, EachTimeStampBeginsAPiece) {
  ReceivedSamples samples(2);
  samples.begin_message();
  samples.times() = {{0, 100}, {2, 200}, {4, 300}};
  samples.add("a1b2c3");
  ASSERT_NE(samples.time_ns(), nullptr);
  EXPECT_EQ(*samples.time_ns(), 100);
  EXPECT_EQ(samples.left(), 2);
  taken(samples, 1);
  EXPECT_EQ(samples.time_ns(), nullptr);
  EXPECT_EQ(samples.left(), 1);
  taken(samples, 1);
  ASSERT_NE(samples.time_ns(), nullptr);
  EXPECT_EQ(*samples.time_ns(), 200);
  taken(samples, 1);
  EXPECT_EQ(samples.left(), 0);
  samples.add("d4e5f6");  // the message's next frame
  EXPECT_EQ(samples.left(), 1);
  taken(samples, 1);
  ASSERT_NE(samples.time_ns(), nullptr);
  EXPECT_EQ(*samples.time_ns(), 300);
  samples.begin_message();
  EXPECT_EQ(samples.time_ns(), nullptr);
}

TEST(PeerCount, ShowsWhatIsMissing) {
  PeerCount count;
  count.arrived(10);
  count.next_is(1000);
  EXPECT_EQ(count.take_skipped(), 0) << "the first one";
  count.arrived(50);
  count.next_is(1050);
  EXPECT_EQ(count.take_skipped(), 0);
  count.next_is(1080);
  count.arrived(10);
  count.next_is(1095);
  EXPECT_EQ(count.take_skipped(), 35);
  EXPECT_EQ(count.take_skipped(), 0);
  count.next_is(5);
  EXPECT_LT(count.take_skipped(), 0) << "the peer restarted";
}

}  // namespace
}  // namespace iqd::radio::zmq
