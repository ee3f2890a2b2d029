// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "publish/zmq_socket.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "tests/support/hostile_peer.hpp"
#include "tests/support/zmq_reader.hpp"

namespace iqd::publish {
namespace {

using testing::HostilePeer;
using testing::LeaseCount;
using testing::soon;
using testing::ZmqReader;

Config config(const std::string& endpoint, Kind kind) {
  Config c;
  c.topic = "t";
  c.bind = endpoint;
  c.kind = kind;
  return c;
}

std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string refusal(const Config& c) {
  try {
    const ZmqSocket socket(c, false, 100);
  } catch (const SetupError& e) {
    return e.what();
  }
  return "none";
}

/// More than the kernel takes at once, so its end is still in place when `send` returns.
constexpr std::size_t kLarge = 32u << 20;

/// Sends a large payload, changes its end while it is being sent, and returns the byte that the reader got there.
char end_as_read(const std::string& endpoint, bool copy, int leases_expected) {
  ZmqSocket socket(config(endpoint, Kind::push), true, 1000);
  ZmqReader reader(ZMQ_PULL, endpoint, 64 << 10);
  LeaseCount leases;
  std::string payload(kLarge, 'a');
  EXPECT_TRUE(socket.send({}, "head", bytes(payload), leases.take(), copy));
  EXPECT_EQ(leases.out, leases_expected);
  payload.back() = 'b';
  const auto frames = reader.receive(20'000);
  EXPECT_EQ(frames.size(), 2u);
  if (frames.size() != 2) return '?';
  EXPECT_EQ(frames[0], "head");
  EXPECT_EQ(frames[1].size(), kLarge);
  EXPECT_TRUE(soon([&] { return leases.out == 0; })) << "the lease comes back when the payload has been sent";
  return frames[1].back();
}

TEST(ZmqSocket, PayloadIsSentFromWhereItLies) {
  EXPECT_EQ(end_as_read("tcp://127.0.0.1:15600", false, 1), 'b') << "it was copied";
  EXPECT_EQ(end_as_read("ipc:///tmp/iqd-test-15600", false, 1), 'b') << "it was copied";
}

TEST(ZmqSocket, PayloadIsCopiedWhereSlotsAreScarce) {
  EXPECT_EQ(end_as_read("tcp://127.0.0.1:15601", true, 0), 'a') << "it was not copied";
}

TEST(ZmqSocket, FramesAreThoseOfTheMessage) {
  ZmqSocket socket(config("tcp://127.0.0.1:15602", Kind::push), true, 10);
  ZmqReader reader(ZMQ_PULL, "tcp://127.0.0.1:15602");
  LeaseCount leases;
  const std::string payload = "payload", nothing;
  EXPECT_TRUE(socket.send("key ", "head", bytes(payload), leases.take(), false));
  EXPECT_EQ(reader.receive(), (std::vector<std::string>{"key ", "head", "payload"}));
  for (const bool copy : {false, true}) {
    EXPECT_TRUE(socket.send({}, "head", bytes(nothing), leases.take(), copy));
    EXPECT_EQ(reader.receive(), (std::vector<std::string>{"head", ""}));
  }
  socket.drain();
  EXPECT_TRUE(soon([&] { return leases.out == 0; }));
}

/// A slow reader, and a stream that can wait for it.
void expect_nothing_lost(Kind kind, const std::string& endpoint, std::size_t size, int messages) {
  Config c = config(endpoint, kind);
  c.hwm_bytes = static_cast<std::int64_t>(4 * size);
  LeaseCount leases;
  std::vector<std::string> slots(8, std::string(size, '.'));
  std::vector<std::string> got;
  {
    ZmqReader reader(kind == Kind::pub ? ZMQ_SUB : ZMQ_PULL, endpoint, 4096);
    if (kind == Kind::pub) reader.subscribe("t ");
    ZmqSocket socket(c, true, static_cast<std::int64_t>(size));
    socket.add_topic("t");
    if (kind == Kind::pub) {
      ASSERT_TRUE(soon([&] { return socket.subscriptions() == 1; }));
    }
    std::thread reading([&] {
      for (int i = 0; i < messages; ++i) {
        if (i % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        auto frames = reader.receive();
        if (frames.empty()) break;
        got.push_back(frames[0]);
      }
    });
    const std::string payload(size, 'x');
    for (int i = 0; i < messages; ++i)
      EXPECT_TRUE(socket.send({}, fmt::format("t {}", i), bytes(payload), leases.take(), i % 3 == 0));
    socket.drain();
    EXPECT_TRUE(soon([&] { return leases.out == 0; }));
    reading.join();
  }
  ASSERT_EQ(got.size(), static_cast<std::size_t>(messages));
  for (int i = 0; i < messages; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], fmt::format("t {}", i));
}

TEST(ZmqSocket, LosslessWaitsForASlowReader) {
  expect_nothing_lost(Kind::pub, "tcp://127.0.0.1:15603", 100'000, 500);
  expect_nothing_lost(Kind::push, "tcp://127.0.0.1:15604", 100'000, 500);
  expect_nothing_lost(Kind::pub, "tcp://127.0.0.1:15605", 40, 5000);
}

/// The sender is gone before the reader begins to read: what was drained still arrives.
TEST(ZmqSocket, WhatWasDrainedArrives) {
  for (const std::size_t size : {40u, 3000u, 20'000u}) {
    ZmqReader reader(ZMQ_PULL, "tcp://127.0.0.1:15606", 4096);
    constexpr int kMessages = 2000;
    LeaseCount leases;
    const std::string payload(size, 'x');
    std::atomic<bool> gone{false};
    std::thread sending([&] {
      {
        ZmqSocket socket(config("tcp://127.0.0.1:15606", Kind::push), true, static_cast<std::int64_t>(size));
        for (int i = 0; i < kMessages; ++i)
          EXPECT_TRUE(socket.send({}, std::to_string(i), bytes(payload), leases.take(), false));
        socket.drain();
      }
      gone = true;
    });
    for (int i = 0; i < kMessages; ++i) {
      if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const auto frames = reader.receive();
      if (frames.empty()) {
        ADD_FAILURE() << "message " << i << " of " << size << " bytes is missing";
        break;
      }
      EXPECT_EQ(frames[0], std::to_string(i));
    }
    sending.join();
    EXPECT_EQ(leases.out, 0);
  }
}

TEST(ZmqSocket, PushWithoutReader) {
  LeaseCount leases;
  const std::string payload(100, 'x');
  ZmqSocket lossy(config("tcp://127.0.0.1:15607", Kind::push), false, 100);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(lossy.send({}, "t", bytes(payload), leases.take(), false));
  EXPECT_EQ(leases.out, 0) << "refused messages are released";
  lossy.drain();

  ZmqSocket lossless(config("tcp://127.0.0.1:15608", Kind::push), true, 100);
  std::atomic<bool> returned{false};
  std::thread sending([&] {
    EXPECT_FALSE(lossless.send({}, "t", bytes(payload), leases.take(), false));
    returned = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(returned) << "it did not wait for a reader";
  lossless.interrupt();
  sending.join();
  EXPECT_EQ(leases.out, 0);
}

/// Live data: a reader that does not read loses messages; no other reader does.
TEST(ZmqSocket, HangingReaderHurtsNobodyElse) {
  Config c = config("tcp://127.0.0.1:15609", Kind::pub);
  c.hwm_bytes = 20'000'000;  // far more than the kernel buffers
  ZmqReader hangs(ZMQ_SUB, c.bind, 4096), reads(ZMQ_SUB, c.bind);
  LeaseCount leases;
  int got = 0;
  const std::string payload(100'000, 'x');
  {
    ZmqSocket socket(c, false, 100'000);
    socket.add_topic("t");
    hangs.subscribe("t "), reads.subscribe("t ");
    ASSERT_TRUE(soon([&] { return socket.subscriptions() == 2; }));
    for (int i = 0; i < 600; ++i) {
      EXPECT_TRUE(socket.send({}, "t 1", bytes(payload), leases.take(), false));
      got += reads.receive(5000).empty() ? 0 : 1;
    }
    EXPECT_EQ(got, 600);
    EXPECT_GT(leases.out, 0) << "the hung reader holds some";
    const std::int64_t began = steady_ns();
    socket.drain();
    EXPECT_LT(steady_ns() - began, 5'000'000'000) << "it waits too long for a hung reader";
    EXPECT_GE(steady_ns() - began, 2'900'000'000) << "it does not wait";
  }
  EXPECT_EQ(leases.out, 0) << "closing the socket releases everything";
}

TEST(ZmqSocket, DrainOfPushWaitsForTheReaderOrAnInterrupt) {
  LeaseCount leases;
  const std::string payload(kLarge, 'x');
  ZmqReader reader(ZMQ_PULL, "tcp://127.0.0.1:15610", 4096);
  ZmqSocket socket(config("tcp://127.0.0.1:15610", Kind::push), true, 1000);
  ASSERT_TRUE(socket.send({}, "t", bytes(payload), leases.take(), false));
  ASSERT_TRUE(socket.send({}, "t", bytes(payload), leases.take(), false));
  std::atomic<bool> drained{false};
  std::thread draining([&] {
    socket.drain();
    drained = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(drained);
  socket.interrupt();
  draining.join();
  EXPECT_GT(leases.out, 0);
}

TEST(ZmqSocket, SubscriptionsAreCounted) {
  const std::string endpoint = "tcp://127.0.0.1:15611";
  ZmqSocket socket(config(endpoint, Kind::pub), false, 100);
  socket.add_topic("a");
  socket.add_topic("b");
  EXPECT_EQ(socket.subscriptions(), 0);
  ZmqReader first(ZMQ_SUB, endpoint), second(ZMQ_SUB, endpoint), third(ZMQ_SUB, endpoint);
  first.subscribe("a ");
  second.subscribe("a ");
  third.subscribe("");
  EXPECT_TRUE(soon([&] { return socket.subscriptions() == 3; })) << socket.subscriptions();
  first.subscribe("c ");
  first.subscribe("ab");
  first.subscribe("b ");
  EXPECT_TRUE(soon([&] { return socket.subscriptions() == 4; })) << socket.subscriptions();
  first.unsubscribe("b ");
  EXPECT_TRUE(soon([&] { return socket.subscriptions() == 3; })) << socket.subscriptions();
  second.close();
  EXPECT_TRUE(soon([&] { return socket.subscriptions() == 2; })) << socket.subscriptions();
}

TEST(ZmqSocket, WhatCannotBeSetUpSaysWhy) {
  const Config c = config("tcp://127.0.0.1:15612", Kind::pub);
  const ZmqSocket owner(c, false, 100);
  EXPECT_EQ(refusal(c),
            "publish: cannot bind tcp://127.0.0.1:15612: Address already in use; another program has this port: choose "
            "another, or find it with `ss -ltnp`");
  EXPECT_EQ(refusal(config("ipc:///nowhere/at/all", Kind::pub)),
            "publish: cannot bind ipc:///nowhere/at/all: No such file or directory");
  EXPECT_EQ(refusal(config("tcp://127.0.0.1:port", Kind::pub)),
            "publish: cannot bind tcp://127.0.0.1:port: Invalid argument");
}

/// libzmq acknowledges every half of a reader's initial mark: with a shorter queue it would wait forever.
TEST(ZmqSocket, ReadersStayWhenMessagesBecomeLarger) {
  for (const Kind kind : {Kind::pub, Kind::push}) {
    Config c = config("tcp://127.0.0.1:15614", kind);
    c.hwm_bytes = 1'000'000;
    LeaseCount leases;
    const auto socket = ZmqSocket::shared("grows", c, false, 1000);
    socket->add_topic("t");
    ZmqReader reader(kind == Kind::pub ? ZMQ_SUB : ZMQ_PULL, c.bind);
    if (kind == Kind::pub) reader.subscribe("t ");
    const std::string small(1000, 's'), large(100'000, 'l');
    ASSERT_TRUE(soon([&] {
      socket->send({}, "t ", bytes(small), leases.take(), true);
      return !reader.receive(1).empty();
    }));
    for (int i = 0; i < 140; ++i) ASSERT_TRUE(socket->send({}, "t ", bytes(small), leases.take(), true));
    while (!reader.receive(100).empty()) {
    }
    const auto same = ZmqSocket::shared("grows", c, false, 100'000);
    EXPECT_EQ(same, socket);
    int got = 0;
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(same->send({}, "t ", bytes(large), leases.take(), true)) << i;
      got += reader.receive(1000).size() == 2 ? 1 : 0;
    }
    EXPECT_EQ(got, 100);
  }
}

/// Sends the reader's messages one after another until it is cut off, while another one reads.
void expect_cut_off(const std::string& endpoint, const std::function<std::string(int)>& next, const std::string& what) {
  ZmqSocket socket(config(endpoint, Kind::pub), false, 100);
  socket.add_topic("t");
  ZmqReader good(ZMQ_SUB, endpoint);
  good.subscribe("t ");
  ASSERT_TRUE(soon([&] { return socket.subscriptions() == 1; }));
  const HostilePeer hostile(endpoint, "SUB");
  ASSERT_TRUE(soon([&] { return socket.peers().connected == 2; }));
  LeaseCount leases;
  std::atomic<bool> closed{false};
  std::thread attack([&] {
    for (int i = 0; hostile.say(next(i)); ++i) {
    }
    closed = true;
  });
  EXPECT_TRUE(soon([&] {
    EXPECT_TRUE(socket.send({}, "t ", bytes("payload"), leases.take(), true));
    EXPECT_EQ(good.receive().size(), 2u) << what;
    return closed.load();
  })) << what;
  attack.join();
  EXPECT_GT(socket.peers().cut_off, 0u) << what;
  EXPECT_TRUE(soon([&] { return socket.subscriptions() == 1; })) << what;
}

TEST(ZmqSocket, AReaderThatAsksForTooMuchIsCutOff) {
  expect_cut_off(
      "tcp://127.0.0.1:15615", [](int i) { return HostilePeer::subscription(std::to_string(i)); }, "subscriptions");
  expect_cut_off(
      "tcp://127.0.0.1:15616",
      [](int i) { return HostilePeer::subscription(std::to_string(i) + std::string(400, 'x')); }, "long subscriptions");
  expect_cut_off(
      "tcp://127.0.0.1:15617",
      [](int) { return HostilePeer::frame(std::string(60'000, 'x')) + HostilePeer::frame(""); }, "long messages");
}

TEST(ZmqSocket, ManyReadersTogetherAskForABoundedAmount) {
  const std::string endpoint = "tcp://127.0.0.1:15619";
  ZmqSocket socket(config(endpoint, Kind::pub), false, 100);
  socket.add_topic("t");
  ZmqReader good(ZMQ_SUB, endpoint);
  good.subscribe("t ");
  ASSERT_TRUE(soon([&] { return socket.subscriptions() == 1; }));
  std::deque<HostilePeer> hostile;
  constexpr int kPeers = 24;
  for (int p = 0; p < kPeers; ++p) hostile.emplace_back(endpoint, "SUB");
  ASSERT_TRUE(soon([&] { return socket.peers().connected == kPeers + 1; }));
  for (int p = 0; p < kPeers; ++p)
    for (int i = 0; i < 30; ++i)
      hostile[static_cast<std::size_t>(p)].say(HostilePeer::subscription(fmt::format("{} {} {:0480}", p, i, 0)));
  LeaseCount leases;
  EXPECT_TRUE(soon([&] {
    EXPECT_TRUE(socket.send({}, "t ", bytes("payload"), leases.take(), true));
    EXPECT_EQ(good.receive().size(), 2u);
    return socket.peers().cut_off >= 6;
  })) << socket.peers().cut_off;
}

/// Sends while many payloads are in flight: those beyond the fixed number are copied.
TEST(ZmqSocket, MoreMessagesThanPayloadSlots) {
  Config c = config("tcp://127.0.0.1:15613", Kind::push);
  c.hwm_bytes = 1 << 30;
  LeaseCount leases;
  const std::string payload(200'000, 'x');
  ZmqReader reader(ZMQ_PULL, c.bind, 4096);
  ZmqSocket socket(c, true, 200'000);
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(socket.send({}, "t", bytes(payload), leases.take(), false));
  EXPECT_LE(leases.out, SlotMask::kMost);
  for (int i = 0; i < 200; ++i) {
    const auto frames = reader.receive();
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_EQ(frames[1], payload);
  }
  EXPECT_TRUE(soon([&] { return leases.out == 0; }));
}

}  // namespace
}  // namespace iqd::publish
