// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// What must hold however often, and in whatever order, faults occur.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "tests/support/own_allocator.hpp"
#include "tests/support/radio_rig.hpp"

namespace iqd::testing {
namespace {

using Do = Step::Do;

Rig::Options flapping_radio() {
  Rig::Options o = radio_options();
  o.slots = 64;
  o.intake.backoff_ns = o.intake.longest_backoff_ns = 1000;
  return o;
}

std::ptrdiff_t entries(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return std::distance(begin(all), end(all));
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Plays the same script repeatedly, and fails at its end each time except the last.
class Flapping final : public SourceOptions {
 public:
  Flapping(StreamInfo info, int openings, SourceView& view) : info_(info), left_(openings), view_(view) {}
  void fields(FieldVisitor&) override {}
  StreamInfo describe(const Section&) const override { return info_; }
  std::unique_ptr<Source> open() const override {
    static constexpr Do kEnds[] = {Do::fail, Do::raise, Do::raise_odd, Do::too_many};
    Script script{{{.samples = 10}}};
    if (--left_ > 0) script.steps.push_back({.what = kEnds[left_ % 4]});
    if (left_ % 5 == 1) throw std::runtime_error("busy");
    return std::make_unique<ScriptedSource>(info_, std::move(script), view_);
  }

 private:
  StreamInfo info_;
  mutable int left_;
  SourceView& view_;
};

TEST(IntakeEndurance, TenThousandReconnectsLeaveNothingBehind) {
  constexpr int kTimes = 12'500;  // every fifth attempt fails
  const Quiet quiet;
  Rig rig(flapping_radio(), {{}});
  const Flapping options(flapping_radio().info, kTimes, rig.view);
  Intake intake(options, options.open(), *rig.engine, flapping_radio().intake, rig.counters);
  intake.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.reconnects.value() > 500; }, 60'000));
  const std::size_t memory = resident_bytes();
  const auto threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.reconnects.value() > 9'900 || intake.ended(); }, 60'000));
  EXPECT_EQ(entries("/proc/self/task"), threads);
  EXPECT_EQ(entries("/proc/self/fd"), files);
  // Memory that the sanitizers use for themselves would look like a leak.
  if (IQD_COUNTS) {
    EXPECT_LT(resident_bytes(), memory + (4u << 20));
  }
  rig.engine->join();
  EXPECT_GE(rig.counters.reconnects.value(), 9'990u);
  EXPECT_EQ(rig.view.most_open, 2) << "this one, and the rig's own, which is never read";
  EXPECT_EQ(rig.counters.received.value(), rig.counters.published.value() + rig.counters.all_dropped());
  EXPECT_EQ(rig.counters.received.value(), 10 * (rig.counters.reconnects.value() + 1));
}

TEST(IntakeEndurance, WhatADriverSaysIsCountedApart) {
  Rig rig(flapping_radio(), {{{{.samples = 100, .timed = true},
                               {.what = Do::overflow, .repeat = 2},
                               {.samples = 100, .unsaid = 11, .timed = true},
                               {.what = Do::late, .repeat = 3},
                               {.samples = 100, .unsaid = 13, .timed = true},
                               {.what = Do::sequence, .repeat = 4},
                               {.samples = 100, .unsaid = 17, .timed = true}}}});
  rig.run();
  EXPECT_EQ(rig.counters.overflows.value(), 2u);
  EXPECT_EQ(rig.counters.late.value(), 3u);
  EXPECT_EQ(rig.counters.sequence_errors.value(), 4u);
  EXPECT_EQ(rig.counters.lost.value(), 41u) << "as the time stamps show";
  rig.expect_continuous();
  rig.expect_conserved();
}

class IntakeLie : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(IntakeLie, ATimeThatIsNoneIsNotBelieved) {
  const Quiet quiet;
  Rig rig(flapping_radio(), {{{{.samples = 100, .timed = true},
                               {.samples = 100, .timed = true, .time_ns = GetParam()},
                               {.samples = 100, .timed = true}}}});
  rig.run();
  EXPECT_EQ(rig.counters.received.value(), 300u);
  EXPECT_EQ(rig.counters.received.value(), rig.counters.published.value());
  EXPECT_GE(rig.counters.time_jumps.value(), 1u);
  EXPECT_LT(rig.counters.lost.value(), 100'000u) << "no more than can have passed";
  const bool could_be = std::abs(static_cast<double>(GetParam())) < 4e18;
  EXPECT_TRUE(could_be || rig.counters.lost.value() == 0) << "an impossible time says nothing about samples";
}

TEST_P(IntakeLie, ANumberOfMissingSamplesThatIsNoneFails) {
  if (GetParam() >= 0 && GetParam() < std::int64_t{1} << 53) GTEST_SKIP() << "that is possible";
  const Quiet quiet;
  Rig rig(flapping_radio(), {{{{.samples = 100}, {.what = Do::lost, .lost = GetParam()}}}, {{{.samples = 50}}}});
  rig.run();
  EXPECT_EQ(rig.counters.reconnects.value(), 1u);
  EXPECT_EQ(rig.counters.received.value(), 150u);
  EXPECT_EQ(rig.counters.published.value(), 150u);
  EXPECT_LT(rig.counters.lost.value(), 10'000'000u);
}

INSTANTIATE_TEST_SUITE_P(Numbers, IntakeLie,
                         ::testing::Values(std::numeric_limits<std::int64_t>::min(),
                                           std::numeric_limits<std::int64_t>::max(), -1, 0, std::int64_t{1} << 62,
                                           -(std::int64_t{1} << 62)));

/// Any faults in any order: samples in = samples out, and messages report every gap.
TEST(IntakeEndurance, AnyOrderOfFaultsIsAccountedFor) {
  const Quiet quiet;
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
    std::deque<Script> scripts;
    std::int64_t given = 0;
    for (int s = 0; s < 8; ++s) {
      Script script;
      for (int n = 0; n < 20; ++n) {
        const std::int64_t samples = 1 + below(700);
        given += samples;
        script.steps.push_back({.samples = samples,
                                .chunk = below(3) ? 0 : 1 + below(50),
                                .lost = below(4) ? 0 : below(900),
                                .unsaid = below(4) ? 0 : below(900),
                                .timed = below(3) > 0,
                                .jump_ns = below(9) ? 0 : 1'000'000 * (below(4000) - 2000),
                                .ends = below(15) == 0});
        static constexpr Do kOthers[] = {Do::nothing, Do::overflow, Do::late, Do::sequence, Do::none};
        if (below(3) == 0) script.steps.push_back({.what = kOthers[below(5)], .repeat = 1 + below(3)});
      }
      static constexpr Do kEnds[] = {Do::fail, Do::raise, Do::raise_odd, Do::too_many};
      if (s < 7) script.steps.push_back({.what = kEnds[below(4)]});
      if (s > 0 && below(3) == 0) scripts.push_back({{}, true, true});
      scripts.push_back(std::move(script));
    }
    Rig::Options o = flapping_radio();
    o.slots = 2 + static_cast<int>(below(6));
    o.intake.overrun = below(2) ? Overrun::drop : Overrun::wait;
    Rig rig(o, std::move(scripts));
    rig.records[0].refuse = [nth = below(40)](const Message& m) {
      return m.seq % 41 == static_cast<std::uint64_t>(nth);
    };
    rig.run();
    EXPECT_EQ(rig.counters.received.value(), static_cast<std::uint64_t>(given)) << "seed " << seed;
    EXPECT_EQ(rig.counters.received.value(), rig.counters.published.value() + rig.counters.all_dropped())
        << "seed " << seed;
    EXPECT_EQ(rig.counters.reconnects.value(), 7u) << "seed " << seed;
    std::int64_t expected = 0;
    for (const Sent& m : rig.records[0].sent) {
      ASSERT_EQ(m.sample, expected + m.gap) << "seed " << seed << ", message " << m.seq;
      expected = m.sample + m.extent;
    }
  }
}

}  // namespace
}  // namespace iqd::testing
