// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Radios that are retuned while they stream: from which sample on, and how that is reported.
#include <gtest/gtest.h>

#include "tests/support/radio_rig.hpp"

namespace iqd::testing {
namespace {

using Do = Step::Do;
using Answer = ChangeOutcome::Answer;

constexpr double kBefore = 100e6, kAfter = 101e6;

Rig::Options tunable_radio() {
  Rig::Options o = radio_options();
  o.info.time = TimeSource::radio;
  o.info.frequency_hz = kBefore;
  o.slots = 64;
  return o;
}

constexpr Step kRest{.what = Do::nothing, .wait_ns = 1'000'000, .repeat = 200};

std::int64_t time_of(SampleIndex sample) {
  return ScriptedSource::kStartNs + sample * 1000;
}

ChangeOutcome retune_now(Rig& rig) {
  rig.view.frequency_hz = kAfter;
  StreamChange change;
  static const ScriptedOptions to({}, {}, rig.view);
  change.source = &to;
  return rig.intake->change(std::move(change), 2'000'000'000);
}

/// Retunes while the source pauses.
ChangeOutcome retune(Rig& rig, std::uint64_t when_received) {
  rig.start();
  EXPECT_TRUE(Rig::eventually([&] { return rig.counters.received.value() == when_received; }));
  return retune_now(rig);
}

/// Exactly one message reports the retune, and messages before and after it have the right frequencies.
void expect_told(const Record& record, std::size_t message, SampleIndex tuned) {
  for (std::size_t n = 0; n < record.sent.size(); ++n) {
    const Sent& s = record.sent[n];
    EXPECT_EQ(s.tuned, n == message ? tuned : -1) << n;
    EXPECT_EQ(s.frequency_hz, n < message ? kBefore : kAfter) << n;
  }
  ASSERT_GT(record.sent.size(), message);
}

TEST(IntakeRetune, HoldsFromTheTimeThatTheRadioTells) {
  Rig rig(tunable_radio(), {{{{.samples = 1000, .timed = true}, kRest, {.samples = 1000, .timed = true}}}});
  rig.view.tuned_ns = time_of(1500);
  ASSERT_EQ(retune(rig, 1000).answer, Answer::done);
  EXPECT_EQ(rig.counters.tuned.load(), 1500);
  EXPECT_EQ(rig.counters.frequency_hz.value(), kAfter) << "at once";
  rig.engine->join();
  expect_told(rig.records[0], 1500 / 64, 1500);
  rig.expect_continuous();
  rig.expect_conserved();
  EXPECT_EQ(rig.counters.retunes.value(), 1u);
  EXPECT_EQ(rig.counters.lost.value(), 0u);
}

TEST(IntakeRetune, TimeThatIsOverMeansTheNextSample) {
  Rig rig(tunable_radio(), {{{{.samples = 1000, .timed = true}, kRest, {.samples = 1000, .timed = true}}}});
  rig.view.tuned_ns = time_of(10);
  ASSERT_EQ(retune(rig, 1000).answer, Answer::done);
  rig.engine->join();
  expect_told(rig.records[0], 1000 / 64, 1000);
}

TEST(IntakeRetune, TimeThatIsFarAwayIsNotBelieved) {
  Rig rig(tunable_radio(), {{{{.samples = 1000, .timed = true}, kRest, {.samples = 1000, .timed = true}}}});
  rig.view.tuned_ns = std::numeric_limits<std::int64_t>::max();
  ASSERT_EQ(retune(rig, 1000).answer, Answer::done);
  EXPECT_LE(rig.counters.tuned.load(), 1000 + 10'000'000) << "ten seconds";
  rig.engine->join();
  rig.expect_conserved();
}

/// All samples that may have been taken since the last one arrived count as old.
TEST(IntakeRetune, WithoutATimeTheHostsClockTells) {
  Rig rig(tunable_radio(),
          {{{{.samples = 1000}, {.what = Do::nothing, .wait_ns = 1'000'000, .repeat = 50}, {.samples = 90'000}}}});
  ASSERT_EQ(retune(rig, 1000).answer, Answer::done);
  rig.engine->join();
  const SampleIndex tuned = rig.counters.tuned.load();
  EXPECT_GT(tuned, 1000);
  EXPECT_LT(tuned, 1000 + 10'000'000);
  if (tuned < 91'000) expect_told(rig.records[0], static_cast<std::size_t>(tuned / 64), tuned);
}

TEST(IntakeRetune, InAGapItHoldsFromTheFirstSampleBehind) {
  Rig rig(tunable_radio(),
          {{{{.samples = 1000, .timed = true}, kRest, {.samples = 1000, .lost = 5000, .timed = true}}}});
  rig.view.tuned_ns = time_of(3000);
  ASSERT_EQ(retune(rig, 1000).answer, Answer::done);
  rig.engine->join();
  expect_told(rig.records[0], 1000 / 64 + 1, 6000);
  rig.expect_continuous();
  rig.expect_conserved();
}

TEST(IntakeRetune, OfSeveralInABlockTheLastIsTold) {
  Rig rig(tunable_radio(), {{{{.samples = 1000, .timed = true}, kRest, {.samples = 1000, .timed = true}}}});
  rig.view.tuned_ns = time_of(1410);
  ASSERT_EQ(retune(rig, 1000).answer, Answer::done);
  rig.view.tuned_ns = time_of(1405);  // a clock that goes back does not change the order of retunes
  StreamChange again;
  const ScriptedOptions to({}, {}, rig.view);
  again.source = &to;
  ASSERT_EQ(rig.intake->change(std::move(again), 2'000'000'000).answer, Answer::done);
  rig.engine->join();
  expect_told(rig.records[0], 1410 / 64, 1410);
  EXPECT_EQ(rig.counters.retunes.value(), 2u);
}

TEST(IntakeRetune, MessageThatIsRefusedLeavesItToTheNext) {
  Rig rig(tunable_radio(), {{{{.samples = 1000, .timed = true}, kRest, {.samples = 1000, .timed = true}}}});
  rig.records[0].refuse = [](const Message& m) { return m.sample <= 1500 && m.sample + 64 > 1500; };
  rig.view.tuned_ns = time_of(1500);
  ASSERT_EQ(retune(rig, 1000).answer, Answer::done);
  rig.engine->join();
  expect_told(rig.records[0], 1500 / 64, 1500);
  EXPECT_EQ(rig.records[0].sent[1500 / 64].gap, 64);
}

TEST(IntakeRetune, RefusedChangesNothing) {
  Rig rig(tunable_radio(), {{{{.samples = 1000, .timed = true}, kRest, {.samples = 1000, .timed = true}}}});
  rig.view.refuses = true;
  const ChangeOutcome outcome = retune(rig, 1000);
  EXPECT_EQ(outcome.answer, Answer::refused);
  EXPECT_EQ(outcome.why, "it is out of range");
  rig.engine->join();
  for (const Sent& s : rig.records[0].sent) {
    EXPECT_EQ(s.tuned, -1);
    EXPECT_EQ(s.frequency_hz, kBefore);
  }
  EXPECT_EQ(rig.counters.retunes.value(), 0u);
  EXPECT_EQ(rig.counters.tuned.load(), -1);
}

/// Whether it takes the values would only be known when it is back.
TEST(IntakeRetune, NotWhileTheRadioIsDisconnected) {
  Rig::Options o = tunable_radio();
  o.intake.backoff_ns = 3'600'000'000'000;
  Rig rig(o, {{{{.samples = 1000}, {.what = Do::fail}}}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.counters.state.load() == SourceState::reconnecting; }));
  const ChangeOutcome outcome = retune_now(rig);
  EXPECT_EQ(outcome.answer, Answer::not_now);
  EXPECT_EQ(outcome.why, "the radio is disconnected; try again when it is back");
  rig.intake->stop();
  rig.engine->join();
  EXPECT_EQ(rig.counters.retunes.value(), 0u);
}

TEST(IntakeRetune, NotWhenTheRadioDoesNotAnswer) {
  Rig rig(tunable_radio(), {{{{.samples = 1000, .timed = true}, kRest, {.samples = 1000, .timed = true}}}});
  rig.view.answers = false;
  const ChangeOutcome outcome = retune(rig, 1000);
  EXPECT_EQ(outcome.answer, Answer::not_now);
  EXPECT_EQ(outcome.why, "it does not answer");
  rig.engine->join();
  EXPECT_EQ(rig.counters.retunes.value(), 0u);
}

/// Readers must know that the radio was set up again: earlier measurements of it no longer hold.
TEST(IntakeRetune, OpenedAgainIsSetAnew) {
  Rig rig(tunable_radio(), {{{{.samples = 1000}, {.what = Do::fail}}}, {{{.samples = 500}}}});
  rig.run();
  const auto& sent = rig.records[0].sent;
  const auto back = std::ranges::find_if(sent, [](const Sent& s) { return s.gap > 0; });
  ASSERT_NE(back, sent.end());
  EXPECT_EQ(back->tuned, back->sample);
  EXPECT_EQ(std::ranges::count_if(sent, [](const Sent& s) { return s.tuned >= 0; }), 1);
  EXPECT_EQ(rig.counters.retunes.value(), 0u) << "nobody requested it";
}

/// A live change of a source that can be read late is not a retune of a radio.
TEST(IntakeRetune, OnlyRadiosAreTuned) {
  Rig::Options o = tunable_radio();
  o.info.can_wait = true;
  Rig rig(o, {{{{.samples = 1000}, kRest, {.samples = 100}}}});
  ASSERT_EQ(retune(rig, 1000).answer, Answer::done);
  rig.engine->join();
  for (const Sent& s : rig.records[0].sent) EXPECT_EQ(s.tuned, -1);
}

}  // namespace
}  // namespace iqd::testing
