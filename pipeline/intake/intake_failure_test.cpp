// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Sources that fail, throw, lie or hang.
#include <gtest/gtest.h>

#include <thread>

#include "base/clock.hpp"
#include "tests/support/radio_rig.hpp"

namespace iqd::testing {

static void PrintTo(Step::Do what, std::ostream* out) {
  *out << "step " << static_cast<int>(what);
}

namespace {

using Do = Step::Do;

class IntakeFailure : public ::testing::TestWithParam<Do> {};

TEST_P(IntakeFailure, OpensAgainAndTellsTheGap) {
  Rig rig(radio_options(), {{{{.samples = 1000}, {.what = GetParam()}}}, {{{.samples = 500}}}});
  rig.run();
  expect_all_published(rig, 1500);
  EXPECT_EQ(rig.counters.reconnects.value(), 1u);
  EXPECT_EQ(rig.view.opened, 2);
  EXPECT_EQ(rig.view.most_open, 1) << "closed before the reconnect";
  const std::int64_t missing = expect_told_gaps(rig.records[0]);
  EXPECT_GE(missing, 500) << "at least a millisecond passed; 500 samples came at once";
  EXPECT_EQ(static_cast<std::uint64_t>(missing), rig.counters.lost.value());
  EXPECT_EQ(rig.counters.state.load(), SourceState::ended);
  EXPECT_EQ(rig.intake->failure(), "");
}

TEST_P(IntakeFailure, EndsWhereItIsNotWorthOpeningAgain) {
  Rig rig(radio_options(false), {{{{.samples = 1000}, {.what = GetParam()}}}, {{{.samples = 500}}}});
  rig.run();
  expect_all_published(rig, 1000);
  EXPECT_EQ(rig.view.opened, 1);
  EXPECT_EQ(rig.counters.state.load(), SourceState::failed);
  EXPECT_EQ(rig.intake->failure(), "test: the source failed and cannot be opened again");
  EXPECT_EQ(rig.records[0].sent.back().extent, 1000 % 64) << "what had arrived is published";
}

INSTANTIATE_TEST_SUITE_P(Drivers, IntakeFailure, ::testing::Values(Do::fail, Do::raise, Do::raise_odd, Do::too_many),
                         [](const auto& test) {
                           switch (test.param) {
                             case Do::fail: return "Fails";
                             case Do::raise: return "Throws";
                             case Do::raise_odd: return "ThrowsNoException";
                             default: return "ReturnsMoreThanAsked";
                           }
                         });

TEST(IntakeReopening, TriesUntilItIsThereAgain) {
  Rig rig(radio_options(), {{{{.samples = 100}, {.what = Do::fail}}},
                            {{}, true, true},
                            {{}, true, true},
                            {{{.samples = 1}}, true, false, 2e6},  // another rate than planned
                            {{{.samples = 64}, {.what = Do::fail}}},
                            {{{.samples = 10}}}});
  rig.run();
  expect_all_published(rig, 174);
  EXPECT_EQ(rig.counters.reconnects.value(), 2u);
  EXPECT_EQ(rig.view.opened, 4);
  expect_told_gaps(rig.records[0]);
}

TEST(IntakeReopening, WaitsLongerEachTime) {
  Rig::Options o = radio_options();
  o.intake.backoff_ns = 10'000'000;
  Script busy;
  busy.open_throws = true;
  Rig rig(o, {{{{.what = Do::fail}}}, busy, busy, {{{.samples = 5}}}});
  const std::int64_t began = steady_ns();
  rig.run();
  EXPECT_GE(steady_ns() - began, 70'000'000) << "10 + 20 + 40 ms";
  expect_all_published(rig, 5);
}

TEST(IntakeReopening, WaitsNoLongerThanItMay) {
  Rig::Options o = radio_options();
  o.intake.backoff_ns = 10'000'000;
  o.intake.longest_backoff_ns = 20'000'000;
  Script busy;
  busy.open_throws = true;
  Rig rig(o, {{{{.what = Do::fail}}}, busy, busy, busy, busy, busy, busy, {{{.samples = 5}}}});
  const std::int64_t began = steady_ns();
  rig.run();
  EXPECT_GE(steady_ns() - began, 130'000'000) << "10 ms, and six times 20; without the limit, 1270";
  EXPECT_LT(steady_ns() - began, 1'200'000'000);
  expect_all_published(rig, 5);
}

TEST(IntakeReopening, OpensAtOnceWhatCanBeSeenAgain) {
  Rig::Options o = radio_options();
  o.intake.backoff_ns = 3'600'000'000'000;
  Rig rig(o, {{{{.samples = 100}, {.what = Do::fail}}}, {{{.samples = 5}}}});
  rig.view.is_there = false;
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.state.load() == SourceState::reconnecting; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  EXPECT_EQ(rig.view.opened, 1);
  rig.view.is_there = true;
  rig.engine->join();
  EXPECT_EQ(rig.view.opened, 2);
  expect_all_published(rig, 105);
}

TEST(IntakeReopening, SaysWhatKeepsIt) {
  Rig::Options o = radio_options();
  o.intake.backoff_ns = 100'000'000;
  Script busy;
  busy.open_throws = true;
  Rig rig(o, {{{{.samples = 100}, {.what = Do::raise}}}, busy, {{{.samples = 5}}, false}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.intake->trouble() == "the cable is out"; }));
  ASSERT_TRUE(Rig::eventually([&] { return rig.intake->trouble() == "it cannot be opened again yet: busy"; }));
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.received.value() == 105; }));
  EXPECT_TRUE(Rig::eventually([&] { return rig.intake->trouble().empty(); })) << "all is well again";
  rig.intake->stop();
  rig.engine->join();
}

TEST(IntakeReopening, ARadioThatFailsAsItIsStoppedHasNotFailed) {
  Rig rig(radio_options(), {{{{.samples = 100}, {.what = Do::fail, .wait_ns = 100'000'000}}}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.received.value() == 100; }));
  rig.intake->stop();
  rig.engine->join();
  expect_all_published(rig, 100);
  EXPECT_EQ(rig.intake->failure(), "");
  EXPECT_EQ(rig.counters.state.load(), SourceState::ended);
  EXPECT_EQ(rig.view.opened, 1);
}

TEST(IntakeReopening, StopsWhileWaiting) {
  Rig::Options o = radio_options();
  o.intake.backoff_ns = 3'600'000'000'000;
  Rig rig(o, {{{{.samples = 100}, {.what = Do::fail}}}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.state.load() == SourceState::reconnecting; }));
  EXPECT_FALSE(rig.intake->ended());
  EXPECT_EQ(rig.intake->trouble(), "") << "the driver gave no reason";
  rig.intake->stop();
  EXPECT_TRUE(Rig::eventually([&] { return rig.intake->ended(); }, 1000));
  rig.engine->join();
  expect_all_published(rig, 100);
  EXPECT_EQ(rig.intake->failure(), "") << "it was stopped";
}

/// The device's clock restarts with the device, so only the host's clock shows how much is missing.
TEST(IntakeReopening, ClockThatStartsAnew) {
  Rig rig(radio_options(), {{{{.samples = 100, .timed = true}, {.what = Do::fail}}},
                            {{{.samples = 100, .timed = true, .jump_ns = -1'000'000'000'000'000'000}}}});
  rig.run();
  EXPECT_GE(rig.counters.lost.value(), 1u);
  EXPECT_GE(expect_told_gaps(rig.records[0]), 1);
  EXPECT_EQ(rig.counters.time_jumps.value(), 1u);
}

TEST(IntakeHang, TimeInTheDriverGrows) {
  Rig rig(radio_options(), {{{{.samples = 640}, {.what = Do::hang}, {.samples = 64}}}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.intake->in_driver_ns() > 30'000'000; }));
  const std::int64_t before = rig.intake->in_driver_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_GE(rig.intake->in_driver_ns(), before + 5'000'000);
  EXPECT_TRUE(Rig::eventually([&] { return rig.counters.published.value() == 640; })) << "earlier ones are published";
  rig.view.released = true;
  rig.view.bell.ring();
  rig.engine->join();
  EXPECT_TRUE(Rig::eventually([&] { return rig.intake->ended() && rig.intake->in_driver_ns() == 0; }));
  expect_all_published(rig, 704);
}

/// The call never returns: the process ends without its thread.
TEST(IntakeHang, MayBeAbandoned) {
  // They outlive the test, like the thread, until the process ends.
  static auto& left = *new std::vector<Rig*>;
  Rig* const rig = left.emplace_back(new Rig(radio_options(), {{{{.samples = 640}, {.what = Do::hang}}}}));
  rig->start();
  ASSERT_TRUE(Rig::eventually(
      [&] { return rig->counters.received.value() == 640 && rig->intake->in_driver_ns() > 5'000'000; }));
  rig->intake->abandon();
  rig->engine->close();
  rig->engine->join();
  EXPECT_EQ(rig->counters.published.value(), 640u);
  rig->view.released = true;
  rig->view.bell.ring();
  ASSERT_TRUE(Rig::eventually([&] { return rig->intake->ended() && rig->view.closed == 1; }));
}

}  // namespace
}  // namespace iqd::testing
