// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/raw_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <thread>

#include "radio/fields_for_test.hpp"
#include "radio/zmq/frame.hpp"
#include "radio/zmq/options.hpp"
#include "radio/zmq/tag_header_for_test.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::radio::zmq {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Event = Received::Event;
using Values = std::map<std::string, std::string>;

/// Samples whose values are their positions, as in a message.
std::string ramp(int from, int count) {
  std::vector<cf32> x;
  for (int i = 0; i < count; ++i) x.emplace_back(static_cast<float>(from + i), -1.0f);
  return {reinterpret_cast<const char*>(x.data()), x.size() * sizeof(cf32)};
}

/// A transmitter: answers one request at a time with the given messages, or just sends.
struct Peer {
  Peer(int type, const std::string& address) { open(type, address); }
  void open(int type, const std::string& address) {
    socket.emplace(type, Endpoint{address, "", {}});
    socket->set(ZMQ_RCVTIMEO, 10'000);
    socket->open(1 << 20);
  }
  /// The bytes of the request.
  std::string asked() {
    Frame question;
    EXPECT_TRUE(question.receive(socket->handle())) << "no request";
    return std::string(question.text());
  }
  void send(const std::vector<std::string>& frames) {
    std::size_t left = frames.size();
    for (const std::string& f : frames)
      ASSERT_GE(::zmq_send(socket->handle(), f.data(), f.size(), --left ? ZMQ_SNDMORE : 0), 0);
  }
  void answer(const std::string& bytes) {
    asked();
    send({bytes});
  }
  std::optional<Socket> socket;
};

class ZmqRawSource : public ::testing::Test {
 protected:
  std::string at(int channel = 0) const { return "ipc://" + folder_ / ("c" + std::to_string(channel)); }
  void open(Values values = {}) {
    ZmqSourceOptions o;
    values.emplace("connect", at());
    values.emplace("kind", "req");
    values.emplace("rate", "1e6");
    assign(o, values);
    ASSERT_THAT(complaints([&](const Section& s) { o.describe(s); }), IsEmpty());
    source_ = o.open();
    for (int c = 0; c < source_->info().channels; ++c) memory_.emplace_back(4096);
    for (auto& m : memory_) into_.push_back(reinterpret_cast<std::byte*>(m.data()));
  }
  Received receive(std::int64_t most = 4096) { return source_->receive(into_, most); }
  /// Returns the next event other than `nothing`; reconnecting may take a while.
  Received next() {
    Received got;
    for (int i = 0; i < 100 && got.event == Event::nothing; ++i) got = receive();
    return got;
  }
  int first(std::size_t channel = 0) const { return static_cast<int>(memory_[channel][0].real()); }
  std::uint64_t refused() const { return dynamic_cast<const RawSource&>(*source_).refused(); }

  ScratchFolder folder_;
  std::unique_ptr<Source> source_;
  std::vector<std::vector<cf32>> memory_;
  std::vector<std::byte*> into_;
};

TEST_F(ZmqRawSource, AsksWithOneByteAndTakesAnswersOfAnyLength) {
  Peer peer(ZMQ_REP, at());
  open();
  EXPECT_EQ(receive().event, Event::nothing);
  std::thread answers([&] {
    EXPECT_EQ(peer.asked().size(), 1u);
    peer.send({ramp(0, 1)});
    peer.answer(ramp(1, 3000));
    peer.answer(ramp(3001, 17));
    peer.asked();
  });
  for (int place = 0; place < 3018;) {
    const Received got = receive(1000);
    ASSERT_EQ(got.event, Event::samples);
    ASSERT_LE(got.samples, 1000);
    EXPECT_FALSE(got.has_time);
    EXPECT_EQ(got.lost, 0);
    EXPECT_EQ(first(), place);
    EXPECT_EQ(memory_[0][static_cast<std::size_t>(got.samples) - 1],
              cf32(static_cast<float>(place + got.samples - 1), -1));
    place += static_cast<int>(got.samples);
  }
  answers.join();
  EXPECT_EQ(receive().event, Event::nothing);
  EXPECT_EQ(refused(), 0u);
}

TEST_F(ZmqRawSource, HalfASampleIsRefusedAndABreak) {
  Peer peer(ZMQ_REP, at());
  open();
  std::thread answers([&] {
    peer.answer(ramp(0, 10));
    peer.answer(ramp(10, 10) + "half");
    peer.answer("");
    peer.answer(ramp(20, 10));
    peer.asked();
    peer.send({ramp(30, 1), ramp(31, 1)});
    peer.answer(ramp(40, 10));
    peer.asked();
  });
  EXPECT_EQ(next().samples, 10);
  EXPECT_EQ(next().event, Event::overflow);
  EXPECT_EQ(next().samples, 10);
  EXPECT_EQ(first(), 20);
  EXPECT_EQ(refused(), 1u) << "an empty answer is not an error";
  EXPECT_EQ(next().event, Event::overflow);
  EXPECT_EQ(next().samples, 10);
  EXPECT_EQ(first(), 40);
  EXPECT_EQ(refused(), 2u);
  answers.join();
}

TEST_F(ZmqRawSource, APeerThatDiedBeforeItAnsweredIsAskedAgainWhenItIsBack) {
  std::optional<Peer> peer(std::in_place, ZMQ_REP, at());
  open();
  std::thread answers([&] {
    peer->answer(ramp(0, 10));
    peer->asked();
  });
  EXPECT_EQ(next().samples, 10);
  answers.join();
  peer.reset();
  EXPECT_EQ(receive().event, Event::nothing);
  peer.emplace(ZMQ_REP, at());
  answers = std::thread([&] {
    peer->answer(ramp(100, 10));
    peer->asked();
  });
  EXPECT_EQ(next().event, Event::overflow);
  EXPECT_EQ(next().samples, 10);
  EXPECT_EQ(first(), 100);
  answers.join();
}

TEST_F(ZmqRawSource, ChannelsStayInStep) {
  Peer left(ZMQ_REP, at(0)), right(ZMQ_REP, at(1));
  open({{"connect", at(0) + "," + at(1)}, {"channels", "2"}});
  std::thread answers([&] {
    left.answer(ramp(0, 100));
    right.answer(ramp(0, 30));
    right.answer(ramp(30, 50));
    left.answer(ramp(100, 50));
    right.answer(ramp(80, 70));
    left.asked();
    right.asked();
  });
  for (int place = 0; place < 150;) {
    const Received got = next();
    ASSERT_EQ(got.event, Event::samples);
    EXPECT_EQ(first(0), place);
    EXPECT_EQ(first(1), place);
    place += static_cast<int>(got.samples);
  }
  answers.join();
}

TEST_F(ZmqRawSource, ChannelsOfAPeerThatBeganAnewAreInStepAgain) {
  std::optional<Peer> left(std::in_place, ZMQ_REP, at(0)), right(std::in_place, ZMQ_REP, at(1));
  open({{"connect", at(0) + "," + at(1)}, {"channels", "2"}});
  std::thread answers([&] {
    left->answer(ramp(0, 100));
    right->answer(ramp(0, 30));
    right->asked();
  });
  EXPECT_EQ(next().samples, 30);
  answers.join();
  left.reset();
  right.reset();
  EXPECT_EQ(receive().event, Event::nothing);
  left.emplace(ZMQ_REP, at(0));
  right.emplace(ZMQ_REP, at(1));
  answers = std::thread([&] {
    left->answer(ramp(500, 20));
    right->answer(ramp(500, 20));
    left->asked();
    right->asked();
  });
  EXPECT_EQ(next().event, Event::overflow);
  EXPECT_EQ(next().samples, 20);
  EXPECT_EQ(first(0), 500);
  EXPECT_EQ(first(1), 500) << "the 70 earlier samples are not paired with these";
  answers.join();
}

TEST_F(ZmqRawSource, ASubscriptionTakesItsTopicAlone) {
  Peer peer(ZMQ_PUB, at());
  open({{"kind", "sub"}, {"framing", "raw"}, {"topic", "iq"}});
  Received got;
  for (int i = 0; i < 50 && got.event != Event::samples; ++i) {
    peer.send({"iq2", ramp(0, 5)});
    peer.send({"other", ramp(0, 6)});
    peer.send({"iq", ramp(0, 7)});
    got = receive();
  }
  EXPECT_EQ(got.samples, 7);
  while (receive().event == Event::samples) {
  }
  peer.send({R"(iq {"v":1})", ramp(0, 8), ramp(8, 1)});
  EXPECT_EQ(receive().samples, 8) << "a header after the topic is skipped";
  EXPECT_EQ(receive().samples, 1) << "further frames hold samples, too";
  peer.send({"iq"});
  EXPECT_EQ(receive().event, Event::nothing);
  EXPECT_EQ(refused(), 1u);
}

TEST_F(ZmqRawSource, HeadersAreNotTakenForSamples) {
  Peer peer(ZMQ_PUSH, at());
  open({{"kind", "pull"}, {"framing", "raw"}});
  peer.send({R"(t {"dtype":"<c8"}x)", ramp(0, 8)});
  EXPECT_EQ(receive().event, Event::nothing);
  EXPECT_EQ(refused(), 1u);
}

TEST_F(ZmqRawSource, TagsTellTimeAndLoss) {
  using namespace tag_text;
  Peer peer(ZMQ_PUSH, at());
  open({{"kind", "pull"}, {"framing", "gnuradio-tags"}});
  const auto send = [&](std::uint64_t offset, int count, const std::string& tags = "", std::uint64_t number = 0) {
    peer.send({head(offset, number) + tags + ramp(static_cast<int>(offset), count)});
  };
  send(1000, 100, tag(1040, "rx_time", time(2'000, 0.5)), 1);
  Received got = next();
  EXPECT_EQ(got.samples, 40) << "up to the sample that has a time stamp";
  EXPECT_FALSE(got.has_time);
  got = next();
  EXPECT_EQ(got.samples, 60);
  EXPECT_TRUE(got.has_time);
  EXPECT_EQ(got.time_ns, 2'000'500'000'000);
  EXPECT_EQ(got.lost, 0);
  EXPECT_EQ(first(), 1040);
  peer.send({"no header"});
  send(1133, 10);
  got = next();
  EXPECT_EQ(got.samples, 10);
  EXPECT_EQ(got.lost, 33);
  EXPECT_FALSE(got.has_time);
  send(0, 10);
  EXPECT_EQ(next().event, Event::overflow) << "the flowgraph was restarted";
  EXPECT_EQ(next().samples, 10);
  send(10, 10, tag(10, "rx_rate", real(2e6)), 1);
  send(20, 10);
  send(30, 10, tag(30, "rx_rate", real(1e6)), 1);
  got = next();
  EXPECT_EQ(got.lost, 20);
  EXPECT_EQ(first(), 30);
  EXPECT_EQ(refused(), 3u);
  send(45, 0);
  send(60, 10);
  EXPECT_EQ(next().lost, 20) << "an empty message in between hides nothing";
  peer.send({head(75, 0) + "half"});
  send(80, 10);
  EXPECT_EQ(next().lost, 10) << "nor does an ignored one";
  EXPECT_EQ(refused(), 4u);
  send(90 + 3600 * 1'000'000ull, 10);
  EXPECT_EQ(next().lost, 3'600'000'000);
  for (const std::uint64_t far : {2 * 3600 * 1'000'001ull + 1000, (1ull << 61) - 100}) {
    send(far, 10);
    EXPECT_EQ(next().event, Event::overflow) << "the count is implausible";
    got = next();
    EXPECT_EQ(got.samples, 10);
    EXPECT_EQ(got.lost, 0);
  }
}

/// Random messages, some of them valid: delivered plus ignored is everything.
TEST_F(ZmqRawSource, WhateverComesIsDeliveredOrCounted) {
  Peer peer(ZMQ_PUSH, at());
  open({{"kind", "pull"}, {"framing", "raw"}});
  std::mt19937 random(1);
  std::uint64_t wrong = 0;
  std::int64_t right = 0, received = 0;
  for (int round = 0; round < 5'000; ++round) {
    const bool last = round % 20 == 19;  // the last one read must be valid, so that nothing waits for more
    const std::size_t bytes = last || random() % 4 == 0 ? 8 * (1 + random() % 500) : random() % 4000;
    std::vector<std::string> frames{std::string(bytes, static_cast<char>(random()))};
    if (!last && random() % 4 == 0) frames.emplace_back(random() % 20, 'x');
    const bool good = frames.size() == 1 && bytes % 8 == 0;
    wrong += good ? 0 : 1;
    right += good ? static_cast<std::int64_t>(bytes / 8) : 0;
    peer.send(frames);
    if (!last) continue;
    while (received < right || refused() < wrong) {
      const Received got = receive(300);
      ASSERT_NE(got.event, Event::failed);
      received += got.samples;
    }
  }
  EXPECT_EQ(received, right);
  EXPECT_EQ(refused(), wrong);
}

TEST(ZmqRawOptions, WhatDoesNotFitIsSaid) {
  const auto source = [](Values values) {
    values.emplace("rate", "1000000");
    ZmqSourceOptions o;
    assign(o, values);
    return complaints([&](const Section& s) { o.describe(s); });
  };
  const Values one{{"connect", "ipc://a"}, {"kind", "req"}}, two{{"connect", "ipc://a,ipc://b"}, {"kind", "req"}};
  const auto with = [](Values values, const Values& more) {
    values.insert(more.begin(), more.end());
    return values;
  };
  EXPECT_THAT(source(one), IsEmpty());
  EXPECT_THAT(source(with(two, {{"channels", "2"}})), IsEmpty());
  EXPECT_THAT(source(two), ElementsAre(HasSubstr("one address per channel")));
  EXPECT_THAT(source(with(one, {{"channels", "2"}})), ElementsAre(HasSubstr("one address per channel")));
  EXPECT_THAT(source(with(one, {{"framing", "json"}})), ElementsAre(HasSubstr("framing")));
  EXPECT_THAT(source(with(one, {{"topic", "t"}})), ElementsAre(HasSubstr("topic")));
  EXPECT_THAT(source({{"connect", "ipc://a,ipc://b"}, {"channels", "2"}}), ElementsAre(HasSubstr("share one address")));
  EXPECT_THAT(source({{"connect", "ipc://a,ipc://b"}, {"channels", "2"}, {"framing", "raw"}}),
              ElementsAre(HasSubstr("in step")));
  EXPECT_THAT(
      source({{"connect", "ipc://a,ipc://b"}, {"channels", "2"}, {"framing", "gnuradio-tags"}, {"kind", "pull"}}),
      ElementsAre(HasSubstr("one channel")));
  EXPECT_THAT(source({{"connect", "ipc://a,x"}, {"channels", "2"}, {"kind", "req"}}), ElementsAre(HasSubstr("'x'")));
}

}  // namespace
}  // namespace iqd::radio::zmq
