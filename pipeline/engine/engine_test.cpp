// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/engine.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "tests/support/engine_rig.hpp"

namespace iqd::testing {
namespace {

/// Lanes take a different time for each block: messages still leave in order.
TEST(Engine, MessagesLeaveInOrder) {
  GateStage::door().jitter_us = 300;
  Rig::Options o;
  o.lanes = 4;
  o.stages = {{"gate"}};
  o.publish = {"gate", "source"};
  Rig rig(o, {{{{.samples = 64 * 500}}}});
  rig.run();
  rig.expect_conserved();
  for (std::size_t r = 0; r < 2; ++r) {
    rig.expect_continuous(r);
    ASSERT_EQ(rig.records[r].sent.size(), 500u);
    for (std::size_t i = 0; i < 500; ++i) ASSERT_EQ(rig.records[r].sent[i].seq, i);
  }
  EXPECT_EQ(rig.counters.latency.snapshot().count, 500u);
  EXPECT_EQ(rig.engine->lanes_busy(), 0);
  EXPECT_EQ(rig.engine->slots_free(), rig.engine->slots());
}

/// State passes from block to block in order, whichever lane is first, and restarts after a gap.
TEST(Engine, CarriesAreHandedOnInOrder) {
  GateStage::door().jitter_us = 200;
  Rig::Options o;
  o.lanes = 4;
  o.info.channels = 2;
  o.stages = {{"gate"}, {"running"}};
  o.publish = {"running"};
  Rig rig(o, {{{{.samples = 10'000}, {.samples = 5'000, .lost = 9}, {.samples = 33, .lost = 1}}}});
  rig.run();
  std::uint32_t sums[2] = {0, 0};
  std::int64_t count = 0;
  for (const Sent& s : rig.records[0].sent) {
    if (s.gap > 0) sums[0] = sums[1] = 0;
    const auto words = s.as<Word>();
    for (std::int64_t c = 0; c < 2; ++c)
      for (std::int64_t n = 0; n < s.extent; ++n, ++count) {
        sums[c] += static_cast<std::uint32_t>(sample_word(s.sample + n, static_cast<std::size_t>(c)));
        ASSERT_EQ(words[static_cast<std::size_t>(c * s.extent + n)], static_cast<Word>(sums[c])) << "at " << s.sample;
      }
  }
  EXPECT_EQ(count, 2 * 15'033);
}

/// The memory of a message does not change while its lease is held, however long that is.
TEST(Engine, LeasesKeepTheirMemory) {
  for (const std::size_t kept : {1u, 3u, 6u}) {
    Rig::Options o;
    o.slots = 8;
    o.lanes = 2;
    o.stages = {{"window", "{past: 2}"}};
    o.publish = {"window", "source"};
    Rig rig(o, {{{{.samples = 64 * 300}}}});
    rig.records[0].keep = kept;
    rig.run();
    rig.expect_conserved();
    EXPECT_EQ(rig.records[0].sent.size(), 300u);
    EXPECT_EQ(rig.engine->slots_free(), 8 - static_cast<int>(kept)) << "the outlet still holds them at the end";
  }
}

TEST(Engine, SaysWhenSlotsAreScarce) {
  Rig::Options o;
  o.slots = 8;
  o.lanes = 1;
  Rig alone(o, {{{{.samples = 64}}}});
  alone.run();
  EXPECT_FALSE(alone.records[0].sent.front().scarce);
  Rig rig(o, {{{{.samples = 64 * 20}}}});
  rig.records[0].keep = 7;
  rig.run();
  EXPECT_TRUE(rig.records[0].sent.back().scarce);
  rig.expect_conserved();
}

/// Any thread may give back leases, also while lanes and publisher run.
TEST(Engine, LeasesComeBackFromOtherThreads) {
  struct Returner final : Outlet {
    explicit Returner(std::atomic<std::uint64_t>& n) : sent(n), thread([this] { run(); }) {}
    ~Returner() override {
      closing = true;
      thread.join();
    }
    bool send(const Message&, Lease lease, bool) override {
      while (!queue.try_push(std::move(lease))) std::this_thread::yield();
      ++sent;
      return true;
    }
    void run() {
      for (;;) {
        const bool last = closing;
        for (Lease l; queue.try_pop(l);) l.release();
        if (last) return;
      }
    }
    std::atomic<std::uint64_t>& sent;
    SpscQueue<Lease> queue{16};
    std::atomic<bool> closing{false};
    std::thread thread;
  };
  std::atomic<std::uint64_t> sent{0};
  Rig::Options o;
  o.slots = 4;
  o.lanes = 3;
  Rig rig(o, {{{{.samples = 64 * 5000}}}});
  rig.engine->routes()[0]->outlet = std::make_unique<Returner>(sent);
  rig.run();
  EXPECT_EQ(sent, 5000u);
  EXPECT_EQ(rig.counters.published.value(), 64u * 5000);
  EXPECT_TRUE(Rig::eventually([&] { return rig.engine->slots_free() == 4; }));
}

TEST(Engine, CountedItemsAndTheirFacts) {
  Rig::Options o;
  o.info.channels = 3;
  o.block = 128;
  o.stages = {{"pick", "{divisor: 3, most: 100}"}};
  o.publish = {"pick.finds", "pick.finds"};  // to two readers
  Rig rig(o, {{{{.samples = 1000}, {.samples = 1000, .lost = 10}}}});
  rig.run();
  rig.expect_conserved();
  for (const Record& record : rig.records) {
    std::vector<std::int64_t> starts;
    for (const Sent& s : record.sent) {
      const auto& at = s.facts.at("start");
      const auto words = s.as<Word>();
      ASSERT_EQ(words.size(), static_cast<std::size_t>(3 * s.extent));
      for (std::int64_t i = 0; i < s.extent; ++i) {
        starts.push_back(at[static_cast<std::size_t>(i)]);
        for (std::int64_t c = 0; c < 3; ++c)
          ASSERT_EQ(words[static_cast<std::size_t>(c * s.extent + i)],
                    sample_word(starts.back(), static_cast<std::size_t>(c)));
      }
    }
    std::vector<std::int64_t> expected;
    for (std::int64_t n = 0; n < 2010; ++n)
      if ((n < 1000 || n >= 1010) && sample_word(n, 0) % 3 == 0) expected.push_back(n);
    EXPECT_EQ(starts, expected);
  }
}

/// Events are added up even if nothing reads the port; entries without a name are numbered.
TEST(Engine, EventsAreAddedUp) {
  Rig::Options o;
  o.info.channels = 2;
  o.stages = {{"parity"}, {"total", "{}", "total", {{"", "source"}}}};
  o.publish = {"total"};
  Rig rig(o, {{{{.samples = 640 + 7}}}});
  rig.run();
  std::map<std::pair<std::string, std::string>, std::uint64_t> counted;
  for (const auto& [name, count] : rig.counters.tallies.values()) {
    EXPECT_EQ(name.stage, "parity");
    EXPECT_EQ(name.dimension, "row");
    counted[{name.name, name.entry}] = count;
  }
  for (std::size_t row = 0; row < 2; ++row) {
    std::uint64_t odd = 0;
    for (std::int64_t n = 0; n < 647; ++n) odd += static_cast<std::uint64_t>(sample_word(n, row) & 1);
    const std::string entry = row == 0 ? "first" : "1";
    EXPECT_EQ((counted[{"odd", entry}]), odd);
    EXPECT_EQ((counted[{"even", entry}]), 647 - odd);
  }
}

/// Levels are those of the last block that had any.
TEST(Engine, LevelsAreThoseOfTheLastBlock) {
  Rig::Options o;
  o.info.channels = 2;
  o.stages = {{"extremes"}, {"total", "{}", "total", {{"", "source"}}}};
  o.publish = {"total"};
  constexpr std::int64_t kSamples = 640 + 7;
  Rig rig(o, {{{{.samples = kSamples}}}});
  rig.run();
  std::int64_t first = (kSamples - 1) / o.block * o.block;
  while (sample_word(first, 0) % 2 != 0) first -= o.block;
  const std::int64_t end = std::min(first + o.block, kSamples);
  std::map<std::tuple<std::string, std::string, std::string>, double> expected, shown;
  for (std::size_t row = 0; row < 2; ++row) {
    std::vector<double> words;
    for (std::int64_t n = first; n < end; ++n) words.push_back(static_cast<float>(sample_word(n, row)));
    const auto [least, largest] = std::ranges::minmax(words);
    expected[{"least", "channel", std::to_string(row)}] = least;
    expected[{"largest", "channel", std::to_string(row)}] = largest;
  }
  for (const auto& [number, level] : rig.counters.levels.values()) {
    EXPECT_EQ(number.stage, "extremes");
    shown[{number.name, number.dimension, number.entry}] = level;
  }
  EXPECT_EQ(shown, expected);
}

/// A fact that is a level shows the mean of a block, published or not, and stays in the headers.
TEST(Engine, AFactCanBeALevel) {
  for (const bool is_published : {false, true}) {
    Rig::Options o;
    o.stages = {{"grade"}, {"total", "{}", "total", {{"", "source"}}}};
    o.publish = {is_published ? "grade.finds" : "total"};
    constexpr std::int64_t kSamples = 640;
    Rig rig(o, {{{{.samples = kSamples}}}});
    rig.run();
    double sum = 0, count = 0;
    for (std::int64_t n = kSamples - o.block; n < kSamples; ++n) {
      const Word word = sample_word(n, 0);
      if (word % 2 == 0 && word % 4 != 0) sum += static_cast<double>(static_cast<float>(word)), count += 1;
    }
    ASSERT_GT(count, 0);
    const auto shown = rig.counters.levels.values();
    ASSERT_EQ(shown.size(), 1u);
    EXPECT_EQ(shown[0].first.stage, "grade");
    EXPECT_EQ(shown[0].first.name, "grade");
    EXPECT_EQ(shown[0].second, sum / count);
  }
}

TEST(Engine, OneMessageABlock) {
  Rig::Options o;
  o.info.channels = 2;
  o.stages = {{"total"}};
  o.publish = {"total"};
  Rig rig(o, {{{{.samples = 640 + 7}}}});
  rig.run();
  ASSERT_EQ(rig.records[0].sent.size(), 11u);
  for (const Sent& s : rig.records[0].sent) {
    std::uint32_t sum = 0;
    for (std::int64_t n = s.sample; n < std::min<std::int64_t>(s.sample + 64, 647); ++n)
      sum += static_cast<std::uint32_t>(sample_word(n, 1));
    ASSERT_EQ(s.as<Word>().size(), 2u);
    EXPECT_EQ(s.as<Word>()[1], static_cast<Word>(sum));
  }
}

/// An empty message is sent only if requested; otherwise the next one reports the gap before it.
TEST(Engine, EmptyMessages) {
  for (const bool send_empty : {false, true}) {
    Rig::Options o;
    o.send_empty = send_empty;
    o.stages = {{"pick_bare", "{divisor: 150}"}};
    o.publish = {"pick_bare"};
    Rig rig(o, {{{{.samples = 6400}, {.samples = 6400, .lost = 64}}}});
    rig.run();
    std::int64_t items = 0, gaps = 0;
    for (const Sent& s : rig.records[0].sent) {
      items += s.extent;
      gaps += s.gap;
      if (!send_empty) {
        EXPECT_GT(s.extent, 0);
      }
    }
    EXPECT_GT(items, 0);
    EXPECT_EQ(gaps, 64);
    EXPECT_EQ(rig.records[0].sent.size() == 200, send_empty);
    EXPECT_EQ(rig.counters.published.value(), 12'800u);
  }
}

TEST(Engine, InterruptReachesTheOutlets) {
  Rig::Options o;
  Rig rig(o, {{{{.samples = 64 * 3}}}});
  Record& record = rig.records[0];
  record.before = [&](const Message&) {
    while (!record.interrupted) std::this_thread::yield();
  };
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.intake->ended(); }));
  EXPECT_EQ(rig.counters.published.value(), 0u);
  rig.engine->interrupt();
  rig.engine->join();
  EXPECT_TRUE(record.finished);
  rig.expect_conserved();
}

/// What could not be computed in time when iqd stops: it is dropped at once, and counted.
TEST(Engine, InterruptDropsWhatIsNotPublished) {
  GateStage::door().set(false);
  Rig::Options o;
  o.stages = {{"gate"}};
  o.publish = {"gate"};
  o.ring = 64 * 100;
  Rig rig(o, {{{{.samples = 64 * 100}}}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([&] { return rig.intake->ended(); }));
  ASSERT_TRUE(Rig::eventually([&] { return GateStage::door().inside == o.lanes; }));
  rig.engine->interrupt();
  GateStage::door().set(true);
  rig.engine->join();
  EXPECT_EQ(rig.drops(Drop::stopped), 64u * 100);
  EXPECT_TRUE(rig.records[0].sent.empty());
  rig.expect_conserved();
}

/// Lanes that are too slow: late blocks are counted.
TEST(Engine, DeadlinesThatAreMissed) {
  GateStage::door().set(false);
  Rig::Options o;
  o.info.rate_hz = 1e6;  // 64 samples last 64 µs
  o.stages = {{"gate"}};
  o.publish = {"gate"};
  Rig rig(o, {{{{.samples = 64}}}});
  rig.start();
  ASSERT_TRUE(Rig::eventually([] { return GateStage::door().inside == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  GateStage::door().set(true);
  rig.engine->join();
  EXPECT_EQ(rig.counters.deadline_misses.value(), 1u);
  EXPECT_GE(rig.counters.latency.snapshot().worst_ns, 1'000'000u);
}

}  // namespace
}  // namespace iqd::testing
