// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Sources that deliver nothing for a while, and time stamps that jitter.
#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "tests/support/radio_rig.hpp"

namespace iqd::testing {
namespace {

using Do = Step::Do;

TEST(IntakeSilence, StallIsSeenAndEndsWithTheNextSample) {
  Rig::Options o = radio_options();
  o.intake.stalled_ns = 5'000'000;
  Rig rig(o,
          {{{{.samples = 64}, {.what = Do::nothing, .wait_ns = 1'000'000, .repeat = 30}, {.samples = 64, .wait_ns = 0}},
            false}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.state.load() == SourceState::stalled; }));
  EXPECT_EQ(rig.counters.stalls.value(), 1u);
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.received.value() == 128; }));
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.stalls.value() == 2; })) << "silent once more";
  rig.intake->stop();
  rig.engine->join();
  expect_all_published(rig, 128);
  EXPECT_EQ(rig.counters.lost.value(), 0u) << "silence alone is no loss";
}

TEST(IntakeSilence, NoSamplesIsNothingToADriverThatCallsThemSamples) {
  Rig::Options o = radio_options();
  o.intake.stalled_ns = 1'000'000;
  Script script{{{.samples = 64}}, true};
  for (int i = 0; i < 20; ++i) script.steps.push_back({.what = Do::none, .wait_ns = 1'000'000});
  Rig rig(o, {script});
  rig.run();
  EXPECT_EQ(rig.counters.stalls.value(), 1u);
  expect_all_published(rig, 64);
}

TEST(IntakeSilence, LongSilenceOpensAgain) {
  Rig::Options o = radio_options();
  o.intake.silent_ns = 20'000'000;
  Rig rig(o, {{{{.samples = 64}}, false}, {{{.samples = 64}}}});
  rig.run();
  EXPECT_EQ(rig.counters.reconnects.value(), 1u);
  EXPECT_GE(rig.counters.lost.value(), 20'000u);
  expect_all_published(rig, 128);
}

/// Some radios need a while until they deliver samples, also after a long disconnection.
TEST(IntakeSilence, IsCountedFromTheOpeningOn) {
  Rig::Options o = radio_options();
  o.intake.silent_ns = 200'000'000;
  o.intake.backoff_ns = 300'000'000;
  Rig rig(o, {{{{.samples = 64}, {.what = Do::fail}}},
              {{{.what = Do::nothing, .wait_ns = 10'000'000, .repeat = 5}, {.samples = 64}}}});
  rig.run();
  EXPECT_EQ(rig.counters.reconnects.value(), 1u);
  EXPECT_EQ(rig.view.opened, 2);
  expect_all_published(rig, 128);
}

/// 300 ms of samples at once, repeatedly: 100 ms without samples are no stall, more than a second is one.
TEST(IntakeSilence, ManySamplesAtOnceAreThoseOfAWhile) {
  Rig::Options o = radio_options();
  o.info.rate_hz = 1e5;
  Script script;
  for (int i = 0; i < 3; ++i) {
    script.steps.push_back({.samples = 30'000});
    script.steps.push_back({.what = Do::nothing, .wait_ns = 20'000'000, .repeat = 5});
  }
  script.steps.push_back({.what = Do::nothing, .wait_ns = 20'000'000, .repeat = 75});
  script.steps.push_back({.samples = 64});
  Rig rig(o, {script});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.received.value() == 90'000; }, 5000));
  EXPECT_EQ(rig.counters.stalls.value(), 0u);
  rig.engine->join();
  EXPECT_EQ(rig.counters.stalls.value(), 1u);
}

/// A module that ignores the time-out of the call.
TEST(IntakeSilence, IsSeenWhileACallBlocks) {
  Rig rig(radio_options(), {{{{.samples = 64}, {.what = Do::hang}, {.samples = 64}}, false}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.intake->state() == SourceState::stalled; }));
  EXPECT_EQ(rig.counters.received.value(), 64u);
  rig.view.released = true;
  rig.view.bell.ring();
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.received.value() == 128; }));
  EXPECT_GE(rig.counters.stalls.value(), 1u);
  rig.intake->stop();
  rig.engine->join();
}

Rig::Options peer_options() {
  Rig::Options o;
  o.info.from_peer = true;
  o.intake.stalled_ns = 5'000'000;
  o.intake.silent_ns = 20'000'000;
  return o;
}

/// It can be read late and is never opened again, but it is not meant to fall silent.
TEST(IntakeSilence, APeerThatFallsSilentStalls) {
  const std::uint64_t lines = log::lines();
  Rig rig(peer_options(), {{{{.samples = 64},
                             {.what = Do::hang},
                             {.what = Do::nothing, .wait_ns = 1'000'000, .repeat = 40},
                             {.samples = 64}},
                            false}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.received.value() == 64; }));
  EXPECT_EQ(rig.intake->trouble(), "");
  rig.view.released = true;
  rig.view.bell.ring();
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.state.load() == SourceState::stalled; }));
  EXPECT_TRUE(Rig::eventually(
      [&] { return rig.intake->trouble().starts_with("no samples for 0.") || rig.counters.received.value() == 128; }));
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.received.value() == 128; }));
  EXPECT_TRUE(Rig::eventually([&] { return log::lines() >= lines + 2; })) << "silence and its end";
  EXPECT_GE(rig.counters.stalls.value(), 1u);
  EXPECT_EQ(rig.counters.reconnects.value(), 0u);
  EXPECT_EQ(rig.view.opened, 1);
  rig.intake->stop();
  rig.engine->join();
  expect_all_published(rig, 128);
}

TEST(IntakeSilence, APeerThatHasNeverBeenThereStalls) {
  Rig rig(peer_options(), {{{}, false}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.intake->state() == SourceState::stalled; }));
  EXPECT_TRUE(rig.intake->trouble().starts_with("no samples for ")) << rig.intake->trouble();
  rig.intake->stop();
  rig.engine->join();
  EXPECT_EQ(rig.counters.stalls.value(), 1u);
}

/// A pipeline that takes nothing more is at fault itself.
TEST(IntakeSilence, APeerIsNotBlamedForAPipelineThatDoesNotRead) {
  Rig::Options o = peer_options();
  o.stages = {{"gate"}};
  o.publish = {"gate"};
  o.lanes = 1;
  GateStage::door().set(false);
  Rig rig(o, {{{{.samples = 6400}}}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.intake->idle_ns() > 0; }));
  EXPECT_EQ(rig.intake->state(), SourceState::streaming);
  EXPECT_EQ(rig.counters.stalls.value(), 0u);
  GateStage::door().set(true);
  rig.engine->join();
  expect_all_published(rig, 6400);
  EXPECT_EQ(rig.intake->idle_ns(), 0);
}

TEST(IntakeSilence, BehindAPieceItIsAsItShouldBe) {
  Rig::Options o = radio_options();
  o.intake.silent_ns = 20'000'000;
  o.intake.stalled_ns = 5'000'000;
  Rig rig(o, {{{{.samples = 64, .ends = true},
                {.what = Do::nothing, .wait_ns = 1'000'000, .repeat = 60, .ends = true},
                {.samples = 64}}}});
  rig.run();
  EXPECT_EQ(rig.counters.reconnects.value(), 0u);
  EXPECT_EQ(rig.counters.stalls.value(), 0u);
  expect_all_published(rig, 128);
}

TEST(IntakeSilence, SourceThatCanWaitIsNeverStalled) {
  Rig::Options o;
  o.intake.stalled_ns = 1'000'000;
  Rig rig(o, {{{{.samples = 64}, {.what = Do::nothing, .wait_ns = 1'000'000, .repeat = 20}, {.samples = 1}}}});
  rig.run();
  EXPECT_EQ(rig.counters.stalls.value(), 0u);
  expect_all_published(rig, 65);
}

/// Time stamps that jitter by 40 us, which is 40 samples: the first deviation counts, but none after the clock went
/// back. After enough stamps that agree, a loss of three samples counts again.
TEST(IntakeTime, StampsThatTrembleTellOfNoLoss) {
  Script script;
  script.steps.push_back({.samples = 64, .timed = true});
  for (int i = 0; i < 50; ++i) {
    script.steps.push_back({.samples = 64, .timed = true, .jump_ns = 40'000});
    script.steps.push_back({.samples = 64, .timed = true, .jump_ns = -40'000});
  }
  Rig rig(radio_options(), {script});
  rig.run();
  EXPECT_LE(rig.counters.lost.value(), 40u);
  EXPECT_LE(rig.counters.time_jumps.value(), 1u);
  expect_all_published(rig, 64 * 101);

  for (int i = 0; i < 400; ++i) script.steps.push_back({.samples = 64, .timed = true});
  script.steps.push_back({.samples = 64, .unsaid = 3, .timed = true});
  Rig again(radio_options(), {script});
  again.run();
  EXPECT_EQ(again.counters.lost.value(), rig.counters.lost.value() + 3);
  expect_told_gaps(again.records[0]);
}

TEST(IntakeTime, WhatTheDriverSaysIsLostIsSoughtInStampsThatTremble) {
  Script script;
  script.steps.push_back({.samples = 64, .timed = true});
  for (int i = 0; i < 10; ++i) {
    script.steps.push_back({.samples = 64, .timed = true, .jump_ns = 40'000});
    script.steps.push_back({.samples = 64, .timed = true, .jump_ns = -40'000});
  }
  const std::size_t quiet = script.steps.size();
  script.steps.push_back({.what = Do::overflow});
  script.steps.push_back({.samples = 64, .unsaid = 30, .timed = true});
  Rig rig(radio_options(), {script});
  rig.run();
  script.steps.resize(quiet);
  Rig before(radio_options(), {script});
  before.run();
  EXPECT_NEAR(static_cast<double>(rig.counters.lost.value() - before.counters.lost.value()), 30, 10);
}

}  // namespace
}  // namespace iqd::testing
