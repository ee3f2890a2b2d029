// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/engine_rig.hpp"

/// Pipelines on fake devices, and the same on the host for comparison.
namespace iqd::testing {

inline constexpr MappedLimits kInPlace{std::size_t{1} << 30, std::size_t{1} << 30};

inline std::vector<std::shared_ptr<FakeDevice>> make_devices(int n) {
  std::vector<std::shared_ptr<FakeDevice>> devices;
  for (int d = 0; d < n; ++d) devices.push_back(std::make_shared<FakeDevice>(d));
  return devices;
}

/// A pipeline whose source has no clock, on this many devices.
inline Rig::Options with(std::vector<StageLine> stages, std::vector<std::string> publish, int devices = 1) {
  Rig::Options o;
  o.info.rate_hz = 0;  // losses are reported
  o.stages = std::move(stages);
  o.publish = std::move(publish);
  o.devices = make_devices(devices);
  return o;
}

/// Runs to the end; no sample is missing in the counts.
inline std::unique_ptr<Rig> run(const Rig::Options& options, const Script& script) {
  auto rig = std::make_unique<Rig>(options, std::deque<Script>{script});
  rig->run();
  rig->expect_conserved();
  return rig;
}

/// The same pipeline without devices, with each stage as its own step.
inline Rig::Options on_host(Rig::Options options) {
  options.devices.clear();
  options.groups.clear();
  options.fuse = false;
  options.time_every = 0;
  options.wait = Wait::block;
  for (StageLine& line : options.stages) line.side.reset();
  return options;
}

/// Messages are bit-identical.
inline void expect_same(const Record& got, const Record& expected) {
  ASSERT_EQ(got.sent.size(), expected.sent.size());
  for (std::size_t i = 0; i < got.sent.size(); ++i) {
    const Sent &a = got.sent[i], &b = expected.sent[i];
    ASSERT_EQ(a.seq, b.seq);
    ASSERT_EQ(a.sample, b.sample) << "message " << i;
    ASSERT_EQ(a.extent, b.extent) << "message " << i;
    ASSERT_EQ(a.gap, b.gap) << "message " << i;
    ASSERT_EQ(a.dropped, b.dropped) << "message " << i;
    ASSERT_EQ(a.halo, b.halo) << "message " << i;
    ASSERT_EQ(a.payload, b.payload) << "message " << i;
    ASSERT_EQ(a.facts, b.facts) << "message " << i;
  }
}

/// Three stages, the middle one on this side and the others on the other.
inline std::vector<StageLine> mixed(Side middle = Side::host) {
  const Side outer = middle == Side::host ? Side::device : Side::host;
  return {{"window", "{past: 15}", "a", {}, outer},
          {"window", "{past: 4, future: 9}", "b", {}, middle},
          {"sum", "{}", "c", {{"in0", "b"}, {"in1", "a"}}, outer}};
}

/// Runs it on the devices and on the host, and compares everything that was sent.
inline std::unique_ptr<Rig> expect_as_on_host(const Rig::Options& options, const Script& script) {
  auto rig = run(options, script);
  const auto host = run(on_host(options), script);
  for (std::size_t r = 0; r < options.publish.size(); ++r) expect_same(rig->records[r], host->records[r]);
  EXPECT_EQ(rig->counters.published.value(), host->counters.published.value());
  EXPECT_EQ(rig->engine->lanes_busy(), 0);
  EXPECT_EQ(rig->engine->slots_free(), rig->engine->slots());
  return rig;
}

/// With losses, close together and far apart.
inline const Script kHoles{{{.samples = 1000},
                            {.samples = 700, .chunk = 37, .lost = 9},
                            {.samples = 33, .lost = 200},
                            {.samples = 2000, .lost = 1}}};

inline std::vector<StageLine> past_and_future() {
  return {{"window", "{past: 15, future: 2}", "a"}, {"window", "{past: 4, future: 9}", "b"}};
}

}  // namespace iqd::testing
