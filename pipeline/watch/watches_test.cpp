// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/watch/watches.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace iqd {
namespace {

/// A source, and a stage behind it with two outputs of real bins; only the second one is in dB.
Plan plan_of(const StageEntry& entry) {
  Plan plan;
  plan.ports.resize(1);
  plan.ports[0].name = "source";
  plan.ports[0].shape.element = Element::u8;
  plan.steps.resize(1);
  plan.steps[0].entry = &entry;
  for (const OutputSpec& output : entry.outputs) {
    PlanPort port;
    port.name = "meter." + std::string(output.name);
    port.maker = 0;
    plan.steps[0].out.push_back(plan.ports.size());
    PlanOutput published;
    published.port = plan.ports.size();
    published.format.port = port.name;
    published.format.element = Element::f32;
    published.format.dims = {{"bin", 16}};
    plan.ports.push_back(port);
    plan.outputs.push_back(published);
  }
  return plan;
}

TEST(Watches, TheStageSaysWhichBinsAreDecibels) {
  for (const std::string_view family : {"measure", "transmit"}) {
    const StageEntry entry{.family = family,
                           .name = "meter",
                           .summary = {},
                           .inputs = {},
                           .outputs = {{.name = "size"}, {.name = "spectrum", .in_db = true}},
                           .make = nullptr,
                           .sample = {}};
    const std::vector<WatchedPort> all = make_watches(plan_of(entry));
    ASSERT_EQ(all.size(), 2u) << family;
    EXPECT_EQ(all[0].outlet->format().port, "meter.size");
    EXPECT_FALSE(all[0].in_db) << family;
    EXPECT_TRUE(all[1].in_db) << family;
  }
}

}  // namespace
}  // namespace iqd
