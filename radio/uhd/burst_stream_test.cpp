// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/uhd/burst_stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/clock.hpp"
#include "radio/messages_for_test.hpp"

namespace uhd::rfnoc {
struct action_info;
}

namespace iqd::radio::usrp {
namespace {

using ::testing::ElementsAre;

/// What libuhd is asked to send: `(` starts a burst, `)` ends one, `@` is a start time.
class FakeStreamer final : public uhd::tx_streamer {
 public:
  std::size_t get_num_channels() const override { return 1; }
  std::size_t get_max_num_samps() const override { return 1000; }
  std::size_t send(const buffs_type&, std::size_t samples, const uhd::tx_metadata_t& m, double) override {
    const std::size_t taken = std::min(samples, most);
    sent.push_back((m.start_of_burst ? "(" : "") + std::string(m.has_time_spec ? "@" : "") + std::to_string(taken) +
                   (m.end_of_burst ? ")" : ""));
    return taken;
  }
  bool recv_async_msg(uhd::async_metadata_t&, double) override { return false; }
  // Newer versions of libuhd have it.
  void post_output_action(const std::shared_ptr<uhd::rfnoc::action_info>&, std::size_t) {}

  std::size_t most = 1000;
  std::vector<std::string> sent;
};

class Bursting : public ::testing::Test {
 protected:
  BurstStream stream(const Timing& timing, Bursts bursts = Bursts::stream) {
    return {streamer_, SampleRows(1, Element::sc16), 1e6, timing, bursts};
  }
  bool send(BurstStream& stream, SampleIndex sample, std::optional<uhd::time_spec_t> at = {}) {
    const Message message = message_of(format_, sample, std::span<const sc16>(samples_));
    stream.end_before(message);
    if (!stream.in_burst()) stream.begin(at);
    return stream.write(message, interrupted_);
  }

  std::shared_ptr<FakeStreamer> streamer_ = std::make_shared<FakeStreamer>();
  PortFormat format_ = stream_format(Element::sc16);
  std::vector<sc16> samples_ = std::vector<sc16>(100);
  std::atomic<bool> interrupted_{false};
};

TEST_F(Bursting, AStreamIsOneBurst) {
  BurstStream stream = this->stream({});
  EXPECT_TRUE(send(stream, 0));
  EXPECT_TRUE(send(stream, 500)) << "times do not matter";
  EXPECT_TRUE(stream.is_on_air());
  stream.end();
  EXPECT_THAT(streamer_->sent, ElementsAre("(100", "100", "0)"));
}

TEST_F(Bursting, OnlyTheFirstPartOfAMessageStartsIt) {
  streamer_->most = 60;
  BurstStream stream = this->stream({.timed = true});
  EXPECT_TRUE(send(stream, 0, uhd::time_spec_t(7.0)));
  EXPECT_THAT(streamer_->sent, ElementsAre("(@60", "40"));
}

TEST_F(Bursting, WithTimesAGapEndsIt) {
  BurstStream stream = this->stream({.timed = true});
  for (const SampleIndex sample : {0, 100, 250}) EXPECT_TRUE(send(stream, sample, uhd::time_spec_t(7.0)));
  EXPECT_THAT(streamer_->sent, ElementsAre("(@100", "100", "0)", "(@100"));
}

TEST_F(Bursting, EachMessageMayBeOne) {
  BurstStream stream = this->stream({}, Bursts::message);
  for (const SampleIndex sample : {0, 100}) EXPECT_TRUE(send(stream, sample));
  EXPECT_FALSE(stream.in_burst());
  EXPECT_THAT(streamer_->sent, ElementsAre("(100)", "(100)"));
}

TEST_F(Bursting, AnEndedBurstIsOnAirUntilTheDeviceHasSentIt) {
  BurstStream stream = this->stream({});
  EXPECT_FALSE(stream.is_on_air());
  EXPECT_TRUE(send(stream, 0));
  stream.end();
  EXPECT_TRUE(stream.is_on_air());
  stream.acknowledged();
  EXPECT_FALSE(stream.is_on_air());
}

TEST_F(Bursting, WaitsASecondForARadioThatTakesNothing) {
  streamer_->most = 0;
  BurstStream stream = this->stream({});
  const std::int64_t began = steady_ns();
  EXPECT_FALSE(send(stream, 0));
  EXPECT_GE(steady_ns() - began, 1'000'000'000);
  interrupted_ = true;
  EXPECT_FALSE(send(stream, 100)) << "interrupted";
}

}  // namespace
}  // namespace iqd::radio::usrp
