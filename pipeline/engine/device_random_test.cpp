// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Random pipelines on fake devices: they publish the same bits as the host alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/device_rig.hpp"

namespace iqd::testing {
namespace {

struct Graph {
  std::vector<StageLine> lines;
  std::vector<std::string> publish;
  std::int64_t granule = 1;
  bool sequential = false;
};

StageLine random_window(Random& random, Rate& rate, std::int64_t& granule) {
  const bool whole = pick(random, 0, 2) == 0;
  const int taken = pick(random, 0, 1) ? pick(random, 1, 5) : 1;
  const int yield = pick(random, 0, 2) ? 1 : whole ? taken : pick(random, 1, 3);
  if (whole) granule = std::max(granule, ceil_div(taken * rate.den, rate.num));
  rate = rate.times(yield, taken);
  return {"window", fmt::format("{{past: {}, future: {}, granule: {}, yield: {}, whole: {}}}", pick(random, 0, 30),
                                pick(random, 0, 1) * pick(random, 0, 20), taken, yield, whole)};
}

/// Stages run on the host or on one of so many groups of devices.
Graph random_graph(Random& random, int groups) {
  Graph g;
  std::vector<std::pair<std::string, Rate>> ports{{"source", {}}};
  const auto any = [&] { return ports[static_cast<std::size_t>(pick(random, 0, static_cast<int>(ports.size()) - 1))]; };
  const auto any_side = [&] {
    return pick(random, 0, 2 * groups) > groups ? std::optional<Side>{}
                                                : std::optional(static_cast<Side>(pick(random, 0, groups)));
  };
  for (int s = 0, n = pick(random, 1, 8); s < n; ++s) {
    auto [from, rate] = pick(random, 0, 1) ? ports.back() : any();
    const std::string name = fmt::format("s{}", s);
    const int kind = pick(random, 0, 13);
    StageLine line;
    if (kind == 0) {
      line = {"running"};
      g.sequential = true;
    } else if (kind == 1) {
      line = {"pick", fmt::format("{{divisor: {}, most: 50}}", pick(random, 2, 9))};
    } else if (kind == 2) {
      line = {"total"};
    } else if (kind > 9) {
      line = {"scale", fmt::format("{{by: {}, along: {}}}", pick(random, 0, 9), pick(random, 0, 1))};
    } else {
      line = random_window(random, rate, g.granule);
    }
    line.name = name;
    line.from = {{"", from}};
    line.side = any_side();
    g.lines.push_back(line);
    if (kind == 1 || kind == 2) {
      g.publish.push_back(kind == 1 ? name + ".finds" : name);
      continue;
    }
    if (const auto [other, its] = any(); its.num == rate.num && its.den == rate.den && pick(random, 0, 1)) {
      g.lines.push_back(
          {pick(random, 0, 1) ? "sum" : "mix", "{}", name + "x", {{"in0", name + ".out"}, {"in1", other}}, any_side()});
      ports.emplace_back(name + "x.out", rate);
    }
    ports.emplace_back(name + ".out", rate);
    if (pick(random, 0, 3) == 0) g.publish.push_back(any().first);
  }
  g.publish.push_back(ports.back().first);
  return g;
}

void run_random_graph(std::uint32_t seed, int groups) {
  Random random(seed);
  const Graph g = random_graph(random, groups);
  const int devices = groups > 1 ? 3 : g.sequential ? 1 : pick(random, 1, 2);
  Rig::Options o = with(g.lines, g.publish, devices);
  if (groups > 1) {
    o.groups = {{"a", {0}}, {"b", {1}}, {"c", {2}}};
    if (!g.sequential) o.groups[2].devices = {1, 2};
    for (const auto& device : o.devices) device->has_peers = seed % 2 == 0;
  }
  o.info.channels = pick(random, 1, 2);
  o.block = std::max<std::int64_t>(g.granule, pick(random, 0, 1) ? pick(random, 1, 200) : 16 * pick(random, 1, 12));
  o.lanes = pick(random, 1, 4);
  o.slots = pick(random, 1, 8);
  o.limits = {static_cast<std::size_t>(pick(random, 0, 1) * pick(random, 0, 1500)),
              static_cast<std::size_t>(pick(random, 0, 1) * pick(random, 0, 1500))};
  Script script;
  for (int i = 0, n = pick(random, 1, 3); i < n; ++i)
    script.steps.push_back({.samples = pick(random, 1, 1500),
                            .chunk = pick(random, 0, 1) * pick(random, 1, 100),
                            .lost = i == 0 ? 0 : pick(random, 1, 200)});
  std::string text;
  for (const StageLine& l : o.stages)
    text += fmt::format("{}: {} {} of {} on {}\n", l.name, l.stage, l.keys, l.from.begin()->second,
                        l.side ? static_cast<int>(*l.side) : -1);
  SCOPED_TRACE(fmt::format("seed {}, blocks of {}, {} lanes, {} slots, limits {} {}\n{}", seed, o.block, o.lanes,
                           o.slots, o.limits.in, o.limits.out, text));
  expect_as_on_host(o, script);
}

TEST(DeviceEngine, RandomPipelinesGiveWhatTheHostGives) {
  for (std::uint32_t seed = 1; seed <= 300 && !HasFatalFailure() && !HasNonfatalFailure(); ++seed)
    run_random_graph(seed, 1);
}

TEST(DeviceEngine, RandomPipelinesOnSeveralDevicesGiveWhatTheHostGives) {
  for (std::uint32_t seed = 1; seed <= 300 && !HasFatalFailure() && !HasNonfatalFailure(); ++seed)
    run_random_graph(seed, 3);
}

}  // namespace
}  // namespace iqd::testing
