// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/trigger/stretch_finder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "radio/messages_for_test.hpp"

namespace iqd::radio::trigger {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Piece = std::pair<SampleIndex, std::int64_t>;

/// A stream of samples, each of them a microsecond long.
class Stretches : public ::testing::Test {
 protected:
  Message message(SampleIndex sample, std::int64_t n, std::int64_t gap = 0) {
    return message_of<const float>(format_, sample, std::span(samples_).first(static_cast<std::size_t>(n)), gap);
  }
  static std::vector<Piece> pieces(const Past& past, std::int64_t oldest, std::int64_t newest) {
    std::vector<Piece> found;
    past.visit(oldest, newest, [&](const Message& kept, std::int64_t from, std::int64_t n) {
      found.emplace_back(kept.sample + from, n);
    });
    return found;
  }
  static std::int64_t time_ns(SampleIndex sample) { return 1'743'422'400'000'000'000 + sample * 1000; }

  PortFormat format_ = stream_format(Element::f32);
  std::vector<float> samples_ = std::vector<float>(1000, 1.0F);
};

TEST_F(Stretches, ThePastHasTheLastItems) {
  Past past(format_, 150);
  for (const SampleIndex sample : {0, 100, 200}) past.keep(message(sample, 100), 0);
  EXPECT_EQ(past.usable(), 150);
  EXPECT_THAT(pieces(past, 150, 0), ElementsAre(Piece(150, 50), Piece(200, 100)));
  EXPECT_THAT(pieces(past, 120, 90), ElementsAre(Piece(180, 20), Piece(200, 10)));
  past.keep(message(300, 100), 30);
  EXPECT_THAT(pieces(past, 100, 0), ElementsAre(Piece(270, 30), Piece(330, 70)));
}

TEST_F(Stretches, ThePastIsPassedOnOnce) {
  Past past(format_, 150);
  past.keep(message(0, 100), 0);
  EXPECT_FALSE(past.follows());
  past.passed_on(20);
  EXPECT_EQ(past.usable(), 20);
  EXPECT_TRUE(past.follows());
  past.keep(message(100, 100), 0);
  EXPECT_EQ(past.usable(), 120);
  past.passed_on(-5);
  EXPECT_EQ(past.usable(), 0);
  EXPECT_THAT(pieces(past, 100, 0), IsEmpty());
}

TEST_F(Stretches, AStretchDoesNotBeginBeforeThePast) {
  Settings settings;
  settings.when = "gap > 0";
  settings.pre_s = 50e-6;
  settings.post_s = 100e-6;
  StretchFinder finder(settings, format_);
  Past past(format_, settings.most_kept(format_));
  EXPECT_FALSE(finder.next(message(0, 20), 0, past));
  past.keep(message(0, 20), 0);
  const auto stretch = finder.next(message(120, 100, 100), 0, past);
  ASSERT_TRUE(stretch);
  EXPECT_EQ(stretch->begin, -20);
  EXPECT_EQ(stretch->found, 0);
  EXPECT_EQ(stretch->end, 100);
  EXPECT_EQ(stretch->reason, "gap > 0");
}

TEST_F(Stretches, AnEventHasThePositionOfItsTime) {
  Settings settings;
  settings.name = "stretches";
  settings.post_s = 10e-6;
  StretchFinder finder(settings, format_);
  Past past(format_, settings.most_kept(format_));
  past.keep(message(0, 100), 0);
  const auto event = Event::named("stretches");
  event->happens(time_ns(60));
  event->happens(time_ns(150));
  event->happens(time_ns(250));
  const Message now = message(100, 100);
  const auto late = finder.next(now, 0, past);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->begin, -40);
  EXPECT_EQ(late->end, -30);
  const auto current = finder.next(now, 0, past);
  ASSERT_TRUE(current);
  EXPECT_EQ(current->begin, 50);
  EXPECT_FALSE(finder.next(now, 60, past)) << "its samples have not arrived";
  finder.pass_over();
  EXPECT_TRUE(finder.next(message(200, 100), 0, past)) << "it has a time, so it waits for its samples";
}

TEST_F(Stretches, AnEventForTheCurrentSamplesIsPartOfARecording) {
  Settings settings;
  settings.name = "now";
  StretchFinder finder(settings, format_);
  const Past past(format_, 0);
  EXPECT_EQ(tell("now"), 1u);
  finder.pass_over();
  EXPECT_FALSE(finder.next(message(0, 100), 0, past));
  EXPECT_EQ(tell("now"), 1u);
  const auto stretch = finder.next(message(100, 100), 30, past);
  ASSERT_TRUE(stretch);
  EXPECT_EQ(stretch->found, 30);
}

}  // namespace
}  // namespace iqd::radio::trigger
