// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// An outage costs only what was not received: what came before it and after it is published, whatever the radio did.
#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <stdexcept>

#include "tests/support/radio_rig.hpp"

namespace iqd::testing {
namespace {

using Do = Step::Do;
using Event = Received::Event;

/// Words that count the samples of one radio, over all its openings.
class OftenGone {
 public:
  OftenGone(std::uint32_t seed, int outages) : random_(seed), outages_(outages) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }

  std::mt19937_64 random_;
  int outages_;  // still to come
  std::int64_t given_ = 0;
  std::int64_t time_ns_ = ScriptedSource::kStartNs;
  // The lanes keep up with it: it waits until all blocks are computed before it gives more than `burst_` at once, or has
  // a second gap.
  const Engine* engine_ = nullptr;
  const Counters* counters_ = nullptr;
  std::int64_t burst_ = 0;
};

/// One opening: a few steps of any kind, then an outage of any kind; at last the end.
class GoneSource final : public Source {
 public:
  GoneSource(const StreamInfo& info, OftenGone& radio) : info_(info), radio_(radio), steps_(1 + radio.below(8)) {
    // It comes back at another time, or even an earlier one.
    radio_.time_ns_ += 1'000'000 * (radio_.below(200) - 20);
  }
  StreamInfo info() const override { return info_; }
  Received receive(std::span<std::byte* const> into, std::int64_t most) override {
    EXPECT_GE(radio_.counters_->received.value(), radio_.counters_->published_for_good());
    if (silent_) return nothing();
    if (steps_-- <= 0) return leave(most);
    switch (radio_.below(12)) {
      case 0: return lose(Event::overflow);
      case 1: return lose(Event::late);
      case 2: return lose(Event::sequence);
      case 3: return nothing();
      default: return give(into, most);
    }
  }

 private:
  static Received nothing() {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    return {};
  }
  Received lose(Event event) {
    radio_.time_ns_ += 1000 * radio_.below(1000);
    has_gap_ = true;
    return {.event = event};
  }
  Received give(std::span<std::byte* const> into, std::int64_t most) {
    const std::int64_t samples = std::min(most, 1 + radio_.below(radio_.burst_));
    if (burst_ + samples > radio_.burst_) {
      while (radio_.engine_->unfinished_ns() > 0) std::this_thread::yield();
      burst_ = 0;
    }
    burst_ += samples;
    const std::int64_t expected_ns = radio_.time_ns_;
    Received r{.event = Event::samples, .samples = samples};
    r.lost = radio_.below(6) ? 0 : radio_.below(900);
    r.has_time = radio_.below(3) > 0;
    radio_.time_ns_ += 1000 * (r.lost + (radio_.below(6) ? 0 : radio_.below(900)));
    r.time_ns = radio_.time_ns_;
    // A gap takes up to a block in the ring, which has room for one.
    has_gap_ = has_gap_ || radio_.time_ns_ > expected_ns;
    if (has_gap_ && (r.has_time || r.lost > 0)) burst_ = radio_.burst_;
    has_gap_ = has_gap_ && !r.has_time;
    radio_.time_ns_ += 1000 * samples;
    for (std::byte* channel : into)
      for (std::int64_t i = 0; i < samples; ++i) {
        const auto word = static_cast<Word>(radio_.given_ + i);
        std::memcpy(channel + i * 4, &word, sizeof word);
      }
    radio_.given_ += samples;
    r.ends = radio_.below(15) == 0;
    return r;
  }
  Received leave(std::int64_t most) {
    if (radio_.outages_-- <= 0) return {.event = Event::end};
    switch (radio_.below(5)) {
      case 0: throw std::runtime_error("the cable is out");
      case 1: throw 42;
      case 2: return {.event = Event::samples, .samples = most + 1};
      case 3: silent_ = true; return nothing();
      default: return {.event = Event::failed};
    }
  }

  StreamInfo info_;
  OftenGone& radio_;
  std::int64_t steps_;
  std::int64_t burst_ = radio_.burst_;  // since all blocks were computed; waits for that first
  bool has_gap_ = true;                 // may not be known yet, for lack of a time
  bool silent_ = false;
};

class GoneOptions final : public SourceOptions {
 public:
  GoneOptions(StreamInfo info, OftenGone& radio) : info_(std::move(info)), radio_(radio) {}
  void fields(FieldVisitor&) override {}
  StreamInfo describe(const Section&) const override { return info_; }
  std::unique_ptr<Source> open() const override {
    if (was_open_ && radio_.below(3) == 0) throw std::runtime_error("busy");
    was_open_ = true;
    return std::make_unique<GoneSource>(info_, radio_);
  }

 private:
  StreamInfo info_;
  OftenGone& radio_;
  mutable bool was_open_ = false;
};

struct Shape {
  std::int64_t block;
  int lanes;
  std::int64_t past;
  std::int64_t future;
  int refused_of = 0;  // the outlet refuses one in so many messages; 0: none
  friend void PrintTo(const Shape& s, std::ostream* out) { *out << "blocks of " << s.block; }
};

/// Each word was published once, in order, unless its message was refused; gaps are those of the counters.
void expect_published(Rig& rig, const OftenGone& radio) {
  std::int64_t word = 0, expected = 0, missing = 0, refused = 0;
  for (const Sent& s : rig.records[0].sent) {
    ASSERT_EQ(s.sample, expected + s.gap) << "message " << s.seq;
    missing += s.gap;
    const auto words = s.as<Word>();
    ASSERT_GE(words[0], word) << "message " << s.seq;
    refused += words[0] - word;
    word = words[0];
    for (std::int64_t i = 0; i < s.extent; ++i) ASSERT_EQ(words[static_cast<std::size_t>(i)], word++) << s.seq;
    expected = s.sample + s.extent;
  }
  refused += radio.given_ - word;
  EXPECT_EQ(static_cast<std::int64_t>(rig.counters.drops(Drop::refused).value()), refused);
  EXPECT_LE(missing, static_cast<std::int64_t>(rig.counters.lost.value()) + refused);
}

class IntakeOutage : public ::testing::TestWithParam<Shape> {};

/// 125 outages for each of eight shapes. At any time received = published + dropped + in flight; nothing is dropped, since
/// the lanes keep up.
TEST_P(IntakeOutage, CostsOnlyWhatWasNotReceived) {
  constexpr int kOutages = 125;
  const Quiet quiet;
  const Shape shape = GetParam();
  Rig::Options o = radio_options();
  o.block = shape.block;
  o.lanes = shape.lanes;
  o.slots = shape.lanes + 4;
  o.ring = 0;
  o.stages = {{"window", fmt::format("{{past: {}, future: {}}}", shape.past, shape.future)}};
  o.publish = {"source", "window"};
  o.intake.overrun = Overrun::drop;
  o.intake.silent_ns = 300'000;
  o.intake.backoff_ns = o.intake.longest_backoff_ns = 1000;
  OftenGone radio(static_cast<std::uint32_t>(shape.block * 31 + shape.future), kOutages);
  const GoneOptions options(o.info, radio);
  Rig rig(o, {{}});
  radio.engine_ = rig.engine.get();
  radio.counters_ = &rig.counters;
  radio.burst_ = shape.future + shape.block;
  if (shape.refused_of > 0)
    rig.records[0].refuse = [n = static_cast<std::uint64_t>(shape.refused_of)](const Message& m) {
      return m.seq % n == 1;
    };
  Intake intake(options, options.open(), *rig.engine, o.intake, rig.counters);
  intake.start();
  rig.engine->join();
  const Counters& c = rig.counters;
  EXPECT_EQ(static_cast<std::int64_t>(c.received.value()), radio.given_);
  EXPECT_EQ(c.received.value(), c.published_for_good() + c.all_dropped());
  EXPECT_EQ(c.all_dropped(), rig.drops(Drop::refused)) << "lanes " << rig.drops(Drop::lanes);
  EXPECT_GE(c.reconnects.value(), static_cast<std::uint64_t>(kOutages));
  expect_published(rig, radio);
}

INSTANTIATE_TEST_SUITE_P(Shapes, IntakeOutage,
                         ::testing::Values(Shape{64, 2, 0, 0}, Shape{64, 1, 30, 100}, Shape{16, 2, 0, 16 * 40},
                                           Shape{100, 4, 250, 33}, Shape{1000, 1, 0, 900}, Shape{7, 3, 5, 70},
                                           Shape{2048, 2, 100, 1, 7}, Shape{1, 2, 2, 300, 11}),
                         [](const auto& test) {
                           return fmt::format("Block{}Lanes{}Past{}Future{}", test.param.block, test.param.lanes,
                                              test.param.past, test.param.future);
                         });

Rig::Options looking_ahead(std::int64_t block, std::int64_t future) {
  Rig::Options o = radio_options();
  o.block = block;
  o.lanes = 1;
  o.ring = 0;
  o.stages = {{"window", fmt::format("{{future: {}}}", future)}, {"gate"}};
  o.publish = {"source", "gate"};
  o.intake.overrun = Overrun::drop;
  return o;
}

/// A gap completes all blocks that wait for their future. As many samples as they waited for may arrive while they are
/// computed.
class IntakeTail : public ::testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {};

TEST_P(IntakeTail, BlocksBeforeAGapLeaveRoomForThoseBehindIt) {
  const auto [block, future] = GetParam();
  Rig rig(looking_ahead(block, future),
          {{{{.samples = future + 2 * block}, {.samples = future, .lost = 100}, {.what = Do::hang}}}});
  GateStage::door().set(false);
  rig.start();
  const auto all = static_cast<std::uint64_t>(2 * (future + block));
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.received.value() == all; }));
  EXPECT_EQ(rig.counters.published.value(), 0u);
  GateStage::door().set(true);
  rig.view.released = true;
  rig.view.bell.ring();
  rig.engine->join();
  expect_all_published(rig, all);
  rig.expect_continuous();
}

INSTANTIATE_TEST_SUITE_P(Shapes, IntakeTail, ::testing::Values(std::pair(1024, 10'240), std::pair(16, 16 * 200)),
                         [](const auto& test) { return test.index == 0 ? "OfTheRing" : "OfTheQueue"; });

/// What nothing will follow is not kept until the radio is back.
TEST(IntakeTail, IsPublishedWhenTheRadioFails) {
  Rig::Options o = looking_ahead(64, 640);
  o.intake.backoff_ns = 3'600'000'000'000;
  Rig rig(o, {{{{.samples = 1000}, {.what = Do::fail}}}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.state.load() == SourceState::reconnecting; }));
  EXPECT_TRUE(Rig::eventually([&] { return rig.counters.published.value() == 1000; }));
  rig.intake->stop();
  rig.engine->join();
  expect_all_published(rig, 1000);
}

/// More blocks wait for their future than are outstanding otherwise.
TEST(IntakeTail, OfManyBlocksHoldsUpNoSource) {
  Rig::Options o = looking_ahead(16, 16 * 400);
  o.info.can_wait = true;
  o.intake.overrun = Overrun::wait;
  Rig rig(o, {{{{.samples = 16 * 1000}}}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.intake->ended(); }));
  rig.engine->join();
  expect_all_published(rig, 16 * 1000);
  rig.expect_continuous();
}

}  // namespace
}  // namespace iqd::testing
