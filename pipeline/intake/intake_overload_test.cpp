// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// More than the engine can take: a source that can wait does so; one that cannot loses samples, with a reason.
#include <gtest/gtest.h>

#include <thread>

#include "tests/support/engine_rig.hpp"

namespace iqd::testing {
namespace {

Rig::Options behind_a_door(bool waits) {
  Rig::Options o;
  o.info.can_wait = waits;
  o.intake.overrun = waits ? Overrun::wait : Overrun::drop;
  o.stages = {{"gate"}};
  o.publish = {"gate.out"};
  return o;
}

TEST(IntakeOverload, ClosedLanesDropWhatTheRingCannotHold) {
  GateStage::door().set(false);
  Rig rig(behind_a_door(false), {{{{.samples = 20'000}, {.samples = 1'000'000, .chunk = 10, .wait_ns = 50'000}}}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.drops(Drop::lanes) > 10'000; }));
  EXPECT_EQ(rig.drops(Drop::slots), 0u);
  EXPECT_EQ(rig.counters.published.value(), 0u);
  GateStage::door().set(true);
  const std::uint64_t before = rig.counters.blocks.value();
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.blocks.value() > before + 100; }));
  rig.intake->stop();
  rig.engine->join();
  rig.expect_conserved();
  rig.expect_continuous();
  EXPECT_EQ(rig.drops(Drop::refused) + rig.drops(Drop::stopped), 0u);
  EXPECT_EQ(rig.counters.lost.value(), 0u);
}

/// A driver hands over its backlog at once. The machine that runs the test may pause for longer than the radio thread
/// waits, so one success in a few tries is enough.
TEST(IntakeOverload, QuickLanesTakeABacklogWhole) {
  Rig::Options o = behind_a_door(false);
  o.info.rate_hz = 1e4;
  std::uint64_t dropped = 1;
  for (int i = 0; i < 20 && dropped > 0; ++i) {
    Rig rig(o, {{{{.samples = 20'000}}}});
    rig.run();
    rig.expect_conserved();
    dropped = rig.counters.all_dropped();
  }
  EXPECT_EQ(dropped, 0u);
}

/// Here, too, lanes may be late for a moment.
TEST(IntakeOverload, HeldSlotsAreNamed) {
  Rig::Options o = behind_a_door(false);
  o.slots = 3;
  std::uint64_t late = 1;
  for (int i = 0; i < 20 && late > 0; ++i) {
    Rig rig(o, {{{{.samples = 30'000, .chunk = 64, .wait_ns = 1000}}}});
    rig.records[0].keep = 3;  // all slots
    rig.start();
    ASSERT_TRUE(Rig::eventually([&] { return rig.drops(Drop::slots) > 10'000; }));
    EXPECT_EQ(rig.records[0].messages, 3u);
    EXPECT_EQ(rig.engine->slots_free(), 0);
    ASSERT_TRUE(Rig::eventually([&] { return rig.intake->ended(); }));
    late = rig.drops(Drop::lanes);
    rig.counters.state = SourceState::ended;
    // Blocks in the ring cannot be published until slots are released; the outlet holds the leases, so it releases them.
    dynamic_cast<RecordingOutlet&>(*rig.engine->routes()[0]->outlet).let_go_of_all();
    rig.engine->join();
    EXPECT_EQ(rig.counters.received.value(), rig.counters.published.value() + rig.counters.all_dropped());
  }
  EXPECT_EQ(late, 0u);
}

TEST(IntakeOverload, SourceThatCanWaitLosesNothing) {
  GateStage::door().set(false);
  Rig rig(behind_a_door(true), {{{{.samples = 50'000, .chunk = 999}}}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([] { return GateStage::door().inside == 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(rig.counters.received.value(), 1024u)
      << "more than a page of ring: it continues to receive without a place for the samples";
  GateStage::door().set(true);
  rig.engine->join();
  EXPECT_EQ(rig.counters.published.value(), 50'000u);
  rig.expect_conserved();
  rig.expect_continuous();
}

TEST(IntakeOverload, StopWhileWaiting) {
  GateStage::door().set(false);
  Rig rig(behind_a_door(true), {{{{.samples = 50'000}}}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([] { return GateStage::door().inside == 2; }));
  rig.intake->stop();
  ASSERT_TRUE(Rig::eventually([&] { return rig.intake->ended(); })) << "it still waits although it was stopped";
  GateStage::door().set(true);
  rig.engine->join();
  EXPECT_EQ(rig.counters.received.value(), rig.counters.published.value() + rig.counters.all_dropped());
}

/// Samples after a gap that have no place when the intake is stopped are counted as dropped for that reason.
TEST(IntakeOverload, StoppedWithSamplesInHand) {
  GateStage::door().set(false);
  Rig::Options o = behind_a_door(true);
  o.lanes = 1;
  Script script;
  for (int i = 0; i < 1000; ++i) script.steps.push_back({.samples = 300, .lost = 1});
  Rig rig(o, {script});
  rig.start();
  ASSERT_TRUE(Rig::eventually([] { return GateStage::door().inside == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  rig.intake->stop();
  ASSERT_TRUE(Rig::eventually([&] { return rig.intake->ended(); }));
  GateStage::door().set(true);
  rig.engine->join();
  EXPECT_EQ(rig.counters.received.value(), rig.counters.published.value() + rig.counters.all_dropped());
  EXPECT_GT(rig.drops(Drop::stopped), 0u);
  rig.expect_continuous();
}

TEST(IntakeOverload, RefusedMessagesAreDropsAndGaps) {
  Rig::Options o;
  Rig rig(o, {{{{.samples = 6400}}}});
  rig.records[0].refuse = [](const Message& m) { return m.seq % 7 == 3 || (m.seq > 50 && m.seq < 60); };
  rig.run();
  rig.expect_conserved();
  rig.expect_continuous();
  EXPECT_EQ(rig.drops(Drop::refused), (100 - rig.records[0].sent.size()) * 64);
  EXPECT_EQ(rig.engine->routes()[0]->counts->refused.value(), 100 - rig.records[0].sent.size());
}

/// At any instant, received = published + dropped + in flight, also for a reader while samples flow.
TEST(IntakeOverload, ConservationHoldsWhileRunning) {
  Rig::Options o = behind_a_door(false);
  o.lanes = 3;
  GateStage::door().jitter_us = 40;
  Script script;
  for (int i = 0; i < 100'000; ++i) script.steps.push_back({.samples = 64 + i % 50, .lost = i % 10 == 0 ? 3 : 0});
  script.ends = false;
  Rig rig(o, {script});
  rig.records[0].refuse = [](const Message& m) { return m.seq % 5 == 0; };
  rig.start();
  std::uint64_t last = 0;
  const auto most = static_cast<std::uint64_t>(rig.engine->ring().samples() + 2 * 65536);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t published = rig.counters.published.value();
    const std::uint64_t dropped = rig.counters.all_dropped();
    const std::uint64_t received = rig.counters.received.value();
    ASSERT_LE(published + dropped, received);
    ASSERT_GE(received, last);
    // Samples continue to flow between the reads, so the bound is what the ring and one call of the driver can hold.
    if (published == rig.counters.published.value() && dropped == rig.counters.all_dropped()) {
      ASSERT_LE(received - published - dropped, most);
    }
    last = received;
    if (i % 100 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  EXPECT_GT(last, 0u);
  rig.intake->stop();
  rig.engine->join();
  rig.expect_conserved();
  rig.expect_continuous();
}

}  // namespace
}  // namespace iqd::testing
