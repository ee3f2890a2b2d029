// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The exchange with a node, including nodes that misbehave.
#include "radio/soapy-modules/warp/node/node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "radio/soapy-modules/warp/node/front_end.hpp"
#include "radio/soapy-modules/warp/simulated/node.hpp"

namespace iqd::warp {
namespace {

using namespace std::chrono_literals;
using Outcome = Node::Read::Outcome;

constexpr std::int64_t kSecond = 1'000'000'000;

/// A simulated node, and the host's side of it.
struct Pair {
  explicit Pair(warp_node::Options options = {}) : network({with_any_port(options)}, 0), node(reach(network)) {}

  static warp_node::Options with_any_port(warp_node::Options o) {
    o.port = 0;
    return o;
  }
  static NodeOptions reach(const warp_node::Network& network) {
    NodeOptions o;
    o.address = endpoint("127.0.0.1", static_cast<std::uint16_t>(network.port()));
    o.patience_ns = 20'000'000;
    o.silence_ns = 10 * kSecond;
    return o;
  }
  void set(Command command, std::uint32_t word) { node.ask(command, {word}); }
  /// Takes a capture of `samples` samples with the first `chains` chains.
  void capture(std::uint32_t samples, std::uint32_t mask = 1) {
    set(Command::trigger_add, 1);
    set(Command::rx_length, samples);
    set(Command::rx_buffers_enable, mask);
    UdpSocket socket;
    socket.send_to(encode_trigger({kBroadcast, 250, Type::trigger, 0, 0, 1}),
                   endpoint("127.0.0.1", static_cast<std::uint16_t>(network.trigger_port())));
  }
  Node::Read read(Piece& piece, std::uint32_t first, std::uint32_t count, std::uint32_t buffer = 1) {
    const std::int64_t ends = steady_ns() + 30 * kSecond;
    piece.begin(buffer, first, count);
    for (;;) {
      const auto got = node.read(piece, id, ends);
      if (got.outcome != Outcome::not_ready) return got;
      std::this_thread::sleep_for(std::chrono::nanoseconds(got.wait_ns));
    }
  }

  warp_node::Network network;
  Node node;
  std::optional<std::uint8_t> id;
};

void expect_pattern(const Piece& piece, int capture, int chain, std::uint32_t first) {
  for (std::uint32_t n = 0; n < piece.iq.size() / 2; ++n) {
    const std::uint32_t word = warp_node::pattern(capture, chain, first + n);
    ASSERT_EQ(word_of(piece.iq[2 * n], piece.iq[2 * n + 1]), word) << "sample " << first + n;
  }
}

TEST(WarpNode, SaysWhatItIs) {
  warp_node::Options o;
  o.serial = 77;
  o.chains = 2;
  o.most = 5000;
  Pair pair(o);
  const Info info = pair.node.info();
  EXPECT_EQ(info.serial, 77u);
  EXPECT_EQ(info.interfaces, 2u);
  EXPECT_EQ(info.most_rx, 5000u);
  EXPECT_EQ(info.version, 0x070500u);
  EXPECT_EQ(pair.network.node().seen().broken, 0);
}

TEST(WarpNode, GivesWhatItReceived) {
  Pair pair;
  pair.capture(100'000, 1 | 4);
  Piece piece;
  ASSERT_EQ(pair.read(piece, 0, 100'000, 4).outcome, Outcome::whole);
  expect_pattern(piece, 1, 2, 0);
  ASSERT_EQ(pair.read(piece, 99'000, 1000, 1).outcome, Outcome::whole);
  expect_pattern(piece, 1, 0, 99'000);
  EXPECT_EQ(pair.id, 1);
  const auto& counts = pair.node.counts();  // on a busy machine, answers may come twice
  EXPECT_TRUE(counts.ignored == 0 || counts.asked_again > 0) << counts.ignored;
  EXPECT_EQ(pair.network.node().seen().broken, 0);
}

TEST(WarpNode, WhatWasLostIsAskedForAgain) {
  warp_node::Options o;
  o.faults.lose = 7;
  Pair pair(o);
  pair.capture(50'000);
  Piece piece;
  ASSERT_EQ(pair.read(piece, 0, 50'000).outcome, Outcome::whole);
  expect_pattern(piece, 1, 0, 0);
  EXPECT_GE(pair.node.counts().asked_again, 1u);
  const auto asked = pair.network.node().last(0x30000009);
  ASSERT_TRUE(asked);
  EXPECT_GT((*asked)[1], 0u) << "from the first missing sample on";
  const bool to_the_end = (*asked)[1] + (*asked)[2] == 50'000;
  EXPECT_TRUE((*asked)[2] % 359 == 0 || to_the_end) << (*asked)[2] << ": as many packets as are missing there";
  EXPECT_LT((*asked)[2], 10'000u);
}

TEST(WarpNode, PacketsMayComeTwiceCutOutOfOrderAndForOthers) {
  warp_node::Options o;
  o.faults = {.repeat = 3, .swap = 4, .cut = 11, .foreign = 5};
  Pair pair(o);
  pair.capture(50'000);
  Piece piece;
  ASSERT_EQ(pair.read(piece, 0, 50'000).outcome, Outcome::whole);
  expect_pattern(piece, 1, 0, 0);
  EXPECT_GT(pair.node.counts().ignored, 10u);
}

TEST(WarpNode, EverythingAtOnce) {
  warp_node::Options o;
  o.faults = {.lose = 6, .repeat = 5, .swap = 4, .cut = 13, .foreign = 3, .lose_commands = 5, .late_s = 0.15};
  Pair pair(o);
  for (int i = 1; i <= 3; ++i) {
    pair.id.reset();
    Piece piece;
    const int before = pair.network.node().seen().captures;
    while (pair.network.node().seen().captures == before) {  // the trigger itself may be lost
      pair.capture(30'000);
      std::this_thread::sleep_for(20ms);
    }
    ASSERT_EQ(pair.read(piece, 0, 30'000).outcome, Outcome::whole);
    expect_pattern(piece, *pair.id, 0, 0);
  }
  EXPECT_GT(pair.node.counts().not_ready, 0u);
}

TEST(WarpNode, NotReadySaysHowLongItWillTake) {
  warp_node::Options o;
  o.rate_hz = 1e6;
  Pair pair(o);
  pair.capture(100'000);
  Piece piece;
  piece.begin(1, 0, 1000);
  std::optional<std::uint8_t> id;
  const auto got = pair.node.read(piece, id, steady_ns() + kSecond);
  EXPECT_EQ(got.outcome, Outcome::not_ready);
  EXPECT_GT(got.wait_ns, 1'000'000) << "about 100,000 samples at 40 MS/s";
  EXPECT_LE(got.wait_ns, 2'500'000);
}

TEST(WarpNode, OtherReadingsOfTheProtocolAreUnderstood) {
  warp_node::Options o;
  o.small_packets = o.start_once = true;
  Pair pair(o);
  pair.capture(50'000);
  Piece piece;
  const std::int64_t began = steady_ns();
  ASSERT_EQ(pair.read(piece, 0, 50'000).outcome, Outcome::whole);
  expect_pattern(piece, 1, 0, 0);
  EXPECT_LE(pair.node.counts().asked_again, 1u) << "after that it knows the size of a packet";
  EXPECT_LT(steady_ns() - began, kSecond);
  const int requests = pair.network.node().seen().requests;
  for (int i = 0; i < 5; ++i) ASSERT_EQ(pair.read(piece, 0, 50'000).outcome, Outcome::whole);
  const auto again = static_cast<int>(pair.node.counts().asked_again);
  EXPECT_LE(pair.network.node().seen().requests, requests + 5 + again) << "on a busy machine it asks twice";
  EXPECT_EQ((*pair.network.node().last(0x30000009))[4], 143u) << "of 350 samples each, not shrinking";
  const std::vector<std::int16_t> iq(2000, 5);
  EXPECT_EQ(pair.node.write(1, 500, 1000, iq.data(), steady_ns() + 10 * kSecond), Node::Write::done);
  EXPECT_EQ(pair.node.counts().written_again, 0u);
}

/// A piece whose last packet is short, and arrives first or alone.
TEST(WarpNode, AShortPacketAtTheEndIsNoMeasureOfTheOthers) {
  warp_node::Options o;
  o.faults.lose = 2;
  Pair pair(o);
  pair.capture(720);
  Piece piece;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(pair.read(piece, 0, 720).outcome, Outcome::whole);
    expect_pattern(piece, 1, 0, 0);
  }
  const int requests = pair.network.node().seen().requests;
  ASSERT_EQ(pair.read(piece, 0, 359).outcome, Outcome::whole);
  EXPECT_EQ((*pair.network.node().last(0x30000009))[4], 1u) << "359 samples are one packet";
  EXPECT_LE(pair.network.node().seen().requests, requests + 2);
}

TEST(WarpNode, SamplesOfAnotherCaptureAreNotMixedIn) {
  Pair pair;
  pair.capture(2000);
  Piece piece;
  ASSERT_EQ(pair.read(piece, 0, 1000).outcome, Outcome::whole);
  pair.capture(2000);
  EXPECT_EQ(pair.read(piece, 1000, 1000).outcome, Outcome::other_capture);
}

TEST(WarpNode, WritesWhatIsToBeSent) {
  for (const int lost : {0, 5}) {
    warp_node::Options o;
    o.wires = {-1, 0};
    o.faults.lose_written = lost;
    Pair pair(o);
    std::vector<std::int16_t> iq(2 * 5000);
    for (std::size_t i = 0; i < iq.size(); ++i) iq[i] = static_cast<std::int16_t>(i * 7 - 30'000);
    for (std::uint32_t at = 0; at < 5000; at += 1000)  // with losses, a long read never completes
      ASSERT_EQ(pair.node.write(1, at, 1000, iq.data() + 2 * at, steady_ns() + 30 * kSecond), Node::Write::done);
    if (lost) {
      EXPECT_GT(pair.node.counts().written_again, 0u);
    }
    pair.set(Command::tx_length, 5000);
    pair.set(Command::transmit_enable, rf_select(0));
    pair.set(Command::receive_enable, rf_select(1));
    pair.set(Command::tx_buffers_enable, 1);
    pair.capture(5000, 2);
    Piece piece;
    ASSERT_EQ(pair.read(piece, 0, 5000, 2).outcome, Outcome::whole);
    EXPECT_EQ(piece.iq, iq);
    EXPECT_EQ(pair.network.node().seen().broken, 0);
  }
}

TEST(WarpNode, ErrorsOfTheNodeAreErrors) {
  Pair pair;
  pair.capture(1000);
  Piece piece;
  EXPECT_EQ(pair.read(piece, 500, 1000).outcome, Outcome::failed) << "beyond the capture";
}

TEST(WarpNode, ANodeThatIsNotThereIsSilent) {
  std::uint16_t port = 0;
  {
    const Pair pair;
    port = static_cast<std::uint16_t>(pair.network.port());
  }
  NodeOptions o;
  o.address = endpoint("127.0.0.1", port);
  o.silence_ns = 200'000'000;
  Node node(o);
  const std::int64_t began = steady_ns();
  EXPECT_THROW(node.info(), NodeSilent);
  EXPECT_GE(steady_ns() - began, 200'000'000);
  EXPECT_LT(steady_ns() - began, 5 * kSecond);
}

TEST(WarpNode, AskingEndsAtItsDeadline) {
  warp_node::Options o;
  o.faults.deaf_at_s = 0;
  o.faults.deaf_for_s = 1000;
  Pair pair(o);
  const std::int64_t began = steady_ns();
  EXPECT_FALSE(pair.node.ask(Command::node_info, std::initializer_list<std::uint32_t>{}, began + 100'000'000));
  Piece piece;
  piece.begin(1, 0, 100);
  EXPECT_EQ(pair.node.read(piece, pair.id, steady_ns() + 100'000'000).outcome, Outcome::later);
  EXPECT_EQ(pair.node.write(1, 0, 50, piece.iq.data(), steady_ns() + 100'000'000), Node::Write::later);
  EXPECT_GE(steady_ns() - began, 290'000'000);
  EXPECT_LT(steady_ns() - began, 5 * kSecond);
}

TEST(WarpCoverage, CountsEachSampleOnceInAnyOrder) {
  Coverage c;
  c.begin(100, 50);
  EXPECT_FALSE(c.whole());
  EXPECT_TRUE(c.add(120, 10));
  EXPECT_FALSE(c.add(120, 10)) << "again";
  EXPECT_EQ(c.first_missing(), 100u);
  EXPECT_TRUE(c.add(100, 5));
  EXPECT_EQ(c.first_missing(), 105u);
  EXPECT_EQ(c.missing_up_to(), 120u);
  EXPECT_TRUE(c.add(104, 16));
  EXPECT_EQ(c.first_missing(), 130u) << "past the island";
  EXPECT_TRUE(c.add(140, 10));
  EXPECT_TRUE(c.add(130, 10));
  EXPECT_TRUE(c.whole());
  for (const auto& [first, count] : {std::pair{99u, 1u}, {150u, 1u}, {149u, 2u}, {100u, 51u}, {100u, 0xFFFFFFFFu}})
    EXPECT_FALSE(c.holds(first, count)) << first << " " << count;
  EXPECT_TRUE(c.holds(100, 50));
}

}  // namespace
}  // namespace iqd::warp
