// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Gaps take no space in the ring: samples after a gap are dropped only while all lanes are busy and the ring is full of
// samples.
#include <gtest/gtest.h>

#include <random>

#include "tests/support/engine_rig.hpp"

namespace iqd::testing {
namespace {

/// A source that cannot wait, a closed door, and the smallest ring.
Rig::Options behind_a_door() {
  Rig::Options o;
  o.info.can_wait = false;
  o.intake.overrun = Overrun::drop;
  o.slots = 64;
  o.stages = {{"gate"}};
  o.publish = {"gate.out"};
  return o;
}

/// While all lanes process what came before the gap.
TEST(IntakeGap, OfAnyLengthCostsNoRoom) {
  for (const std::int64_t lost : {1ll, 63ll, 64ll, 1000ll, 1024ll, 1'000'003ll, 1ll << 40}) {
    GateStage::door().set(false);
    Rig rig(behind_a_door(), {{{{.samples = 100}, {.samples = 300, .lost = lost}}}});
    rig.start();
    ASSERT_TRUE(Rig::eventually([&] { return rig.intake->ended(); }));
    EXPECT_EQ(rig.counters.all_dropped(), 0u) << "lost " << lost;
    GateStage::door().set(true);
    rig.engine->join();
    rig.expect_conserved();
    rig.expect_continuous();
    EXPECT_EQ(rig.counters.published.value(), 400u);
    for (const Sent& s : rig.records[0].sent) EXPECT_LE(s.sample % 64 + s.extent, 64) << "lost " << lost;
  }
}

/// Blocks so large that the ring holds only as many as it must.
TEST(IntakeGap, OfLargeBlocksCostsNoRoom) {
  constexpr std::int64_t kLargeBlock = 4096;
  for (const std::int64_t lost : {std::int64_t{5}, kLargeBlock - 101, std::int64_t{1'000'000'000}}) {
    GateStage::door().set(false);
    Rig::Options o = behind_a_door();
    o.block = kLargeBlock;
    o.lanes = 1;
    Rig rig(o, {{{{.samples = 100}, {.samples = kLargeBlock, .lost = lost}}}});
    ASSERT_EQ(rig.engine->ring().samples(), 3 * kLargeBlock);
    rig.start();
    ASSERT_TRUE(Rig::eventually([&] { return rig.intake->ended(); }));
    GateStage::door().set(true);
    rig.engine->join();
    rig.expect_conserved();
    rig.expect_continuous();
    EXPECT_EQ(rig.counters.all_dropped(), 0u) << "lost " << lost;
  }
}

/// Dropped samples take no more space than lost ones: the first block that leaves the ring makes room for another.
TEST(IntakeGap, DroppedSamplesCostNoRoomEither) {
  GateStage::door().set(false);
  Rig::Options o = behind_a_door();
  std::atomic<bool> may_leave{false};
  const std::uint64_t ring = 1024, all = 20'000 + 6400;
  Rig rig(o, {{{{.samples = 20'000}, {.what = Step::Do::hang}, {.samples = 6400}}}});
  ASSERT_EQ(rig.engine->ring().samples(), static_cast<std::int64_t>(ring));
  rig.records[0].before = [&](const Message&) {
    while (!may_leave) std::this_thread::yield();
  };
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.drops(Drop::lanes) == 20'000 - ring; }));
  GateStage::door().set(true);
  // One block is done, and its results wait for the reader; the others wait for the publisher.
  ASSERT_TRUE(Rig::eventually([&] { return rig.engine->tail(1 << 30) == 64; }));
  rig.view.released = true;
  rig.view.bell.ring();
  ASSERT_TRUE(Rig::eventually([&] { return rig.intake->ended(); }));
  may_leave = true;
  rig.engine->join();
  rig.expect_conserved();
  rig.expect_continuous();
  EXPECT_EQ(rig.counters.published.value(), ring + 64);
  EXPECT_EQ(rig.counters.received.value(), all);
}

/// Nor do gaps while samples are dropped, however many.
TEST(IntakeGap, ManyWhileSamplesAreDroppedCostNoRoom) {
  GateStage::door().set(false);
  Rig::Options o = behind_a_door();
  std::atomic<bool> may_leave{false};
  Script script{{{.samples = 20'000}}};
  for (int i = 0; i < 100; ++i) script.steps.push_back({.samples = 1, .lost = 1000});
  script.steps.push_back({.what = Step::Do::hang});
  script.steps.push_back({.samples = 6400});
  Rig rig(o, {script});
  rig.records[0].before = [&](const Message&) {
    while (!may_leave) std::this_thread::yield();
  };
  rig.start();
  // A sample is counted as received before it is dropped.
  ASSERT_TRUE(Rig::eventually([&] { return rig.drops(Drop::lanes) == 20'100 - 1024; }));
  GateStage::door().set(true);
  ASSERT_TRUE(Rig::eventually([&] { return rig.engine->tail(1 << 30) == 64; }));
  rig.view.released = true;
  rig.view.bell.ring();
  ASSERT_TRUE(Rig::eventually([&] { return rig.intake->ended(); }));
  may_leave = true;
  rig.engine->join();
  rig.expect_conserved();
  rig.expect_continuous();
  EXPECT_EQ(rig.counters.published.value(), 1024u + 64u);
}

/// Lanes that were busy before a gap may be idle after it.
TEST(IntakeGap, EndsADrop) {
  GateStage::door().set(false);
  Rig rig(behind_a_door(), {{{{.samples = 20'000}, {.what = Step::Do::hang}, {.samples = 64, .lost = 1'000'000}}}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.drops(Drop::lanes) == 20'000 - 1024; }));
  GateStage::door().set(true);
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.published.value() == 1024; }));
  rig.view.released = true;
  rig.view.bell.ring();
  rig.engine->join();
  rig.expect_conserved();
  rig.expect_continuous();
  EXPECT_EQ(rig.counters.published.value(), 1024u + 64u);
}

TEST(IntakeGap, WindowsEndAtIt) {
  Rig::Options o;
  o.stages = {{"window", "{past: 40, future: 30}"}};
  o.publish = {"source", "window.out"};
  constexpr std::int64_t kFar = 1'000'000, kBehind = 150 + kFar;
  Rig rig(o, {{{{.samples = 150}, {.samples = 300, .lost = kFar}}}});
  rig.run();
  rig.expect_conserved();
  rig.expect_continuous();
  const WindowShape window{.past = 40, .future = 30};
  for (const Sent& s : rig.records[1].sent) {
    const bool before = s.sample < 150;
    const std::int64_t begin = before ? 0 : kBehind, end = before ? 150 : kBehind + 300;
    EXPECT_EQ(s.halo, std::min<std::int64_t>(s.sample - begin, 40)) << "at " << s.sample;
    const auto words = s.as<Word>();
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::int64_t p = s.sample + static_cast<std::int64_t>(i);
      ASSERT_EQ(words[i], window.at(p, [&](std::int64_t n) { return n < begin || n >= end ? 0 : sample_word(n, 0); }));
    }
  }
}

/// Positions of blocks, gaps and drops of any kind in any order.
TEST(IntakeGap, AnyOrderOfGapsAndDrops) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
    Script script;
    for (int n = 0; n < 400; ++n)
      script.steps.push_back({.samples = 1 + below(300),
                              .lost = below(3)   ? 0
                                      : below(2) ? below(200)
                                                 : below(1u << 30)});
    Rig::Options o = behind_a_door();
    o.lanes = 1 + static_cast<int>(below(3));
    o.block = 1 + below(100);
    o.stages = {{"gate"}, {"window", "{past: 5, future: 3}"}};
    o.publish = {"source", "window.out"};
    GateStage::door().jitter_us = 30;
    Rig rig(o, {script});
    rig.run();
    rig.expect_conserved();
    rig.expect_continuous();
    for (const Sent& s : rig.records[0].sent) ASSERT_LE(s.sample % o.block + s.extent, o.block) << "seed " << seed;
  }
}

}  // namespace
}  // namespace iqd::testing
