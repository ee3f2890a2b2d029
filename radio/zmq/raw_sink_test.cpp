// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/raw_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <thread>

#include "base/clock.hpp"
#include "radio/fields_for_test.hpp"
#include "radio/messages_for_test.hpp"
#include "radio/zmq/frame.hpp"
#include "radio/zmq/options.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::radio::zmq {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Values = std::map<std::string, std::string>;

constexpr std::int64_t kMostRead = 1 << 20;

/// Values from `first` on, plus 1000 per channel.
std::vector<float> ramp(int first, int count, int channels = 1) {
  std::vector<float> x;
  for (int c = 0; c < channels; ++c)
    for (int i = 0; i < count; ++i) x.push_back(static_cast<float>(first + i + 1000 * c));
  return x;
}

/// A receiver that sends requests, as srsRAN's does.
struct Peer {
  explicit Peer(const std::string& address) : socket(ZMQ_REQ, Endpoint{"", address, {}}) {
    socket.set(ZMQ_RCVTIMEO, 10'000);
    socket.open(kMostRead);
  }
  void question(const std::string& bytes = "\xff") {
    ASSERT_GE(::zmq_send(socket.handle(), bytes.data(), bytes.size(), 0), 0);
  }
  std::vector<float> answer() {
    Frame frame;
    EXPECT_TRUE(frame.receive(socket.handle())) << "no answer";
    EXPECT_FALSE(frame.more());
    std::vector<float> x(frame.size() / sizeof(float));
    std::memcpy(x.data(), frame.data(), frame.size());
    return x;
  }
  std::vector<float> ask(const std::string& bytes = "\xff") {
    question(bytes);
    return answer();
  }
  /// Takes `count` values, in any number of answers.
  std::vector<float> take(std::size_t count) {
    std::vector<float> all;
    while (all.size() < count && !::testing::Test::HasFailure())
      for (const float x : ask()) all.push_back(x);
    return all;
  }
  Socket socket;
};

class ZmqReplySink : public ::testing::Test {
 protected:
  std::string at(int channel = 0) const { return "ipc://" + folder_ / ("c" + std::to_string(channel)); }
  void open(Values values = {}) {
    ZmqSinkOptions o;
    values.emplace("bind", at());
    values.emplace("kind", "rep");
    assign(o, values);
    ASSERT_THAT(complaints([&](const Section& s) { o.check(format_, s); }), IsEmpty());
    sink_ = o.open(format_);
  }
  void two_channels(Values values = {}) {
    format_ = stream_format(Element::f32, 2);
    values.emplace("bind", at(0) + "," + at(1));
    open(std::move(values));
  }
  bool send(const std::vector<float>& x, std::int64_t gap = 0) {
    return sink_->send(message_of<float>(format_, 0, x, gap));
  }

  ScratchFolder folder_;
  PortFormat format_ = stream_format(Element::f32);
  std::unique_ptr<Sink> sink_;
};

TEST_F(ZmqReplySink, AnswersWithWhatThereIsAMillisecondAtMost) {
  open();
  Peer peer(at());
  std::thread sender([&] {
    EXPECT_TRUE(send(ramp(0, 2500)));
    EXPECT_TRUE(send(ramp(2500, 4)));
  });
  EXPECT_EQ(peer.ask(), ramp(0, 1000));
  EXPECT_EQ(peer.ask(), ramp(1000, 1000));
  EXPECT_EQ(peer.ask(), ramp(2000, 500)) << "the message ends here";
  EXPECT_EQ(peer.ask(), ramp(2500, 4));
  sender.join();
}

TEST_F(ZmqReplySink, GivesNoMoreThanANumberAskedFor) {
  open();
  Peer peer(at());
  std::thread sender([&] { EXPECT_TRUE(send(ramp(0, 100))); });
  EXPECT_EQ(peer.ask(std::string("\x07\x00\x00\x00", 4)), ramp(0, 7)) << "four bytes, as GNU Radio requests";
  EXPECT_EQ(peer.ask(std::string("\x00\x00\x00\x00", 4)), ramp(7, 93)) << "0 is not a count";
  sender.join();
}

TEST_F(ZmqReplySink, QuestionsOfAnyShapeAreAnswered) {
  open();
  Peer peer(at());
  std::thread sender([&] { EXPECT_TRUE(send(ramp(0, 2005))); });
  EXPECT_EQ(peer.ask(std::string(500, 'x')).size(), 1000u);
  ASSERT_GE(::zmq_send(peer.socket.handle(), "\5\0\0\0", 4, ZMQ_SNDMORE), 0);
  ASSERT_GE(::zmq_send(peer.socket.handle(), "more", 4, 0), 0);
  EXPECT_EQ(peer.answer(), ramp(1000, 1000));
  EXPECT_EQ(peer.ask(""), ramp(2000, 5));
  sender.join();
}

TEST_F(ZmqReplySink, DelayAndGapsAreZeros) {
  open({{"delay", "0.002"}});
  Peer peer(at());
  std::thread sender([&] {
    EXPECT_TRUE(send(ramp(1, 10), 55)) << "nothing is missing before the first message";
    EXPECT_TRUE(send(ramp(11, 10), 1500));
  });
  std::vector<float> due(2000, 0.0f);
  for (const float x : ramp(1, 10)) due.push_back(x);
  due.resize(due.size() + 1500, 0.0f);
  for (const float x : ramp(11, 10)) due.push_back(x);
  EXPECT_EQ(peer.take(due.size()), due);
  sender.join();
}

/// A peer that must receive before it sends gets the zeros before the first message.
TEST_F(ZmqReplySink, DelayIsThereBeforeTheFirstMessage) {
  open({{"delay", "0.0025"}});
  Peer peer(at());
  EXPECT_EQ(peer.ask(), std::vector<float>(1000, 0.0f));
  EXPECT_EQ(peer.ask(), std::vector<float>(1000, 0.0f));
  std::thread sender([&] { EXPECT_TRUE(send(ramp(1, 10))); });
  EXPECT_EQ(peer.ask(), std::vector<float>(500, 0.0f));
  EXPECT_EQ(peer.ask(), ramp(1, 10));
  sender.join();
}

TEST_F(ZmqReplySink, WhatNobodyAskedForInTimeIsLostOnceAndThenAtOnce) {
  open({{"wait", "0.1"}});
  const std::int64_t begin = steady_ns();
  EXPECT_FALSE(send(ramp(0, 10)));
  EXPECT_GT(steady_ns() - begin, 90'000'000);
  const std::int64_t middle = steady_ns();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(send(ramp(0, 10)));
  EXPECT_LT(steady_ns() - middle, 90'000'000);
}

/// The gap before the next message counts from the first message that was not taken whole.
TEST_F(ZmqReplySink, WhatAPeerHadOfALostMessageIsNoGapForIt) {
  open({{"wait", "0.2"}});
  Peer peer(at());
  std::thread sender([&] { EXPECT_FALSE(send(ramp(0, 1300))); });
  EXPECT_EQ(peer.ask(), ramp(0, 1000));
  sender.join();
  peer.question();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  sender = std::thread([&] { EXPECT_TRUE(send(ramp(1300, 5), 1300)); });
  EXPECT_EQ(peer.answer(), std::vector<float>(300, 0.0f));
  EXPECT_EQ(peer.ask(), ramp(1300, 5));
  sender.join();
}

TEST_F(ZmqReplySink, AnInterruptEndsTheWait) {
  open();
  std::thread sender([&] { EXPECT_FALSE(send(ramp(0, 10))); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  sink_->interrupt();
  sender.join();
}

TEST_F(ZmqReplySink, EachChannelHasItsOwnSocket) {
  two_channels();
  Peer left(at(0)), right(at(1));
  std::thread sender([&] {
    EXPECT_TRUE(send(ramp(0, 1500, 2)));
    EXPECT_TRUE(send(ramp(1500, 10, 2)));
  });
  EXPECT_EQ(left.ask(), ramp(0, 1000));
  EXPECT_EQ(left.ask(), ramp(1000, 500));
  EXPECT_EQ(right.ask(), ramp(1000, 1000));
  EXPECT_EQ(right.ask(), ramp(2000, 500));
  EXPECT_EQ(left.ask(), ramp(1500, 10));
  EXPECT_EQ(right.ask(), ramp(2500, 10));
  sender.join();
}

TEST_F(ZmqReplySink, ChannelsOfANewPeerBeginTogether) {
  two_channels();
  std::optional<Peer> left(std::in_place, at(0)), right(std::in_place, at(1));
  std::thread sender([&] { EXPECT_TRUE(send(ramp(0, 3000, 2))); });
  EXPECT_EQ(left->ask(), ramp(0, 1000));
  right->question();
  EXPECT_EQ(right->answer(), ramp(1000, 1000));
  EXPECT_EQ(left->ask(), ramp(1000, 1000));
  left.reset();
  right.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  left.emplace(at(0));
  right.emplace(at(1));
  EXPECT_EQ(right->ask(), ramp(3000, 1000)) << "from the other channel's position";
  EXPECT_EQ(left->ask(), ramp(2000, 1000));
  sender.join();
}

TEST(ZmqRawSink, PushesSamplesAloneAndWholeOnAllChannels) {
  const ScratchFolder folder;
  const std::string a = "ipc://" + folder / "a", b = "ipc://" + folder / "b";
  const PortFormat format = stream_format(Element::sc16, 2);
  ZmqSinkOptions o;
  assign(o, {{"bind", a + "," + b}, {"framing", "raw"}, {"wait", "0.1"}});
  const auto sink = o.open(format);
  std::vector<sc16> x(2 * 5);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = {static_cast<std::int16_t>(i), 7};
  Socket left(ZMQ_PULL, Endpoint{"", a, {}});
  left.open(kMostRead);
  EXPECT_FALSE(sink->send(message_of<sc16>(format, 0, x))) << "the second channel has no reader";
  Socket right(ZMQ_PULL, Endpoint{"", b, {}});
  right.open(kMostRead);
  bool sent = false;
  for (int i = 0; i < 100 && !sent; ++i) {
    sent = sink->send(message_of<sc16>(format, 0, x));
    if (!sent) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_TRUE(sent);
  for (const auto& [socket, first] : {std::pair(&left, 0), std::pair(&right, 5)}) {
    Frame frame;
    ASSERT_TRUE(frame.receive(socket->handle()));
    EXPECT_FALSE(frame.more());
    EXPECT_EQ(frame.text(), std::string_view(reinterpret_cast<const char*>(&x[static_cast<std::size_t>(first)]), 20));
  }
}

TEST(ZmqRawSink, ATopicIsAFrameOfItsOwn) {
  const ScratchFolder folder;
  const PortFormat format = stream_format(Element::u8);
  ZmqSinkOptions o;
  assign(o, {{"bind", "ipc://" + folder / "a"}, {"framing", "raw"}, {"topic", "key"}});
  const auto sink = o.open(format);
  Socket reader(ZMQ_PULL, Endpoint{"", "ipc://" + folder / "a", {}});
  reader.open(kMostRead);
  const std::vector<std::uint8_t> x{1, 2, 3};
  ASSERT_TRUE(sink->send(message_of<std::uint8_t>(format, 0, x)));
  Frame frame;
  ASSERT_TRUE(frame.receive(reader.handle()));
  EXPECT_EQ(frame.text(), "key");
  ASSERT_TRUE(frame.more() && frame.receive(reader.handle()));
  EXPECT_EQ(frame.text(), "\1\2\3");
}

TEST(ZmqRawSink, WhatCannotLeaveWithoutHeadersIsSaid) {
  const auto check = [](const PortFormat& format, Values values) {
    ZmqSinkOptions o;
    assign(o, std::move(values));
    return complaints([&](const Section& s) { o.check(format, s); });
  };
  const Values rep{{"bind", "ipc://a"}, {"kind", "rep"}};
  PortFormat frames = stream_format(Element::cf32);
  EXPECT_THAT(check(frames, rep), IsEmpty());
  EXPECT_THAT(check(stream_format(Element::cf32, 2), rep), ElementsAre(HasSubstr("one address per channel")));
  frames.dims = {{"frame", 10}, {"bin", 256}};
  frames.varying = 0;
  EXPECT_THAT(check(frames, rep), ElementsAre(AllOf(HasSubstr("framing"), HasSubstr("[channel][n]"))));
  const PortFormat stream = stream_format(Element::cf32);
  EXPECT_THAT(check(stream, {{"bind", "ipc://a"}, {"kind", "rep"}, {"framing", "json"}}),
              ElementsAre(HasSubstr("raw")));
  EXPECT_THAT(check(stream, {{"bind", "ipc://a"}, {"framing", "gnuradio-tags"}}), ElementsAre(HasSubstr("publish")));
  EXPECT_THAT(check(stream, {{"bind", "ipc://a"}, {"delay", "1"}}), ElementsAre(HasSubstr("rep")));
  EXPECT_THAT(check(stream, {{"bind", "ipc://a"}, {"kind", "rep"}, {"topic", "t"}}), ElementsAre(HasSubstr("topic")));
}

}  // namespace
}  // namespace iqd::radio::zmq
