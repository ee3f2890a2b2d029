// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The radio thread and a scripted source: what arrives, what is missing, and how that is reported.
#include "pipeline/intake/intake.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/radio_rig.hpp"

namespace iqd::testing {
namespace {

using Do = Step::Do;

TEST(Intake, ShortReadsMakeWholeBlocks) {
  for (const std::int64_t chunk : {1, 3, 64, 65, 1000, 0}) {
    Rig rig({}, {{{{.samples = 6400, .chunk = chunk}}}});
    rig.run();
    rig.expect_conserved();
    rig.expect_continuous();
    ASSERT_EQ(rig.records[0].sent.size(), 100u) << "chunks of " << chunk;
    for (const Sent& s : rig.records[0].sent) EXPECT_EQ(s.extent, 64);
    EXPECT_EQ(rig.counters.state.load(), SourceState::ended);
    EXPECT_TRUE(rig.records[0].finished);
  }
}

/// A bench delivers the same samples over and over, faster than a thread can read them.
TEST(Intake, WhatIsDeliveredAgainIsNotMeasured) {
  for (const bool again : {false, true}) {
    Rig::Options o;
    o.info.element = Element::sc16;
    Rig rig(o, {{{{.samples = 1000, .again = again}}}});
    rig.run();
    rig.expect_conserved();
    EXPECT_EQ(std::isnan(rig.counters.channels.at(0).peak_dbfs.value()), again);
  }
}

TEST(Intake, LastBlockIsShortAndPublished) {
  Rig::Options o;
  o.info.channels = 3;
  Rig rig(o, {{{{.samples = 64 * 10 + 17}}}});
  rig.run();
  rig.expect_conserved();
  rig.expect_continuous(0, 3);
  ASSERT_EQ(rig.records[0].sent.size(), 11u);
  EXPECT_EQ(rig.records[0].sent.back().extent, 17);
  EXPECT_EQ(rig.counters.published.value(), 657u);
  EXPECT_EQ(rig.intake->failure(), "");
}

TEST(Intake, NothingAtAllEndsWell) {
  Rig rig({}, {{{}}});
  rig.run();
  EXPECT_TRUE(rig.records[0].sent.empty());
  EXPECT_TRUE(rig.records[0].finished);
  rig.expect_conserved();
}

/// Blocks larger and smaller than what one call of a driver may return.
TEST(Intake, BlocksOfAnySize) {
  for (const std::int64_t block : {1, 7, 4096, 65535, 65536, 65537, 200'000}) {
    Rig::Options o;
    o.block = block;
    Rig rig(o, {{{{.samples = block > 1000 ? 3 * block + 5 : 2000}}}});
    rig.run();
    rig.expect_conserved();
    rig.expect_continuous();
  }
}

TEST(Intake, GapsThatTheDriverTells) {
  Rig rig(
      {},
      {{{{.samples = 100}, {.samples = 50, .lost = 30}, {.samples = 200, .lost = 1}, {.samples = 9, .lost = 500}}}});
  rig.run();
  rig.expect_conserved();
  rig.expect_continuous();
  EXPECT_EQ(rig.counters.lost.value(), 531u);
  EXPECT_EQ(rig.counters.published.value(), 359u);
  // Blocks end where they would have: at multiples of their length.
  for (const Sent& s : rig.records[0].sent) EXPECT_LE(s.sample % 64 + s.extent, 64);
}

TEST(Intake, GapBeforeTheFirstSample) {
  Rig rig({}, {{{{.samples = 100, .lost = 1000}}}});
  rig.run();
  rig.expect_continuous();
  EXPECT_EQ(rig.records[0].sent.front().sample, 1000);
  EXPECT_EQ(rig.records[0].sent.front().gap, 1000);
}

TEST(Intake, GapsThatOnlyTheTimeStampTells) {
  Rig rig(radio_options(false), {{{{.samples = 500, .timed = true},
                                   {.samples = 300, .unsaid = 77, .timed = true},
                                   {.samples = 300, .unsaid = 10'000, .timed = true}}}});
  rig.run();
  rig.expect_conserved();
  rig.expect_continuous();
  EXPECT_EQ(rig.counters.lost.value(), 10'077u);
  EXPECT_EQ(rig.counters.time_jumps.value(), 0u);
  for (const Sent& s : rig.records[0].sent)
    EXPECT_NEAR(static_cast<double>(s.time_ns - ScriptedSource::kStartNs), static_cast<double>(s.sample) * 1e3, 600.0);
}

TEST(Intake, ClockThatIsSetAnewIsNoGap) {
  for (const std::int64_t jump : {-5'000'000'000ll, -1'000'000ll, 3'600'000'000'000ll}) {
    Rig rig(radio_options(false),
            {{{{.samples = 500, .timed = true}, {.samples = 300, .timed = true, .jump_ns = jump}}}});
    rig.run();
    rig.expect_conserved();
    rig.expect_continuous();
    EXPECT_EQ(rig.counters.lost.value(), 0u);
    EXPECT_EQ(rig.counters.time_jumps.value(), 1u) << jump;
    EXPECT_EQ(rig.counters.published.value(), 800u);
    const Sent& last = rig.records[0].sent.back();
    EXPECT_NEAR(static_cast<double>(last.time_ns - ScriptedSource::kStartNs - jump),
                static_cast<double>(last.sample) * 1e3, 600.0);
  }
}

TEST(Intake, OverflowWithATimeStampIsMeasuredByIt) {
  Rig rig(radio_options(false), {{{{.samples = 500, .timed = true},
                                   {.what = Do::overflow},
                                   {.samples = 300, .unsaid = 1234, .timed = true},
                                   {.what = Do::overflow},
                                   {.samples = 300, .timed = true}}}});
  rig.run();
  rig.expect_conserved();
  rig.expect_continuous();
  EXPECT_EQ(rig.counters.overflows.value(), 2u);
  EXPECT_EQ(rig.counters.lost.value(), 1234u);
}

/// The exact number is unknown then, but it is known that samples are missing.
TEST(Intake, OverflowWithoutTimeIsMeasuredByTheHost) {
  for (const std::int64_t wait_ms : {0, 20}) {
    Rig rig(radio_options(false),
            {{{{.samples = 500}, {.what = Do::overflow, .wait_ns = wait_ms * 1'000'000}, {.samples = 64}}}});
    rig.run();
    const std::uint64_t lost = rig.counters.lost.value();
    EXPECT_GE(lost, wait_ms == 0 ? 1u : 19'000u);
    EXPECT_EQ(rig.counters.received.value(), rig.counters.published.value());
    std::int64_t expected = 0, gaps = 0;
    for (const Sent& s : rig.records[0].sent) {
      EXPECT_EQ(s.sample, expected + s.gap);
      gaps += s.gap;
      expected = s.sample + s.extent;
    }
    EXPECT_EQ(static_cast<std::uint64_t>(gaps), lost);
  }
}

/// A clock that restarts after an overflow cannot show how much is missing; but the next samples have no past.
TEST(Intake, OverflowWithAClockSetAnewIsAGap) {
  Rig rig(radio_options(false), {{{{.samples = 500, .timed = true},
                                   {.what = Do::overflow},
                                   {.samples = 64, .unsaid = 5, .timed = true, .jump_ns = -1'000'000'000'000}}}});
  rig.run();
  EXPECT_EQ(rig.counters.time_jumps.value(), 1u);
  EXPECT_GE(rig.counters.lost.value(), 1u);
  EXPECT_EQ(rig.counters.received.value(), rig.counters.published.value());
}

TEST(Intake, WindowsDoNotReachOverAGap) {
  Rig::Options o;
  o.stages = {{"window", "{past: 40}"}};
  o.publish = {"source", "window.out"};
  Rig rig(o, {{{{.samples = 150}, {.samples = 300, .lost = 5}}}});
  rig.run();
  for (const Sent& s : rig.records[1].sent) {
    const std::int64_t valid = s.sample < 150 ? 0 : 155;
    EXPECT_EQ(s.halo, std::min<std::int64_t>(s.sample - valid, 40)) << "at " << s.sample;
  }
}

/// Pieces of a stream with times that jump by little and by much, forward and back: their samples are consecutive, none
/// is missing, and each piece ends a block and is the past of none.
TEST(Intake, PiecesHaveTimesOfTheirOwn) {
  constexpr std::int64_t kJump = 100'000'000, kBack = -3'600'000'000'000;
  Rig::Options o = radio_options(false);
  o.stages = {{"window", "{past: 40, future: 30}"}};
  o.publish = {"source", "window.out"};
  Rig rig(o, {{{{.samples = 150, .chunk = 70, .timed = true, .ends = true},
                {.samples = 170, .timed = true, .jump_ns = kJump, .ends = true},
                {.samples = 128, .timed = true, .jump_ns = kBack, .ends = true}}}});
  rig.run();
  rig.expect_conserved();
  rig.expect_continuous();
  EXPECT_EQ(rig.counters.lost.value(), 0u);
  EXPECT_EQ(rig.counters.time_jumps.value(), 0u);
  EXPECT_EQ(rig.counters.published.value(), 448u);
  std::vector<std::int64_t> starts;
  for (const Sent& s : rig.records[0].sent) {
    starts.push_back(s.sample);
    const std::int64_t jumped = s.sample < 150 ? 0 : s.sample < 320 ? kJump : kJump + kBack;
    EXPECT_EQ(s.time_ns, ScriptedSource::kStartNs + jumped + s.sample * 1000) << "at " << s.sample;
  }
  EXPECT_EQ(starts, (std::vector<std::int64_t>{0, 64, 128, 150, 192, 256, 320, 384}));
  for (const Sent& s : rig.records[1].sent) {
    const std::int64_t begin = s.sample < 150 ? 0 : s.sample < 320 ? 150 : 320;
    EXPECT_EQ(s.halo, std::min<std::int64_t>(s.sample - begin, 40)) << "at " << s.sample;
  }
}

/// The last block of a piece does not wait for later samples.
TEST(Intake, APieceIsCompleteAtItsEnd) {
  Rig::Options o = radio_options(false);
  o.stages = {{"window", "{future: 30}"}};
  o.publish = {"window.out"};
  Script script{{{.samples = 100, .ends = true}}, false};
  Rig rig(o, {script});
  rig.start();
  EXPECT_TRUE(Rig::eventually([&] { return rig.counters.published.value() == 100; }));
  rig.intake->stop();
  rig.engine->join();
}

/// Captures of a radio: each is processed as soon as it is complete, and the samples between them are lost.
TEST(Intake, PiecesWithGapsBetweenThem) {
  constexpr std::int64_t kFar = 1'000'000;  // more than the ring holds
  Rig::Options o = radio_options(false);
  o.intake.overrun = Overrun::wait;
  Rig rig(o, {{{{.samples = 150, .timed = true, .ends = true},
                {.what = Do::nothing, .ends = true},
                {.samples = 150, .lost = kFar, .timed = true, .ends = true},
                {.samples = 150, .lost = 7, .timed = true, .ends = true}}}});
  rig.run();
  rig.expect_conserved();
  rig.expect_continuous();
  EXPECT_EQ(rig.counters.lost.value(), static_cast<std::uint64_t>(kFar + 7));
  EXPECT_EQ(rig.counters.published.value(), 450u);
  EXPECT_EQ(rig.counters.time_jumps.value(), 0u);
}

TEST(Intake, ASourceThatHasNothingToGiveIsAsItShouldBe) {
  Rig rig(radio_options(false), {{{{.what = Do::nothing, .ends = true}}, false}});
  rig.start();
  EXPECT_TRUE(Rig::eventually([&] { return rig.counters.state.load() == SourceState::streaming; }));
  rig.intake->stop();
  rig.engine->join();
}

/// With nothing but gaps, more blocks than the engine can hold.
TEST(Intake, ManyShortPieces) {
  Script script;
  for (int i = 0; i < 3000; ++i) script.steps.push_back({.samples = 1 + i % 5, .lost = 1 + i % 3});
  for (const bool waits : {true, false}) {
    Rig::Options o = waits ? Rig::Options{} : radio_options(false);
    if (!waits) o.intake.overrun = Overrun::drop;
    Rig rig(o, {script});
    rig.run();
    rig.expect_conserved();
    rig.expect_continuous();
    if (waits) {
      EXPECT_EQ(rig.counters.all_dropped(), 0u);
    }
  }
}

TEST(Intake, StopAtAnyMoment) {
  for (int i = 0; i < 40; ++i) {
    Rig::Options o;
    o.stages = {{"window", "{past: 5, future: 70}"}};
    Rig rig(o, {{{{.samples = 1ll << 40, .chunk = 77}}}});
    rig.start();
    std::this_thread::sleep_for(std::chrono::microseconds(i * 50));
    rig.intake->stop();
    rig.engine->join();
    rig.expect_conserved();
    rig.expect_continuous();
    EXPECT_TRUE(Rig::eventually([&] { return rig.intake->ended(); }));
  }
}

}  // namespace
}  // namespace iqd::testing
