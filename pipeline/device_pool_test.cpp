// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A host with devices beside a pool: wherever a block is computed, the results are those of the host alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pipeline/spec/work_order.hpp"
#include "tests/support/device_rig.hpp"
#include "tests/support/loopback_pool.hpp"
#include "tests/support/test_catalogue.hpp"

namespace iqd::testing {
namespace {

/// The order for a plan of these stages.
WorkOrder order_for(const Rig::Options& options, const Plan& plan) {
  std::string stages;
  for (const StageLine& line : options.stages) {
    std::string keys = line.keys.substr(1, line.keys.rfind('}') - 1);
    if (!line.name.empty()) keys += fmt::format("{}name: {}", keys.empty() ? "" : ", ", line.name);
    std::string from;
    for (const auto& [input, port] : line.from) from += fmt::format("{}{}: {}", from.empty() ? "" : ", ", input, port);
    if (!from.empty()) keys += fmt::format("{}from: {{{}}}", keys.empty() ? "" : ", ", from);
    stages += fmt::format("{}{{{}: {{{}}}}}", stages.empty() ? "" : ", ", line.stage, keys);
  }
  Problems problems;
  const Document document = parse_document(
      fmt::format("{{name: test, source: {{tape: {{}}}}, block: {}, stages: [{}]}}", options.block, stages), "x.yaml",
      problems);
  const Spec spec = read_spec(document, test_catalogue(), problems);
  EXPECT_TRUE(problems.empty()) << problems.front().text();
  return make_order(spec.pipelines.at(0), options.info, plan);
}

class DevicePool : public ::testing::Test {
 protected:
  /// Runs on devices and in the pool, and on the host.
  void compare(Rig::Options options, const Script& script) {
    const Rig::Options alone = on_host(options);
    rules.sent = 0;
    options.slots = 24;
    options.ring = 64 * 64;
    options.pool = std::make_shared<LoopbackPool>(rules, test_catalogue());
    options.order = [options](const Plan& plan) { return order_for(options, plan); };
    const auto both = run(options, script);
    const auto host = run(alone, script);
    for (std::size_t r = 0; r < both->records.size(); ++r) expect_same(both->records[r], host->records[r]);
    EXPECT_GT(rules.sent, 0);
    EXPECT_LT(rules.sent, static_cast<int>(both->counters.blocks.value())) << "a device computes some";
  }

  LoopbackRules rules;
};

const Script kScript{{{.samples = 64 * 300}, {.samples = 5'000, .lost = 9}, {.samples = 777, .lost = 1}}};

TEST_F(DevicePool, ResultsOfAChainWithoutAState) {
  rules.jitter_us = 200;
  compare(with({{"window", "{past: 40, future: 9}"}, {"window", "{past: 5}", "last"}}, {"window", "last"}), kScript);
}

/// What a device and a reader beyond the block both read comes back once, with all that is needed.
TEST_F(DevicePool, ResultsOfAChainWithAStateOnTheHost) {
  rules.jitter_us = 200;
  auto options = with({{"window", "{past: 40, future: 9}"}, {"running"}, {"window", "{past: 7}", "last"}},
                      {"window", "running", "last"});
  options.stages[1].side = options.stages[2].side = Side::host;
  compare(options, kScript);
}

TEST_F(DevicePool, CountedItemsAndTheirFacts) {
  rules.jitter_us = 100;
  compare(with({{"pick", "{divisor: 3, most: 100}"}}, {"pick.finds"}, 2), kScript);
}

TEST_F(DevicePool, TheSourceItself) {
  rules.jitter_us = 100;
  compare(with({{"window", "{past: 40}"}}, {"window", "source"}), kScript);
}

TEST_F(DevicePool, SeveralChannelsAndDevices) {
  rules.workers = 3;
  rules.jitter_us = 300;
  auto options = with({{"window", "{past: 40, future: 9}"}, {"window", "{past: 5}", "last"}}, {"window", "last"}, 2);
  options.info.channels = 3;
  options.lanes = 4;
  options.limits = kInPlace;
  compare(options, kScript);
}

/// Workers with a device: of a plan that is partly on the host, its results come from both.
TEST_F(DevicePool, WorkersHaveDevices) {
  rules.jitter_us = 100;
  const auto devices = std::make_shared<std::atomic<int>>(0);
  rules.backends = [devices](PipelineSpec& spec) {
    spec.backend = {"cuda:0"};
    ChosenBackends chosen;
    chosen.backends.host = make_cpu_backend();
    chosen.backends.devices.push_back(std::make_shared<FakeDevice>(++*devices));
    chosen.names = "fake";
    return chosen;
  };
  const StageLine device{"window", "{past: 40, future: 9}"};
  const StageLine host{"failing", "{}", "host", {}, Side::host};
  const StageLine last{"window", "{past: 5}", "last", {{"in", "host.out"}}};
  compare(with({device, {"window", "{past: 5}", "last"}}, {"window", "last"}), kScript);
  compare(with({device, host, last}, {"window", "host.out", "last"}), kScript);
  compare(with({host, last}, {"host.out", "last"}), kScript);
  EXPECT_EQ(*devices % 2, 0) << "two workers for each of these";
}

}  // namespace
}  // namespace iqd::testing
