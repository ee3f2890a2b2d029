// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "daemon/backends.hpp"
#include "daemon/commands.hpp"
#include "daemon/device_facts.hpp"
#include "daemon/driver_sight.hpp"
#include "daemon/plugins.hpp"
#include "radio/drivers.hpp"

namespace iqd {
namespace {

using nlohmann::ordered_json;

/// A USRP that has its firmware to load first takes half a minute.
constexpr std::chrono::seconds kPatience{90};

std::string abilities(const DriverEntry& driver) {
  if (driver.make_source && driver.make_sink) return "source, sink";
  return driver.make_source ? "source" : "sink";
}

ordered_json to_json(const Sight& sight) {
  ordered_json j = {{"driver", sight.driver->name},
                    {"summary", sight.driver->summary},
                    {"source", sight.driver->make_source != nullptr},
                    {"sink", sight.driver->make_sink != nullptr},
                    {"devices", ordered_json::array()}};
  for (const FoundDevice& device : sight.devices) {
    ordered_json facts = ordered_json::object();
    for (const auto& [key, value] : device.facts) facts[key] = value;
    j["devices"].push_back({{"label", device.label}, {"facts", std::move(facts)}});
  }
  if (!sight.error.empty()) j["error"] = sight.error;
  return j;
}

ordered_json to_json(const FoundBackend& backend) {
  ordered_json j = {{"name", backend.name}, {"available", backend.missing.empty()}};
  if (!backend.missing.empty()) {
    j["why"] = backend.missing;
    return j;
  }
  j["device"] = backend.device;
  j["memory_bytes"] = backend.memory.total;
  j["memory_free_bytes"] = backend.memory.free;
  j["details"] = backend.details;
  j["facts"] = ordered_json::object();
  for (const DeviceFact& fact : backend.facts)
    std::visit([&](const auto& value) { j["facts"][fact.key] = value; }, fact.value);
  return j;
}

void print(const Sight& sight) {
  fmt::print("{:<10} {:<14} {}\n", sight.driver->name, abilities(*sight.driver), sight.driver->summary);
  if (!sight.error.empty()) fmt::print("  looking for devices failed: {}\n", sight.error);
  if (sight.driver->probe && sight.devices.empty() && sight.error.empty()) fmt::print("  no device found\n");
  for (const FoundDevice& device : sight.devices) {
    fmt::print("  {}\n", device.label);
    for (const auto& [key, value] : device.facts)
      if (key != "label") fmt::print("    {:<16} {}\n", key, value);
  }
}

void print(const FoundBackend& backend) {
  if (!backend.missing.empty()) {
    fmt::print("{:<10} not available: {}\n", backend.name, backend.missing);
    return;
  }
  fmt::print("{:<10} {}, {:.1f} of {:.1f} GB free\n", backend.name, backend.device,
             static_cast<double>(backend.memory.free) / 1e9, static_cast<double>(backend.memory.total) / 1e9);
  for (const DeviceFact& fact : backend.facts) fmt::print("  {:<36} {}\n", title_of(fact), value_text(fact));
}

void print_json(const std::vector<Sight>& sights, const std::vector<FoundBackend>& backends) {
  ordered_json all = {{"radios", ordered_json::array()}, {"backends", ordered_json::array()}};
  for (const Sight& s : sights) all["radios"].push_back(to_json(s));
  for (const FoundBackend& b : backends) all["backends"].push_back(to_json(b));
  // What devices call themselves need not be UTF-8.
  fmt::print("{}\n", all.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

void print_table(const std::vector<Sight>& sights, const std::vector<FoundBackend>& backends) {
  fmt::print("radios\n\n");
  for (const Sight& s : sights) print(s);
  fmt::print("\nbackends\n\n");
  for (const FoundBackend& b : backends) print(b);
}

Exit probe(bool as_json) {
  std::vector<Sight> sights;
  std::vector<FoundBackend> backends;
  {
    const StdoutGuard guard;
    for (const DriverEntry& driver : all_drivers()) sights.push_back(look(driver, kPatience));
    backends = find_backends();
  }
  (as_json ? print_json : print_table)(sights, backends);
  if (std::ranges::any_of(sights, &Sight::hangs)) {
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(Exit::failed));
  }
  return Exit::ok;
}

}  // namespace

void add_probe(CLI::App& app, Action& action) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("probe", "show the radios and backends that this machine has");
  c->add_flag("--json", *as_json, "as one JSON object");
  c->callback([=, &action] { action = [=] { return probe(*as_json); }; });
}

}  // namespace iqd
