// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Blocks that other hosts compute: the results are those of one host, in order, and each block has one fate.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pipeline/pipeline.hpp"
#include "tests/support/engine_rig.hpp"
#include "tests/support/loopback_pool.hpp"
#include "tests/support/test_catalogue.hpp"

namespace iqd::testing {
namespace {

/// A pipeline, its source and its outlets, and what came out of them.
struct Outcome {
  std::vector<std::vector<Sent>> sent;  // by outlet
  PipelineStatus status;
};

std::uint64_t dropped(const PipelineStatus& s, Drop why) {
  return s.dropped[static_cast<std::size_t>(why)];
}
std::uint64_t all_dropped(const PipelineStatus& s) {
  return std::accumulate(s.dropped.begin(), s.dropped.end(), std::uint64_t{0});
}

constexpr std::string_view kPool = ", pool: {servers: [here]}";

/// `rest`: stages and routes.
std::string file(std::string_view backend, std::string_view rest, std::string_view source = "tape: {rate: 1 MS/s}",
                 int block = 64) {
  return fmt::format("{{name: lab, source: {{{}}}, block: {}, lanes: 2, backend: [{}]{}, {}}}\n", source, block,
                     backend, backend.find("pool") != backend.npos ? kPool : "", rest);
}

std::unique_ptr<Pipeline> pipeline_with_pool(const std::string& text, Problems& problems) {
  const Document document = parse_document(text, "x.yaml", problems);
  Spec spec = read_spec(document, LoopbackTheatre::now()->catalogue, problems);
  if (!problems.empty()) return nullptr;
  return std::make_unique<Pipeline>(std::move(spec.pipelines.at(0)), LoopbackTheatre::now()->catalogue, problems);
}

Outcome run(const std::string& text, const Script& script) {
  Theatre theatre;
  theatre.scripts = {script};
  Problems problems;
  const auto pipeline = pipeline_with_pool(text, problems);
  EXPECT_TRUE(problems.empty()) << text << problems.front().text();
  if (!problems.empty()) return {};
  pipeline->start();
  EXPECT_TRUE(Rig::eventually([&] { return pipeline->finished(); }));
  Outcome outcome{{}, pipeline->status()};
  for (const Record& record : theatre.records) outcome.sent.push_back(record.sent);
  EXPECT_EQ(outcome.status.received, outcome.status.published + all_dropped(outcome.status));
  EXPECT_EQ(outcome.status.in_flight, 0u);
  return outcome;
}

void expect_same(const Outcome& one, const Outcome& other, const std::string& what) {
  ASSERT_EQ(one.sent.size(), other.sent.size());
  for (std::size_t r = 0; r < one.sent.size(); ++r) {
    ASSERT_EQ(one.sent[r].size(), other.sent[r].size()) << what;
    for (std::size_t i = 0; i < one.sent[r].size(); ++i) {
      const Sent &a = one.sent[r][i], &b = other.sent[r][i];
      ASSERT_EQ(std::tie(a.seq, a.sample, a.extent, a.gap, a.dropped, a.halo, a.facts),
                std::tie(b.seq, b.sample, b.extent, b.gap, b.dropped, b.halo, b.facts))
          << what << "route " << r << ", message " << i;
      ASSERT_TRUE(a.payload == b.payload) << what << "route " << r << ", message " << i << " at " << a.sample;
    }
  }
  ASSERT_EQ(one.status.tallies.size(), other.status.tallies.size()) << what;
  for (std::size_t t = 0; t < one.status.tallies.size(); ++t)
    ASSERT_EQ(one.status.tallies[t].second, other.status.tallies[t].second) << what << one.status.tallies[t].first.name;
}

/// Stages without a state, then some with one; all are published, so that some ports go both ways.
std::string random_rest(Random& random) {
  std::vector<std::string> stages, ports{"source"};
  const auto count = pick<std::size_t>(random, 1, 6);
  for (std::size_t s = 0; s < count; ++s) {
    const std::string name = fmt::format("s{}", s);
    const std::string from = ports[pick<std::size_t>(random, 0, ports.size() - 1)];
    switch (s == 0 ? pick(random, 0, 2) : pick(random, 0, 6)) {
      case 0:
      case 1:
        stages.push_back(fmt::format("window: {{name: {}, from: {}, past: {}, future: {}}}", name, from,
                                     pick(random, 0, 90), pick(random, 0, 70)));
        break;
      case 2: stages.push_back(fmt::format("gate: {{name: {}, from: {}}}", name, from)); break;
      case 3: stages.push_back(fmt::format("running: {{name: {}, from: {}}}", name, from)); break;
      case 4:
        stages.push_back(fmt::format("sum: {{name: {}, from: {{in0: {}, in1: {}}}}}", name, from,
                                     ports[pick<std::size_t>(random, 0, ports.size() - 1)]));
        break;
      case 5: {
        // Its results are counted items, which no other of these stages takes.
        stages.push_back(fmt::format("pick: {{name: {}, from: {}, divisor: {}}}", name, from, pick(random, 2, 9)));
        ports.push_back(from);
        continue;
      }
      default: stages.push_back(fmt::format("parity: {{name: {}, from: {}}}", name, from)); continue;
    }
    ports.push_back(name + ".out");
  }
  std::string text = "stages: [";
  for (std::size_t s = 0; s < stages.size(); ++s) text += (s ? ", {" : "{") + stages[s] + "}";
  text += "], publish: [";
  int route = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (stages[s].starts_with("parity")) continue;
    text += fmt::format("{}{{port: s{}.{}, topic: t{}, bind: x{}}}", route ? ", " : "", s,
                        stages[s].starts_with("pick") ? "finds" : "out", route, route);
    ++route;
  }
  return text + "]";
}

Script random_script(Random& random) {
  Script script;
  const auto pieces = pick(random, 1, 5);
  for (int i = 0; i < pieces; ++i)
    script.steps.push_back({.samples = pick<std::int64_t>(random, 1, 3000),
                            .lost = pick(random, 0, 2) ? 0 : pick<std::int64_t>(random, 1, 500)});
  return script;
}

TEST(Pool, ResultsAreThoseOfOneHost) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Random random(seed);
    LoopbackTheatre pool(test_catalogue());
    pool.rules.workers = pick(random, 1, 4);
    pool.rules.most = pick(random, 1, 40);
    pool.rules.jitter_us = pick(random, 0, 300);
    pool.rules.is_wrong = [](const SampleBlock& block) { return block.seq % 7 == 3; };
    const std::string rest = random_rest(random);
    const Script script = random_script(random);
    const int block = pick(random, 1, 2) == 1 ? 64 : pick(random, 8, 300);
    const std::string_view source = seed % 3 == 0 ? "tape: {rate: 1 MS/s, channels: 3}" : "tape: {rate: 1 MS/s}";
    const std::string what = fmt::format("seed {}: {}\n", seed, rest);
    const Outcome alone = run(file("cpu", rest, source, block), script);
    expect_same(run(file("pool", rest, source, block), script), alone, what);
    EXPECT_EQ(static_cast<std::uint64_t>(pool.rules.sent), alone.status.blocks) << what;
    expect_same(run(file("cpu, pool", rest, source, block), script), alone, what);
    if (HasFatalFailure()) return;
  }
}

constexpr std::string_view kChain =
    "stages: [{window: {past: 40, future: 9}}, {running: {}}, {window: {name: last, past: 5}}], "
    "publish: [{port: window, topic: a, bind: x}, {port: running, topic: b, bind: y}, {port: source, topic: c, bind: "
    "z}, "
    "{port: last, topic: d, bind: w}]";

TEST(Pool, ALostBlockIsAGapAndRestartsStates) {
  LoopbackTheatre pool(test_catalogue());
  pool.rules.jitter_us = 100;
  pool.rules.loses = [](const SampleBlock& block) {
    return block.seq == 10 || block.seq == 11 ? std::optional(PoolLoss::lost)
           : block.seq == 20                  ? std::optional(PoolLoss::poison)
                                              : std::nullopt;
  };
  const Outcome outcome = run(file("pool", kChain), {{{.samples = 64 * 30}}});
  EXPECT_EQ(dropped(outcome.status, Drop::pool_lost), 128u);
  EXPECT_EQ(dropped(outcome.status, Drop::pool_poison), 64u);
  EXPECT_EQ(outcome.status.published, 64u * 27);
  ASSERT_EQ(outcome.sent[0].size(), 27u);
  EXPECT_EQ(outcome.sent[0][10].gap, 128) << "the message after the lost blocks";
  EXPECT_EQ(outcome.sent[0][10].seq, 10u);
  // What no host was asked for is published.
  EXPECT_EQ(outcome.sent[2].size(), 30u);

  // The window stage has its past from the ring, though the block before was lost; the state begins again.
  pool.rules.loses = {};
  const Outcome whole = run(file("cpu", kChain), {{{.samples = 64 * 30}}});
  EXPECT_TRUE(outcome.sent[0][10].payload == whole.sent[0][12].payload);
  std::uint32_t sum = 0;
  std::vector<Word> sums;
  for (const Word w : outcome.sent[0][10].as<Word>())
    sums.push_back(static_cast<Word>(sum += static_cast<std::uint32_t>(w)));
  EXPECT_EQ(outcome.sent[1][10].as<Word>(), sums);
}

/// Not even what a block before it has counted in the same memory.
TEST(Pool, ALostBlockCountsNothing) {
  LoopbackTheatre pool(test_catalogue());
  pool.rules.loses = [](const SampleBlock& block) {
    return block.seq % 3 == 2 ? std::optional(PoolLoss::lost) : std::nullopt;
  };
  const Outcome outcome = run(file("pool", "stages: [{parity: {}}]"), {{{.samples = 64 * 300}}});
  std::uint64_t counted = 0;
  for (const auto& [number, value] : outcome.status.tallies) counted += value;
  EXPECT_EQ(counted, 64u * 200) << "each word is even or odd";
}

/// A block that other hosts take long for is not a stage that hangs, whatever the lanes of this one do.
TEST(Pool, ABlockThatIsAwayDoesNotHang) {
  Theatre theatre;
  Script script;
  for (int i = 0; i < 64; ++i) script.steps.push_back({.samples = 64});
  script.ends = false;
  theatre.scripts = {script};
  LoopbackTheatre pool(test_catalogue());
  std::atomic<bool> waits{true};
  pool.rules.loses = [&](const SampleBlock& block) {
    while (waits && block.seq == 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::optional<PoolLoss>();
  };
  Problems problems;
  const auto pipeline = pipeline_with_pool(
      file("pool", std::string(kChain) + ", overrun: drop, realtime: {hang: 500 ms}", "tape: {rate: 1 MS/s}"),
      problems);
  ASSERT_TRUE(problems.empty()) << problems.front().text();
  pipeline->start();
  ASSERT_TRUE(Rig::eventually([&] { return pipeline->status().published == 64u * 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(400));  // more than half of `hang`
  EXPECT_EQ(pipeline->stuck(), "");
  waits = false;
  pipeline->stop();
  pipeline->interrupt();
  ASSERT_TRUE(Rig::eventually([&] { return pipeline->finished(); }));
}

/// Without room and without lanes of its own, a source that can wait waits.
TEST(Pool, ASourceWaitsForRoom) {
  Theatre theatre;
  theatre.scripts = {{{{.samples = 64 * 100}}}};
  LoopbackTheatre pool(test_catalogue());
  pool.rules.has_room = false;
  Problems problems;
  const auto pipeline = pipeline_with_pool(file("pool", kChain), problems);
  ASSERT_TRUE(problems.empty()) << problems.front().text();
  pipeline->start();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(pool.rules.sent, 0);
  EXPECT_EQ(pipeline->status().published, 0u);
  pool.rules.has_room = true;
  pool.pool.lock()->wake();
  ASSERT_TRUE(Rig::eventually([&] { return pipeline->finished(); }));
  EXPECT_EQ(pipeline->status().published, 64u * 100);
}

TEST(Pool, AReloadKeepsAllBlocks) {
  Theatre theatre;
  Script script;
  for (int i = 0; i < 20'000; ++i) script.steps.push_back({.samples = 64});
  theatre.scripts = {script};
  LoopbackTheatre pool(test_catalogue());
  pool.rules.jitter_us = 200;
  Problems problems;
  const auto pipeline = pipeline_with_pool(file("cpu, pool", kChain), problems);
  ASSERT_TRUE(problems.empty()) << problems.front().text();
  pipeline->start();
  for (int i = 0; i < 10; ++i) {
    const int block = i % 2 ? 64 : 100;
    const Document document =
        parse_document(file("cpu, pool", kChain, "tape: {rate: 1 MS/s}", block), "x.yaml", problems);
    Spec spec = read_spec(document, pool.catalogue, problems);
    SpecChange what = compare(pipeline->spec(), spec.pipelines[0]);
    EXPECT_FALSE(what.source);
    Pipeline::Change change = pipeline->prepare(std::move(spec.pipelines[0]), what, problems);
    ASSERT_TRUE(problems.empty()) << problems.front().text();
    if (!pipeline->go_over(std::move(change)).is_done()) break;
    ASSERT_TRUE(Rig::eventually([&] {
      pipeline->tidy();
      return !pipeline->has_retired();
    }));
  }
  ASSERT_TRUE(Rig::eventually([&] { return pipeline->finished(); }));
  const PipelineStatus s = pipeline->status();
  EXPECT_EQ(s.published, 64u * 20'000);
  EXPECT_GT(pool.rules.sent, 0);
  EXPECT_GE(pool.rules.orders.size(), 2u);
}

TEST(Pool, AnInterruptSettlesWhatIsOut) {
  Theatre theatre;
  Script script{{{.samples = 64 * 1000}}};
  script.ends = false;
  theatre.scripts = {script};
  LoopbackTheatre pool(test_catalogue());
  pool.rules.workers = 1;
  pool.rules.jitter_us = 20'000;
  Problems problems;
  const auto pipeline = pipeline_with_pool(file("pool", kChain), problems);
  ASSERT_TRUE(problems.empty()) << problems.front().text();
  pipeline->start();
  ASSERT_TRUE(Rig::eventually([&] { return pool.rules.sent > 4; }));
  pipeline->stop();
  pipeline->interrupt();
  ASSERT_TRUE(Rig::eventually([&] { return pipeline->finished(); }));
  const PipelineStatus s = pipeline->status();
  EXPECT_EQ(s.received, s.published + all_dropped(s));
  EXPECT_GT(dropped(s, Drop::stopped), 0u);
}

TEST(Pool, NeedsSomethingToCompute) {
  const auto complaints = [](const std::string& backend, const std::string& rest) {
    Theatre theatre;
    theatre.scripts = {{{{.samples = 64}}}};
    LoopbackTheatre pool(test_catalogue());
    Problems problems;
    pipeline_with_pool(file(backend, rest), problems);
    std::string all;
    for (const Problem& p : problems) all += p.what + "\n";
    return all;
  };
  EXPECT_EQ(complaints("pool", "stages: [{running: {}}], publish: [{port: running, topic: a, bind: x}]"),
            "'pool' has nothing to compute: running has a state that passes from block to block, so it and all behind "
            "it run here\n");
  EXPECT_EQ(complaints("pool", "publish: [{port: source, topic: a, bind: x}]"),
            "'pool' has nothing to compute: there is no stage, so it and all behind it run here\n");
  EXPECT_EQ(complaints("cpu", std::string(kChain) + ", pool: {servers: [a]}"),
            "is not used: add `pool` to `backend`, as in `backend: [cpu, pool]`\n");
}

}  // namespace
}  // namespace iqd::testing
