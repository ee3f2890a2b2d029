// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/sub/subscriber_hints.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace iqd {
namespace {

using net::HandshakeFault;
using net::PeerFacts;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Silence, KeysAreNamedOnlyIfTheyAreTheReason) {
  const PeerFacts mismatch{.reached = true, .fault = HandshakeFault::mechanism};
  EXPECT_THAT(why_no_handshake(mismatch, false, false), HasSubstr("give --server and --key"));
  EXPECT_THAT(why_no_handshake(mismatch, true, false), HasSubstr("leave out --key and --server"));
  const PeerFacts hung_up{.reached = true, .fault = HandshakeFault::hung_up};
  EXPECT_THAT(why_no_handshake(hung_up, true, false), HasSubstr("--server must be the publisher's public key"));
  EXPECT_THAT(why_no_handshake(hung_up, false, false), Not(HasSubstr("key")));
}

TEST(Silence, AnotherKindOfSocketIsNamed) {
  const PeerFacts other{.reached = true, .fault = HandshakeFault::socket_kind};
  EXPECT_THAT(why_no_handshake(other, false, false), HasSubstr("give --push"));
  EXPECT_THAT(why_no_handshake(other, false, true), HasSubstr("leave out --push"));
  const PeerFacts silent{.reached = true, .departures = 2};
  EXPECT_THAT(why_no_handshake(silent, false, false), HasSubstr("give --push")) << "libzmq reports no reason";
}

TEST(TopicCensus, CountsAndFindsTheNearest) {
  TopicCensus census;
  EXPECT_TRUE(census.empty());
  for (int i = 0; i < 20; ++i) census.take("spectrum", 1000, nullptr);
  census.take("peaks\x1b", 10, nullptr);
  const std::vector<std::string> lines = census.lines(2);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("peaks?")) << "no control characters";
  EXPECT_THAT(lines[1], HasSubstr("10.0 messages/s"));
  EXPECT_THAT(lines[1], HasSubstr("10.0 kB/s"));
  EXPECT_THAT(census.nearest("spectrun"), HasSubstr("'spectrum'"));
}

}  // namespace
}  // namespace iqd
