// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "radio/drivers.hpp"
#include "radio/fields_for_test.hpp"
#include "radio/message_part.hpp"
#include "radio/messages_for_test.hpp"
#include "radio/trigger/triggered_sink.hpp"

namespace iqd::radio::trigger {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Records what it is given: the real part of each sample of the last channel, and where each message starts.
struct Seen {
  std::vector<float> x;
  std::vector<std::int64_t> starts, times, gaps, positions;
  std::vector<Trigger> triggers;  // of messages that have one; `first` is the sample itself
  int empty = 0;
  bool full = false;
};
class SeeingSink final : public Sink {
 public:
  explicit SeeingSink(Seen& seen) : seen_(seen) {}
  bool send(const Message& m) override {
    if (seen_.full) return false;
    if (m.extent == 0) return ++seen_.empty, true;
    const auto* const items = reinterpret_cast<const cf32*>(m.payload.data());
    const std::int64_t all = std::ssize(m.payload) / 8;
    for (std::int64_t i = all - m.extent; i < all; ++i) seen_.x.push_back(items[i].real());
    if (m.trigger) {
      seen_.triggers.push_back(*m.trigger);
      seen_.triggers.back().first += m.sample;
    }
    seen_.starts.push_back(m.sample);
    seen_.positions.push_back(m.position);
    seen_.times.push_back(m.time_ns);
    seen_.gaps.push_back(m.gap);
    return true;
  }

 private:
  Seen& seen_;
};

/// A stream whose n-th sample is n, at 1 MS/s, so that a sample lasts 1 us.
class Stream {
 public:
  explicit Stream(const Settings& settings, std::int64_t channels = 1)
      : format_(stream_format(Element::cf32, channels)), channels_(channels) {
    sink_ = settings.put_before(std::make_unique<SeeingSink>(seen), format_, [this] { ++over; });
  }
  /// `first_channel`: the value of the first of several channels.
  bool give(std::int64_t first, std::int64_t n, std::int64_t gap = 0, float first_channel = 0) {
    std::vector<cf32> x;
    for (std::int64_t c = 0; c < channels_; ++c)
      for (std::int64_t i = 0; i < n; ++i)
        x.emplace_back(c + 1 < channels_ ? first_channel : static_cast<float>(first + i), 0.0F);
    Message message = message_of<const cf32>(format_, first, x, gap);
    message.position = first;
    return sink_->send(message);
  }
  Seen seen;
  int over = 0;

 private:
  PortFormat format_;
  std::int64_t channels_;
  std::unique_ptr<Sink> sink_;
};

std::vector<float> count_up(int from, int to) {
  std::vector<float> x;
  for (int n = from; n < to; ++n) x.push_back(static_cast<float>(n));
  return x;
}

/// The level of sample n, in a window of one sample.
std::string above(int n) {
  return "level >= " + std::to_string(20 * std::log10(n) - 1e-4) + " dB";
}

Settings around(const std::string& when, int pre, int post, std::int64_t count = 0) {
  Settings s;
  s.when = when;
  s.pre_s = pre * 1e-6;
  s.post_s = post * 1e-6;
  s.count = count;
  s.window_s = 1e-6;
  return s;
}

TEST(Trigger, WhatIsAroundItIsHandedOn) {
  // For any message size.
  for (const int size : {1, 7, 100, 1000}) {
    Stream s(around(above(500), 30, 50, 1));
    for (int n = 0; n < 1000; n += size) EXPECT_TRUE(s.give(n, std::min(size, 1000 - n)));
    EXPECT_EQ(s.seen.x, count_up(470, 550)) << size;
    EXPECT_EQ(s.seen.starts.front(), 470);
    EXPECT_EQ(s.seen.positions, s.seen.starts);
    EXPECT_EQ(s.seen.times.front(), 1'743'422'400'000'000'000 + 470'000);
    EXPECT_EQ(s.over, 1);
  }
}

TEST(Trigger, TheFirstMessageTellsOfIt) {
  for (const int size : {1, 7, 100, 1000}) {
    Settings settings = around(above(380), 30, 250);
    settings.window_s = 100e-6;  // the first window with that mean power starts at 400
    Stream s(settings);
    for (int n = 0; n < 1000; n += size) s.give(n, std::min(size, 1000 - n));
    ASSERT_THAT(s.seen.triggers, SizeIs(3)) << size;
    EXPECT_EQ(s.seen.x, count_up(370, 1000));
    const Trigger& first = s.seen.triggers[0];
    EXPECT_EQ(first.reason, settings.when);
    EXPECT_EQ(first.number, 1);
    EXPECT_EQ(first.first, 400);
    EXPECT_EQ(first.items, 100);
    EXPECT_EQ(first.time_ns, 1'743'422'400'000'000'000 + 400'000);
    EXPECT_EQ(s.seen.triggers[1].number, 2);
    EXPECT_EQ(s.seen.triggers[1].first, 650) << "where the previous one ends";
  }
}

TEST(Trigger, ATriggerBeforeAllThatIsLeftIsAtItsBegin) {
  Settings settings = around("", 10, 20);
  settings.name = "long ago";
  Stream s(settings);
  s.give(1'000'000, 100);
  Event::named("long ago")->happens(1'743'422'400'000'000'000);
  s.give(1'000'100, 100);
  ASSERT_THAT(s.seen.triggers, SizeIs(1));
  EXPECT_EQ(s.seen.triggers[0].reason, "long ago");
  EXPECT_EQ(s.seen.triggers[0].first, s.seen.starts.front());
  EXPECT_EQ(s.seen.triggers[0].items, 1);
}

TEST(Trigger, WithoutAPastThereIsNoPreRoll) {
  Stream s(around(above(5), 30, 10, 1));
  s.give(0, 3);
  s.give(3, 100);
  EXPECT_EQ(s.seen.x, count_up(0, 15));
  EXPECT_EQ(s.over, 1);
}

TEST(Trigger, TheNextBeginsWhereTheOneBeforeEnds) {
  // It holds from 500 on: nothing is missing and nothing comes twice.
  for (const int size : {1, 13, 1000}) {
    Stream s(around(above(500), 30, 50));
    for (int n = 0; n < 1000; n += size) s.give(n, std::min(size, 1000 - n));
    EXPECT_EQ(s.seen.x, count_up(470, 1000)) << size;
    EXPECT_EQ(s.over, 0);
  }
}

TEST(Trigger, CountsItsRecordings) {
  Stream s(around("gap > 0", 0, 10, 2));
  for (const int start : {0, 200, 400, 600}) s.give(start, 100, start ? 100 : 0);
  EXPECT_THAT(s.seen.starts, ElementsAre(200, 400));
  EXPECT_THAT(s.seen.x, SizeIs(20));
  EXPECT_EQ(s.over, 1);
}

TEST(Trigger, TheLevelIsThatOfWholeWindows) {
  // Windows of 100 samples: their mean powers are those of numbers near 50, 150, 250 …
  Settings settings = around(above(200), 0, 1, 1);
  settings.window_s = 100e-6;
  for (const int size : {7, 100, 1000}) {
    Stream s(settings);
    for (int n = 0; n < 1000; n += size) s.give(n, std::min(size, 1000 - n));
    EXPECT_EQ(s.seen.x, count_up(200, 300)) << size;  // the window in which it was found is complete
  }
}

TEST(Trigger, AnyChannelWillDo) {
  Stream s(around(above(5000), 0, 5, 1), 3);
  s.give(0, 100);
  s.give(100, 100, 0, 6000);
  EXPECT_EQ(s.seen.x, count_up(100, 105));
}

TEST(Trigger, BelowIsACondition) {
  Settings settings = around("level < -100 dB", 0, 3, 1);
  Stream s(settings);
  s.give(5, 10);
  EXPECT_THAT(s.seen.x, IsEmpty());
  s.give(0, 10);  // the zero of a restarted stream
  EXPECT_EQ(s.seen.x, count_up(0, 3));
}

TEST(Trigger, APreRollOverAGapSaysSo) {
  Stream s(around(above(500), 30, 1, 1));
  s.give(400, 20);
  s.give(480, 15, 60);
  s.give(495, 10);
  std::vector<float> expected = count_up(410, 420);
  for (const float x : count_up(480, 501)) expected.push_back(x);
  EXPECT_EQ(s.seen.x, expected);
  EXPECT_THAT(s.seen.starts, ElementsAre(410, 480, 495));
  EXPECT_THAT(s.seen.gaps, ElementsAre(0, 60, 0));
}

TEST(Trigger, ATimeComesOnce) {
  std::string when = "time > 2025-03-31T12:00:00.000150Z";
  for (const int size : {1, 64, 1000}) {
    Stream s(around(when, 10, 20));
    for (int n = 0; n < 1000; n += size) s.give(n, std::min(size, 1000 - n));
    EXPECT_EQ(s.seen.x, count_up(140, 170)) << size;
  }
  Stream late(around(when, 10, 20));  // the time has passed: triggers at once
  late.give(600, 100);
  EXPECT_EQ(late.seen.x, count_up(600, 620));
}

TEST(Trigger, AnEventIsPlacedByItsTime) {
  Settings settings = around("", 10, 20);
  settings.name = "event test";
  Stream s(settings);
  for (int n = 0; n < 1000; n += 100) s.give(n, 100);
  EXPECT_THAT(s.seen.x, IsEmpty());
  const auto event = Event::named("event test");
  event->happens(1'743'422'400'000'000'000 + 700'000);   // reported late: the samples are in memory
  event->happens(1'743'422'400'000'000'000 + 1150'000);  // reported before its samples arrive
  for (int n = 1000; n < 1300; n += 100) s.give(n, 100);
  std::vector<float> expected = count_up(690, 720);
  for (const float x : count_up(1140, 1170)) expected.push_back(x);
  EXPECT_EQ(s.seen.x, expected);
  EXPECT_EQ(tell("event test"), 1u);  // without a time: at the next sample
  s.give(1300, 100);
  EXPECT_THAT(s.seen.x, SizeIs(90));
  EXPECT_EQ(s.seen.x.back(), 1319);
  EXPECT_EQ(tell("nobody waits for this"), 0u);
  event->happens(1'743'422'400'000'000'000 + 1310'000);  // already in a recording
  s.give(1400, 100);
  EXPECT_THAT(s.seen.x, SizeIs(90));
}

TEST(Trigger, ASinkThatHoldsSomethingBackIsCalledAfterwards) {
  Stream s(around(above(500), 10, 20, 1));
  s.give(400, 90);
  EXPECT_EQ(s.seen.empty, 0);
  s.give(490, 110);
  s.give(600, 100, 50);
  s.give(700, 100);
  EXPECT_EQ(s.seen.empty, 2);
  EXPECT_EQ(s.seen.x, count_up(490, 520));
}

TEST(Trigger, AllChannelsAreKeptOfWhatIsBefore) {
  for (const int size : {1, 7, 100}) {
    Stream s(around(above(500), 150, 50, 1), 3);
    for (int n = 0; n < 600; n += size) EXPECT_TRUE(s.give(n, std::min(size, 600 - n)));
    EXPECT_EQ(s.seen.x, count_up(350, 550)) << "of the last channel, in messages of " << size;
  }
}

TEST(MessagePart, AWholeMessageHasAllItsRows) {
  const PortFormat format = stream_format(Element::cf32, 2);
  const std::vector<cf32> x(200);
  const Message message = message_of<const cf32>(format, 0, x);
  std::vector<std::byte> storage;
  EXPECT_EQ(part_of(message, 0, 100, storage).payload.size(), 1600u);
  EXPECT_EQ(part_of(message, 0, 100, storage).payload.data(), message.payload.data()) << "not copied";
  EXPECT_EQ(part_of(message, 0, 99, storage).payload.size(), 2u * 99 * 8);
  EXPECT_EQ(part_of(message, 1, 99, storage).payload.size(), 2u * 99 * 8);
}

TEST(MessagePart, ARetuneIsToldOnce) {
  const PortFormat format = stream_format(Element::cf32);
  const std::vector<cf32> x(100);
  Message message = message_of<const cf32>(format, 1000, x);
  message.tuned = 1050;
  message.position = 1000;
  const Trigger trigger{.reason = "gap > 0"};
  message.trigger = &trigger;
  std::vector<std::byte> unused;
  EXPECT_EQ(part_of(message, 0, 20, unused).tuned, 1050);   // still to come
  EXPECT_EQ(part_of(message, 50, 20, unused).tuned, 1050);  // at its start
  EXPECT_EQ(part_of(message, 51, 20, unused).tuned, -1);
  EXPECT_EQ(part_of(message, 51, 20, unused).position, 1051);
  EXPECT_EQ(part_of(message, 0, 20, unused).trigger, &trigger);
  EXPECT_EQ(part_of(message, 51, 20, unused).trigger, nullptr);
}

TEST(Trigger, WhatTheSinkRefusesIsRefused) {
  Stream s(around(above(50), 10, 1000));
  EXPECT_TRUE(s.give(0, 40));
  s.seen.full = true;
  EXPECT_TRUE(s.give(40, 5));  // kept only
  EXPECT_FALSE(s.give(45, 10));
  EXPECT_FALSE(s.give(55, 10));
}

std::unique_ptr<SinkOptions> event_options(const std::string& when) {
  auto options = trigger_driver().make_sink();
  assign(*options, {{"name", "of a port"}, {"when", when}});
  return options;
}

TEST(TriggerSink, TellsOfWhatAPortGives) {
  PortFormat format = stream_format(Element::u8);
  format.dims = {{"packet", 8}, {"ok", 1}};
  format.varying = 0;
  format.item_rate_hz = 0;
  Event::Listener listener(Event::named("of a port"));
  const auto sink = event_options("value < 1")->open(format);
  const std::vector<std::uint8_t> good{1, 1}, bad{1, 0, 0};
  sink->send(message_of<const std::uint8_t>(format, 100, good));
  EXPECT_FALSE(listener.take());
  sink->send(message_of<const std::uint8_t>(format, 200, bad));
  const auto heard = listener.take();
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->time_ns, 1'743'422'400'000'000'000 + 200'000);
  EXPECT_FALSE(listener.take());  // once per message
}

TEST(TriggerSink, RefusesWhatAPortHasNot) {
  const auto wrong = [](const std::string& when, Element element) {
    return complaints([&](const Section& section) { event_options(when)->check(stream_format(element), section); });
  };
  EXPECT_THAT(wrong("level > -3 dB", Element::cf32), IsEmpty());
  EXPECT_THAT(wrong("level > -3 dB", Element::f32), SizeIs(1));
  EXPECT_THAT(wrong("rubbish", Element::f32), ElementsAre(HasSubstr("expected one of level")));
}

TEST(Trigger, SaysWhatIsWrongWithItsKeys) {
  const auto wrong = [](const Settings& settings, const PortFormat& format) {
    return complaints([&](const Section& section) { settings.check(format, section); });
  };
  const PortFormat stream = stream_format(Element::cf32);
  EXPECT_THAT(wrong(around("level > -3 dB", 1, 1), stream), IsEmpty());
  EXPECT_THAT(wrong({}, stream), ElementsAre(HasSubstr("needs `when`")));
  EXPECT_THAT(wrong(around("level > -3 dB", 0, 0), stream), ElementsAre(HasSubstr("not one sample")));
  EXPECT_THAT(wrong(around("level", 1, 1), stream), ElementsAre(HasSubstr("expected one of")));
  PortFormat packets = stream;
  packets.dims = {{"packet", 8}, {"bit", 100}};
  packets.varying = 0;
  EXPECT_THAT(wrong(around("items > 0", 1, 1), packets), ElementsAre(HasSubstr("is for a stream")));
}

}  // namespace
}  // namespace iqd::radio::trigger
