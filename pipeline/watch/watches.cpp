// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/watch/watches.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "pipeline/plan/plan_layout.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/watch/bin_watch.hpp"
#include "pipeline/watch/item_watch.hpp"
#include "pipeline/watch/point_watch.hpp"
#include "pipeline/watch/sample_watch.hpp"

namespace iqd {
namespace {

/// Slightly more than the 30 blocks a second that are usual, so that none is left out now and then.
constexpr double kRowsPerSecond = 31;
constexpr double kSymbolsPerSecond = 5;
constexpr double kValuesPerSecond = 2;
constexpr double kItemsPerSecond = 5;

std::shared_ptr<WatchOutlet> outlet_for(const PortFormat& format) {
  const std::optional<Watchable> how = watchable(format);
  if (!how) return nullptr;
  switch (how->kind) {
    case WatchKind::samples: return std::make_shared<SampleWatch>(format, how->picked, kRowsPerSecond);
    case WatchKind::bins: return std::make_shared<BinWatch>(format, how->picked, kRowsPerSecond);
    case WatchKind::symbols: return std::make_shared<PointWatch>(format, *how, kSymbolsPerSecond);
    case WatchKind::values: return std::make_shared<PointWatch>(format, *how, kValuesPerSecond);
    case WatchKind::items: break;
  }
  return nullptr;
}

/// What the stage says about the port.
bool is_in_db(const Plan& plan, const std::string& port) {
  const auto at = std::ranges::find(plan.ports, port, &PlanPort::name);
  if (at == plan.ports.end() || at->is_source()) return false;
  const PlanStep& step = plan.steps[at->maker];
  const auto out = std::ranges::find(step.out, static_cast<PortIndex>(at - plan.ports.begin()));
  const auto index = static_cast<std::size_t>(out - step.out.begin());
  return index < step.entry->outputs.size() && step.entry->outputs[index].in_db;
}

double row_s(const Plan& plan) {
  const double rate = plan.ports.front().shape.source_rate_hz;
  return std::max(1 / kRowsPerSecond, rate > 0 ? static_cast<double>(plan.block) / rate : 0);
}

std::vector<std::string> kept_facts(const Plan& plan, const PlanOutput& output) {
  std::vector<std::string> keys;
  for (const PlanOutput::Fact& fact : output.facts)
    if (fact.key != "start" && !traits(plan.ports[fact.port].shape.element).complex) keys.push_back(fact.key);
  return keys;
}

}  // namespace

std::vector<WatchedPort> make_watches(const Plan& plan) {
  std::vector<WatchedPort> all;
  const double distance = row_s(plan);
  const PortFormat source = format_of(plan, plan.ports.front());
  if (auto outlet = outlet_for(source)) all.push_back({std::move(outlet), kNoOutput, distance, false});
  std::set<std::string> items;
  for (OutputIndex o = 0; o < plan.outputs.size(); ++o) {
    const PortFormat& format = plan.outputs[o].format;
    if (format.port == source.port) continue;
    if (auto outlet = outlet_for(format)) all.push_back({std::move(outlet), o, distance, is_in_db(plan, format.port)});
    if (!has_items(format)) continue;
    std::vector<std::string> facts = kept_facts(plan, plan.outputs[o]);
    if (facts.empty() || !items.insert(format.dims[static_cast<std::size_t>(format.varying)].name).second) continue;
    all.push_back({std::make_shared<ItemWatch>(format, std::move(facts), kItemsPerSecond), o, distance, false});
  }
  return all;
}

std::size_t watch_bytes(const Plan& plan) {
  std::size_t bytes = 0;
  for (const WatchedPort& port : make_watches(plan)) bytes += port.outlet->bytes();
  return bytes;
}

}  // namespace iqd
