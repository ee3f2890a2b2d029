// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/reader.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "pipeline/intake/intake.hpp"
#include "pipeline/plan/planner.hpp"
#include "tests/support/recording_outlet.hpp"
#include "tests/support/scripted_source.hpp"
#include "tests/support/word_stages.hpp"

namespace iqd::testing {

/// A stage as in a file.
struct StageLine {
  std::string stage;
  std::string keys = "{}";
  std::string name{};  // empty: the stage's own
  Connections from{};
  std::optional<Side> side{};  // empty: the plan's
};

inline PortShape word_source(std::int64_t channels = 1, double rate_hz = 1e6) {
  PortShape s;
  s.element = Element::i32;
  if (channels > 1) s.rows = {{"channel", channels}};
  s.rate_hz = s.source_rate_hz = rate_hz;
  return s;
}

using Random = std::mt19937;
/// A random number of low … high.
template <class T = int> T pick(Random& random, std::type_identity_t<T> low, std::type_identity_t<T> high) {
  return std::uniform_int_distribution<T>(low, high)(random);
}

/// Devices 0 … n - 1, which take turns.
inline std::vector<DeviceGroup> one_group(std::size_t devices) {
  DeviceGroup group;
  group.devices.resize(devices);
  std::iota(group.devices.begin(), group.devices.end(), std::size_t{0});
  return {group};
}

/// Of a plan's steps.
inline std::vector<std::string> names_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlanStep& s : plan.steps) names.push_back(s.name);
  return names;
}

/// A planner with stages and outputs in it; problems are kept.
struct PlanRig {
  explicit PlanRig(std::int64_t block, PortShape source = word_source(), PlanTarget target = {})
      : planner("test", block, word_stages(), std::move(target)) {
    planner.add_source("source", std::move(source));
  }
  bool add(const StageLine& line) {
    const StageEntry* entry = find_stage(line.stage, word_stages());
    const Document document = parse_document(line.keys, "test.yaml", problems);
    std::unique_ptr<Stage> stage = entry->make();
    read_fields(
        document.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
    return planner.add_stage(*entry, line.name.empty() ? line.stage : line.name, std::move(stage), line.from, section,
                             line.side);
  }
  OutputIndex publish(std::string_view port, std::string_view dtype = {}) {
    return planner.publish(port, section, "port", dtype);
  }
  /// All problems, one line each, without places.
  std::string complaints() const {
    std::string text;
    for (const Problem& p : problems) text += p.what + "\n";
    return text;
  }

  Problems problems;
  Section section{"", {}, problems};
  Planner planner;
};

/// Source, engine and outlets, put together like a pipeline's.
class Rig {
 public:
  static IntakeOptions patient() {
    IntakeOptions o;
    o.name = "test";
    o.overrun = Overrun::wait;
    o.backoff_ns = 1'000'000;
    return o;
  }
  struct Options {
    StreamInfo info{.element = Element::i32, .channels = 1, .rate_hz = 1e6, .can_wait = true};
    std::int64_t block = 64;
    int lanes = 2;
    int slots = 8;
    std::int64_t ring = 0;  // 0: the minimum
    IntakeOptions intake = patient();
    std::vector<StageLine> stages;
    std::vector<std::string> publish{"source"};
    bool send_empty = false;
    std::vector<std::shared_ptr<FakeDevice>> devices{};      // none: all runs on the host
    std::vector<std::shared_ptr<const DevicePart>> parts{};  // of each device
    std::vector<DeviceGroup> groups{};                       // none: all devices are one group
    int urgency = 0;
    MappedLimits limits{};
    std::size_t ring_saves = 1;  // see PlanTarget
    bool is_on_host = false;     // stages without a side run on the host, though there are devices
    int time_every = 0;
    Wait wait = Wait::block;
    bool fuse = true;
    std::shared_ptr<Pool> pool{};  // of hosts that compute `order`
    std::function<WorkOrder(const Plan&)> order{};
  };

  Rig(Options options, std::deque<Script> scripts)
      : source_options_(options.info, std::move(scripts), view), records(options.publish.size()) {
    bool peers = true;
    for (const auto& device : options.devices)
      for (const auto& other : options.devices) peers = (device == other || device->reaches(*other)) && peers;
    const Side side = options.devices.empty() || options.is_on_host ? Side::host : Side::device;
    PlanRig rig(options.block, word_source(options.info.channels, options.info.rate_hz),
                {.side = side,
                 .mapped = options.limits,
                 .fuse = options.fuse,
                 .groups = options.groups.empty() ? one_group(std::max<std::size_t>(1, options.devices.size()))
                                                  : options.groups,
                 .peers = peers,
                 .pool = options.pool != nullptr,
                 .ring_saves = options.ring_saves});
    for (const StageLine& line : options.stages) EXPECT_TRUE(rig.add(line)) << rig.complaints();
    std::vector<std::unique_ptr<Route>> routes;
    for (std::size_t i = 0; i < options.publish.size(); ++i) {
      routes.push_back(std::make_unique<Route>());
      routes.back()->output = rig.publish(options.publish[i]);
      routes.back()->outlet = std::make_unique<RecordingOutlet>(records[i]);
      routes.back()->send_empty = options.send_empty;
    }
    Plan plan = rig.planner.finish(rig.section);
    EXPECT_TRUE(rig.problems.empty()) << rig.complaints();
    EngineBackends backends{make_cpu_backend(), {options.devices.begin(), options.devices.end()}, options.parts};
    plan.prepare(*backends.host, backends.devices);
    backends.pool = options.pool;
    if (options.pool) plan.order = std::make_shared<WorkOrder>(options.order(plan));
    const std::int64_t future = plan.window().future * (options.info.can_wait ? 1 : 2);
    const std::int64_t least = plan.window().past + future + options.block * (options.lanes + 2);
    EngineOptions sizes{options.lanes, options.slots, std::max(options.ring, least)};
    sizes.time_every = options.time_every;
    sizes.urgency = options.urgency;
    sizes.wait = options.wait;
    engine = std::make_unique<Engine>(std::move(plan), std::move(backends), sizes, std::move(routes), counters);
    intake = std::make_unique<Intake>(source_options_, source_options_.open(), *engine, options.intake, counters);
  }
  ~Rig() {
    view.released = true;
    view.bell.ring();
    GateStage::door().jitter_us = 0;
    GateStage::door().set(true);
  }

  void start() { intake->start(); }
  /// Runs to the end of the script and through the engine.
  void run() {
    start();
    engine->join();
  }
  template <class Ready> static bool eventually(Ready&& ready, int most_ms = 60'000) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(most_ms);
    while (!ready()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  std::uint64_t drops(Drop reason) { return counters.drops(reason).value(); }
  /// After the end: every received sample is accounted for, and the source gave as many as were counted.
  void expect_conserved() {
    EXPECT_EQ(counters.received.value(), counters.published_for_good() + counters.all_dropped());
    EXPECT_EQ(static_cast<std::int64_t>(counters.received.value() + counters.lost.value()), view.next.load());
  }
  /// The messages of the port `source` are complete: each starts where the previous one ended, plus its gap, and
  /// holds the source's samples of that position.
  void expect_continuous(std::size_t record = 0, std::size_t channels = 1) {
    std::int64_t expected = 0, missing = 0;
    for (const Sent& s : records[record].sent) {
      ASSERT_EQ(s.sample, expected + s.gap) << "message " << s.seq;
      missing += s.gap;
      EXPECT_EQ(s.dropped, missing) << "message " << s.seq;
      const auto words = s.as<Word>();
      ASSERT_EQ(words.size(), static_cast<std::size_t>(s.extent) * channels);
      for (std::size_t i = 0; i < words.size(); ++i) {
        const auto n = static_cast<std::int64_t>(i) % s.extent;
        ASSERT_EQ(words[i], sample_word(s.sample + n, i / static_cast<std::size_t>(s.extent)))
            << "message " << s.seq << " at " << i;
      }
      expected = s.sample + s.extent;
    }
  }

  SourceView view;
  Counters counters;

 private:
  ScriptedOptions source_options_;

 public:
  std::deque<Record> records;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Intake> intake;  // ends before the engine does
};

}  // namespace iqd::testing
