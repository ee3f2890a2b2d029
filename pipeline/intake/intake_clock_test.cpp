// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The host's clock distinguishes clocks that are set, samples that are lost and samples that come late; and impossible
// numbers are detected.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/radio_rig.hpp"

namespace iqd::testing {
namespace {

using Do = Step::Do;
constexpr std::int64_t kMs = 1'000'000;

/// Whether iqd detected that the clock was set, and counted no loss.
bool sees_the_jump(std::int64_t by_ns) {
  Rig rig(radio_options(), {{{{.samples = 5000, .timed = true}, {.samples = 500, .timed = true, .jump_ns = by_ns}}}});
  rig.run();
  if (rig.counters.time_jumps.value() != 1 || rig.counters.lost.value() != 0) return false;
  rig.expect_continuous();
  rig.expect_conserved();
  const Sent& last = rig.records[0].sent.back();
  EXPECT_EQ(last.time_ns, ScriptedSource::kStartNs + by_ns + last.sample * 1000);
  return true;
}

/// A small step could be a loss, but the host's clock shows that there was no time for one. The machine may pause
/// between two samples for as long as the clock jumps, so one success in a few tries is enough.
TEST(IntakeClock, SetOnByLittleIsNoLoss) {
  const Quiet quiet;
  for (const std::int64_t by : {50 * kMs, 51 * kMs, 100 * kMs, 300 * kMs, 499 * kMs}) {
    bool seen = false;
    for (int i = 0; i < 20 && !seen; ++i) seen = sees_the_jump(by);
    EXPECT_TRUE(seen) << by;
  }
}

TEST(IntakeClock, SetOnByLessIsALossForAllThatAnybodyKnows) {
  Rig rig(radio_options(),
          {{{{.samples = 5000, .timed = true}, {.samples = 500, .timed = true, .jump_ns = 49 * kMs}}}});
  rig.run();
  EXPECT_EQ(rig.counters.time_jumps.value(), 0u);
  EXPECT_EQ(rig.counters.lost.value(), 49'000u);
}

TEST(IntakeClock, SetAgainAndAgain) {
  const Quiet quiet;
  constexpr std::int64_t kHour = 3'600'000 * kMs;
  Script script;
  for (int i = 0; i < 100; ++i) {
    script.steps.push_back({.samples = 300, .timed = true, .jump_ns = i % 3 ? kHour : 10 * kHour});
    script.steps.push_back({.samples = 300, .timed = true, .jump_ns = i % 2 ? -kHour : kHour});
  }
  Rig rig(radio_options(), {script});
  rig.run();
  rig.expect_continuous();
  EXPECT_EQ(rig.counters.lost.value(), 0u);
  EXPECT_EQ(rig.counters.time_jumps.value(), 199u) << "all but the first, before which nothing came";
  expect_all_published(rig, 100 * 600);
}

/// A radio delivers nothing for `silent_ms`, then `late` samples that waited in its buffers, then `lost` are missing.
struct Loss {
  friend void PrintTo(const Loss& loss, std::ostream* to) { *to << loss.what; }

  const char* what;
  std::int64_t silent_ms;
  std::int64_t late;
  std::int64_t lost;
};

class IntakeLoss : public ::testing::TestWithParam<Loss> {};

TEST_P(IntakeLoss, IsOneWhenTheHostHadToWaitAsLong) {
  const Loss& loss = GetParam();
  for (const bool said : {false, true}) {
    Script script{{{.samples = 5000, .timed = true}, {.what = Do::nothing, .wait_ns = loss.silent_ms * kMs}}};
    if (loss.late > 0) script.steps.push_back({.samples = loss.late, .timed = true});
    if (said) script.steps.push_back({.what = Do::overflow});
    script.steps.push_back({.samples = 500, .unsaid = loss.lost, .timed = true});
    Rig rig(radio_options(), {script});
    rig.run();
    EXPECT_EQ(rig.counters.lost.value(), static_cast<std::uint64_t>(loss.lost)) << loss.what;
    EXPECT_EQ(rig.counters.time_jumps.value(), 0u) << loss.what;
    rig.expect_conserved();
    rig.expect_continuous();
  }
}

INSTANTIATE_TEST_SUITE_P(All, IntakeLoss,
                         ::testing::Values(Loss{"silence", 200, 0, 200'000},
                                           Loss{"silence, then what the radio had kept", 310, 100'000, 200'000},
                                           Loss{"the same, longer", 910, 100'000, 800'000},
                                           Loss{"silence, then hardly less than all of it", 260, 200'000, 50'000}));

/// A recording, or another program, may report gaps of any length; reconnecting would not help.
TEST(IntakeNumbers, GapsLeadNoFurtherThanPositionsMayGo) {
  const Quiet quiet;
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  Script script{{{.samples = 100}, {.samples = 100, .lost = kMost - 100}}};
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t lost : {kMost, std::int64_t{1}, std::int64_t{0}})
    script.steps.push_back({.samples = 100, .lost = lost});
  for (const std::int64_t lie : {Limits::max(), std::int64_t{-1}, Limits::min()})
    script.steps.push_back({.what = Do::lost, .lost = lie});
  Rig::Options o = radio_options(false);
  o.info.can_wait = true;
  o.stages = {{"window", "{past: 40, future: 30, yield: 3}"}};
  o.publish = {"source", "window.out"};
  Rig rig(o, {script});
  rig.run();
  EXPECT_EQ(rig.intake->failure(), "");
  expect_all_published(rig, 503);
  EXPECT_EQ(expect_told_gaps(rig.records[0]), static_cast<std::int64_t>(rig.counters.lost.value()));
  EXPECT_GE(rig.counters.lost.value(), static_cast<std::uint64_t>(kMost - 200));
  EXPECT_LT(rig.counters.lost.value(), static_cast<std::uint64_t>(kMost + 10'000'000));
  EXPECT_GE(rig.counters.time_jumps.value(), 4u);
}

TEST(IntakeNumbers, SmallGapsGoOnThere) {
  const Quiet quiet;
  Script script{{{.samples = 100, .lost = (std::int64_t{1} << 53) - 1}}};
  for (int i = 0; i < 100; ++i) script.steps.push_back({.samples = 100, .lost = 1'000'000'000});
  Rig rig(radio_options(), {script});
  rig.run();
  EXPECT_EQ(rig.counters.reconnects.value(), 0u);
  EXPECT_EQ(expect_told_gaps(rig.records[0]), (std::int64_t{1} << 53) - 1 + 100);
  expect_all_published(rig, 10'100);
}

}  // namespace
}  // namespace iqd::testing
