// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <utility>

#include "base/error.hpp"
#include "pipeline/pipeline.hpp"
#include "pipeline/spec_plan.hpp"
#include "tests/support/engine_rig.hpp"
#include "tests/support/test_catalogue.hpp"

/// Changes to a running pipeline.
namespace iqd::testing {
namespace {

/// Endless samples, in pieces of many lengths.
Script endless(std::int64_t wait_ns = 20'000, std::int64_t most = 150) {
  Script script;
  std::mt19937 random(7);
  for (int i = 0; i < 300'000; ++i)
    script.steps.push_back({.samples = 1 + static_cast<std::int64_t>(random()) % most, .wait_ns = wait_ns});
  script.ends = false;
  return script;
}

/// A running pipeline, and files that it changes to.
class Show {
 public:
  explicit Show(const std::string& text, Script script = endless()) {
    theatre.scripts = {std::move(script)};
    specs_.push_back(read(text));
    pipeline = std::make_unique<Pipeline>(std::move(specs_.back()), test_catalogue(), problems);
    EXPECT_TRUE(problems.empty()) << problems.front().text();
  }
  PipelineSpec read(const std::string& text) {
    const Document document = parse_document(text, "x.yaml", problems);
    Spec spec = read_spec(document, test_catalogue(), problems);
    check_spec(spec, test_catalogue(), problems);
    EXPECT_TRUE(problems.empty()) << problems.front().text();
    return std::move(spec.pipelines.at(0));
  }
  Pipeline::Change prepare(const std::string& text) {
    PipelineSpec next = read(text);
    SpecChange what = compare(pipeline->spec(), next);
    return pipeline->prepare(std::move(next), std::move(what), problems);
  }
  /// Waits while earlier plans still have blocks in flight, as they may on a slow machine.
  std::string change_to(const std::string& text) {
    std::optional<Pipeline::Change> change;
    const auto prepared = [&] {
      try {
        change = prepare(text);
      } catch (const SetupError&) {
        return false;
      }
      return true;
    };
    if (!Rig::eventually(prepared)) return "refused";
    return pipeline->go_over(std::move(*change)).why;
  }
  void wait_for_blocks(std::uint64_t more) {
    const std::uint64_t wanted = pipeline->status().blocks + more;
    EXPECT_TRUE(Rig::eventually([&] { return pipeline->status().blocks >= wanted; }));
  }
  void end() {
    pipeline->stop();
    ASSERT_TRUE(Rig::eventually([&] { return pipeline->finished(); }));
    const PipelineStatus s = pipeline->status();
    std::uint64_t left = s.published;
    for (const std::uint64_t d : s.dropped) left += d;
    EXPECT_EQ(s.received, left);
    EXPECT_EQ(s.in_flight, 0u);
  }

  Theatre theatre;
  Problems problems;

 private:
  std::vector<PipelineSpec> specs_;

 public:
  std::unique_ptr<Pipeline> pipeline;
};

std::int32_t word(std::int64_t n) {
  return n < 0 ? 0 : sample_word(n, 0);
}

std::string windowed(const WindowShape& w, int block, int lanes = 2) {
  return fmt::format(
      "name: lab\nsource: {{tape: {{rate: 1 MS/s}}}}\nblock: {}\nlanes: {}\nbackend: cpu\n"
      "stages:\n  - window: {{past: {}, future: {}}}\n"
      "publish:\n  - {{port: window, topic: a, bind: x}}\n",
      block, lanes, w.past, w.future);
}

TEST(Exchange, PlansFollowEachOtherWithoutASampleLost) {
  const std::vector<std::pair<WindowShape, int>> plans{{{3, 0}, 64},  {{40, 20}, 64}, {{40, 20}, 50}, {{0, 0}, 200},
                                                       {{5, 90}, 32}, {{3, 0}, 32},   {{300, 1}, 8},  {{0, 7}, 64}};
  Show show(windowed(plans[0].first, plans[0].second));
  show.pipeline->start();
  constexpr int kTurns = 25;
  for (int turn = 1; turn <= kTurns; ++turn) {
    show.wait_for_blocks(static_cast<std::uint64_t>(turn % 4));
    const auto& [window, block] = plans[static_cast<std::size_t>(turn) % plans.size()];
    ASSERT_EQ(show.change_to(windowed(window, block, 1 + turn % 3)), "") << turn;
    show.pipeline->tidy();
  }
  show.wait_for_blocks(3);
  show.end();

  ASSERT_EQ(show.theatre.records.size(), kTurns + 1u);
  std::uint64_t seq = 0;
  std::int64_t sample = 0;
  for (int turn = 0; turn <= kTurns; ++turn) {
    const WindowShape& window = plans[static_cast<std::size_t>(turn) % plans.size()].first;
    for (const Sent& s : show.theatre.records[static_cast<std::size_t>(turn)].sent) {
      ASSERT_EQ(s.seq, seq++);
      ASSERT_EQ(s.sample, sample) << "turn " << turn;
      ASSERT_EQ(s.gap, 0);
      const auto words = s.as<Word>();
      for (std::size_t i = 0; i < words.size(); ++i) {
        const std::int64_t p = sample + static_cast<std::int64_t>(i);
        const auto end = static_cast<std::int64_t>(show.pipeline->status().received);
        ASSERT_EQ(words[i], window.at(p, [&](std::int64_t n) { return n < end ? word(n) : 0; }))
            << "turn " << turn << " at " << p;
      }
      sample += s.extent;
    }
  }
  EXPECT_EQ(static_cast<std::uint64_t>(sample), show.pipeline->status().received);
  EXPECT_EQ(show.pipeline->status().ports.at(0).messages, seq) << "one count for all plans";
  EXPECT_EQ(show.pipeline->status().reloads, static_cast<std::uint64_t>(kTurns));
}

/// Gaps longer than any ring, so that places in the rings are unrelated to positions.
TEST(Exchange, GapsAreTakenAlong) {
  Script script = endless();
  for (std::size_t i = 1; i < script.steps.size(); i += 5) script.steps[i].lost = 1'000'000'007 + static_cast<int>(i);
  const std::vector<std::pair<int, int>> plans{{3, 64}, {40, 50}, {0, 200}, {300, 8}};
  Show show(windowed({plans[0].first, 0}, plans[0].second), std::move(script));
  show.pipeline->start();
  constexpr std::size_t kTurns = 25;
  for (std::size_t turn = 1; turn <= kTurns; ++turn) {
    show.wait_for_blocks(turn % 4);
    const auto& [past, block] = plans[turn % plans.size()];
    ASSERT_EQ(show.change_to(windowed({past, 0}, block)), "") << turn;
    show.pipeline->tidy();
  }
  show.wait_for_blocks(100);
  show.end();

  std::int64_t sample = 0, begin = 0, gaps = 0;
  for (std::size_t turn = 0; turn <= kTurns; ++turn) {
    const auto& [past, block] = plans[turn % plans.size()];
    const WindowShape window{past, 0};
    for (const Sent& s : show.theatre.records[turn].sent) {
      ASSERT_EQ(s.sample, sample + s.gap) << "turn " << turn;
      if (s.gap > 0) begin = s.sample;
      gaps += s.gap > 0;
      EXPECT_LE(s.sample % block + s.extent, block);
      const auto words = s.as<Word>();
      for (std::size_t i = 0; i < words.size(); ++i)
        ASSERT_EQ(words[i], window.at(s.sample + static_cast<std::int64_t>(i),
                                      [&](std::int64_t n) { return n < begin ? 0 : sample_word(n, 0); }))
            << "turn " << turn << " at " << s.sample + static_cast<std::int64_t>(i);
      sample = s.sample + s.extent;
    }
  }
  EXPECT_GT(gaps, 10);
}

std::string scaled(int by) {
  return fmt::format(
      "name: lab\nsource: {{tape: {{rate: 1 MS/s}}}}\nblock: 64\nbackend: cpu\n"
      "stages:\n  - scale: {{name: a, by: {}}}\n  - scale: {{name: b, by: 7}}\n"
      "publish:\n  - {{port: b, topic: a, bind: x}}\n",
      by);
}

/// A live key of a stage within a fused step changes between two blocks, and nothing is lost.
TEST(Exchange, LiveKeysChangeWithinFusedSteps) {
  Show show(scaled(1));
  EXPECT_EQ(show.pipeline->status().steps.at(0).name, "a+b");
  show.pipeline->start();
  for (int by = 2; by <= 20; ++by) {
    show.wait_for_blocks(2);
    Pipeline::Change change = show.prepare(scaled(by));
    ASSERT_EQ(change.engine, nullptr);
    ASSERT_EQ(show.pipeline->go_over(std::move(change)).why, "");
  }
  show.wait_for_blocks(2);
  show.end();
  std::int64_t sample = 0, by = 1;
  for (const Sent& s : show.theatre.records.at(0).sent) {
    ASSERT_EQ(s.sample, sample);
    const auto words = s.as<Word>();
    const auto expected = [&](std::int64_t n) {
      return static_cast<Word>(static_cast<std::uint32_t>(word(n)) * static_cast<std::uint32_t>(7 * by));
    };
    while (by < 20 && words[0] != expected(sample)) ++by;
    for (const Word w : words) ASSERT_EQ(w, expected(sample++)) << "one factor for a whole block";
  }
  EXPECT_EQ(by, 20);
  EXPECT_EQ(static_cast<std::uint64_t>(sample), show.pipeline->status().received);
}

std::string running(int block, const char* name) {
  return fmt::format(
      "name: lab\nsource: {{tape: {{rate: 1 MS/s}}}}\nblock: {}\nbackend: cpu\nstages:\n  - running: {{name: {}}}\n"
      "publish:\n  - {{port: {}, topic: a, bind: x}}\n",
      block, name, name);
}

TEST(Exchange, StateGoesOnWithItsStageAndStartsAnewWithAnother) {
  Show show(running(64, "one"));
  show.pipeline->start();
  show.wait_for_blocks(3);
  ASSERT_EQ(show.change_to(running(30, "one")), "");
  show.wait_for_blocks(3);
  ASSERT_EQ(show.change_to(running(30, "two")), "");
  show.wait_for_blocks(3);
  show.end();
  std::int64_t sample = 0;
  std::uint32_t sum = 0;
  ASSERT_EQ(show.theatre.records.size(), 3u);
  for (std::size_t r = 0; r < 3; ++r) {
    if (r == 2) sum = 0;
    ASSERT_GE(show.theatre.records[r].sent.size(), 2u);
    for (const Sent& s : show.theatre.records[r].sent)
      for (const Word w : s.as<Word>()) {
        sum += static_cast<std::uint32_t>(word(sample++));
        ASSERT_EQ(w, static_cast<Word>(sum)) << "record " << r << " sample " << sample;
      }
  }
}

std::string picking(int divisor, double gain = 0) {
  return fmt::format(
      "name: lab\nsource: {{tape: {{rate: 1 MS/s, gain: {}}}}}\nblock: 64\nbackend: cpu\n"
      "stages:\n  - running: {{}}\n  - pick: {{divisor: {}, from: source}}\n"
      "publish:\n  - {{port: pick.finds, topic: a, bind: x}}\n  - {{port: running, topic: b, bind: y}}\n",
      gain, divisor);
}

TEST(Exchange, LiveKeysChangeTheEngineAtWork) {
  Show show(picking(2));
  show.pipeline->start();
  show.wait_for_blocks(5);
  for (int turn = 0; turn < 50; ++turn) {
    Pipeline::Change change = show.prepare(picking(3 + turn % 2));
    ASSERT_EQ(change.engine, nullptr);
    ASSERT_NE(change.plan, nullptr);
    ASSERT_EQ(show.pipeline->go_over(std::move(change)).why, "");
  }
  ASSERT_EQ(show.change_to(picking(5)), "");
  const std::uint64_t then = show.theatre.records[0].messages;
  EXPECT_TRUE(Rig::eventually([&] { return show.theatre.records[0].messages > then + 40; }));
  show.end();
  ASSERT_EQ(show.theatre.records.size(), 2u) << "nothing was reopened";
  const std::deque<Record>& records = show.theatre.records;
  for (const Word w : records[0].sent.front().as<Word>()) EXPECT_EQ(w % 2, 0);
  for (const Word w : records[0].sent.back().as<Word>()) EXPECT_EQ(w % 5, 0);
  std::uint32_t sum = 0;
  std::int64_t sample = 0;
  for (const Sent& s : records[1].sent)
    for (const Word w : s.as<Word>())
      ASSERT_EQ(w, static_cast<Word>(sum += static_cast<std::uint32_t>(word(sample++))));
}

TEST(Exchange, SourceTakesItsLiveKeysOrAllStaysAsItIs) {
  Show show(picking(2, 1));
  show.pipeline->start();
  show.wait_for_blocks(2);
  Pipeline::Change change = show.prepare(picking(2, 7));
  EXPECT_EQ(change.engine, nullptr);
  EXPECT_EQ(change.plan, nullptr) << "it concerns only the source";
  EXPECT_EQ(show.pipeline->go_over(std::move(change)).why, "");
  EXPECT_EQ(show.theatre.gain, 7);
  EXPECT_EQ(show.change_to(picking(3, 13)), "a gain of 13 is too much");
  EXPECT_EQ(show.theatre.gain, 7);
  show.wait_for_blocks(10);
  show.end();
  for (const Word w : show.theatre.records[0].sent.back().as<Word>()) EXPECT_EQ(w % 2, 0);
}

TEST(Exchange, ChangeThatComesTooLateChangesNothing) {
  Script script;
  script.steps = {{.samples = 6400}, {.what = Step::Do::hang}, {.samples = 6400}};
  Show show(windowed({3, 0}, 64), std::move(script));
  show.pipeline->start();
  ASSERT_TRUE(Rig::eventually([&] { return show.pipeline->status().blocks == 100; }));
  EXPECT_EQ(show.change_to(windowed({9, 0}, 32)), "the source did not answer in time");
  EXPECT_EQ(show.pipeline->status().reloads, 0u);
  show.theatre.view->released = true;
  show.theatre.view->bell.ring();
  ASSERT_TRUE(Rig::eventually([&] { return show.pipeline->finished(); }));
  EXPECT_EQ(show.pipeline->status().published, 12800u);
  EXPECT_EQ(show.theatre.records[0].sent.size(), 200u);
  EXPECT_TRUE(show.theatre.records[0].finished);
}

TEST(Exchange, WhatIsDroppedStaysCounted) {
  const auto file = [](int block) {
    return fmt::format(
        "name: lab\nsource: {{radio: {{rate: 1 MS/s}}}}\nblock: {}\nbackend: cpu\nstages:\n  - gate: {{}}\n"
        "publish:\n  - {{port: gate, topic: a, bind: x}}\n",
        block);
  };
  GateStage::door().set(true);
  // Many at once, so that the ring is soon full.
  Show show(file(64), endless(1000, 5000));
  show.pipeline->start();
  show.wait_for_blocks(3);
  GateStage::door().set(false);
  // The reason is lanes, or slots if one lane kept running for a while.
  const auto dropped = [&] {
    const PipelineStatus s = show.pipeline->status();
    return s.dropped[0] + s.dropped[1];
  };
  EXPECT_TRUE(Rig::eventually([&] { return dropped() > 1000; }));
  EXPECT_EQ(show.change_to(file(32)), "");
  EXPECT_TRUE(Rig::eventually([&] { return show.pipeline->status().in_flight > 100; }));
  GateStage::door().set(true);
  show.wait_for_blocks(50);
  show.end();
  std::int64_t sample = 0, missing = 0;
  for (const Record& r : show.theatre.records)
    for (const Sent& s : r.sent) {
      ASSERT_EQ(s.sample, sample + s.gap);
      missing += s.gap;
      ASSERT_EQ(s.dropped, missing);
      const auto words = s.as<Word>();
      for (std::size_t i = 0; i < words.size(); ++i) ASSERT_EQ(words[i], word(s.sample + static_cast<std::int64_t>(i)));
      sample = s.sample + s.extent;
    }
  EXPECT_GT(missing, 1000);
}

TEST(Exchange, SinkThatStaysTheSameGoesOn) {
  const auto file = [](int block, const char* path) {
    return fmt::format(
        "name: lab\nsource: {{tape: {{rate: 1 MS/s}}}}\nblock: {}\nbackend: cpu\nstages:\n  - gate: {{}}\n"
        "publish:\n  - {{port: gate, topic: a, bind: x}}\nsinks:\n  - {{port: source, drain: {{path: {}}}}}\n",
        block, path);
  };
  Show show(file(64, "here"));
  show.pipeline->start();
  show.wait_for_blocks(3);
  ASSERT_EQ(show.change_to(file(32, "here")), "");
  show.wait_for_blocks(3);
  EXPECT_EQ(show.theatre.sinks_opened, 1);
  ASSERT_EQ(show.change_to(file(64, "there")), "");
  EXPECT_EQ(show.theatre.sinks_opened, 2);
  show.wait_for_blocks(3);
  show.end();
  const std::uint64_t messages = show.pipeline->status().ports.at(0).messages;
  // The previous engine may still deliver what its sink holds.
  EXPECT_TRUE(Rig::eventually([&] { return static_cast<std::uint64_t>(show.theatre.sunk) == messages; }));
}

TEST(Exchange, ValuesThatAreAppliedGoOn) {
  const auto file = [](int block, const char* key) {
    return fmt::format(
        "name: lab\nsource: {{tape: {{rate: 1 MS/s}}}}\nblock: {}\nbackend: cpu\n"
        "stages: [pick: {{}}, total: {{from: source}}]\n"
        "publish: [{{port: pick.finds, topic: a, bind: x}}]\napply: [{{port: total, to: {}}}]\n",
        block, key);
  };
  Show show(file(64, "pick.divisor"));
  show.pipeline->start();
  const std::shared_ptr<ApplyOutlet> outlet = show.pipeline->applies().at(0);
  EXPECT_EQ(outlet->key().text(), "lab/pick.divisor");
  show.wait_for_blocks(3);
  const std::optional<std::string> keys = outlet->take(0);
  ASSERT_TRUE(keys.has_value());
  outlet->applied();
  ASSERT_EQ(show.change_to(file(32, "pick.divisor")), "");
  EXPECT_EQ(show.pipeline->applies(), std::vector{outlet});
  show.wait_for_blocks(50);
  EXPECT_TRUE(outlet->take(0).has_value()) << "other blocks have other totals";
  const PipelineStatus::Port port = show.pipeline->status().ports.at(1);
  EXPECT_EQ(port.to, "apply lab/pick.divisor");
  EXPECT_EQ(port.messages, 1u) << "values that were applied";
  ASSERT_EQ(show.change_to(file(32, "source.gain")), "");
  EXPECT_EQ(show.pipeline->applies().at(0)->key().text(), "lab/source.gain");
  ASSERT_EQ(show.change_to(windowed({3, 0}, 64)), "");
  EXPECT_TRUE(show.pipeline->applies().empty());
  show.end();
}

TEST(Exchange, EndsWhenTheStreamEndsDuringAChange) {
  for (int i = 0; i < 30; ++i) {
    Script script;
    script.steps = {{.samples = 640 * (1 + i)}};
    Show show(windowed({3, 5}, 64), std::move(script));
    show.pipeline->start();
    const std::string why = show.change_to(windowed({4, 2}, 50));
    EXPECT_TRUE(why.empty() || why == "the source has ended") << why;
    ASSERT_TRUE(Rig::eventually([&] { return show.pipeline->finished(); }));
    EXPECT_EQ(show.pipeline->status().published, 640u * (1 + static_cast<unsigned>(i)));
  }
}

TEST(Exchange, SocketMayKeepResultsOfSeveralEnginesToTheEnd) {
  const auto file = [](int block) {
    return fmt::format(
        "name: lab\nsource: {{tape: {{rate: 1 MS/s}}}}\nblock: {}\nbackend: cpu\nstages:\n  - gate: {{}}\n"
        "publish:\n  - {{port: gate, topic: kept, bind: x}}\n",
        block);
  };
  Show show(file(64));
  show.pipeline->start();
  for (const int block : {32, 48}) {
    show.wait_for_blocks(5);
    ASSERT_EQ(show.change_to(file(block)), "");
  }
  show.wait_for_blocks(20);
  show.pipeline->tidy();
  EXPECT_TRUE(Rig::eventually([&] { return show.theatre.kept() == 6; }));
  show.end();
  show.pipeline.reset();
  EXPECT_TRUE(show.theatre.socket.expired());
}

TEST(Exchange, WhatDoesNotFitIsRefusedBefore) {
  Show show(windowed({3, 0}, 64));
  show.pipeline->start();
  show.wait_for_blocks(2);
  PipelineSpec next = show.read(windowed({3, 0}, 64));
  next.block = std::int64_t{1} << 40;
  Pipeline::Change change = show.pipeline->prepare(std::move(next), SpecChange{.plan = true}, show.problems);
  EXPECT_FALSE(show.problems.empty());
  EXPECT_EQ(change.engine, nullptr);
  show.wait_for_blocks(2);
  show.end();
}

}  // namespace
}  // namespace iqd::testing
