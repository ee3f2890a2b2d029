// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "daemon/command/commands.hpp"
#include "daemon/command/plugins.hpp"
#include "daemon/probe/backends.hpp"
#include "daemon/probe/device_facts.hpp"
#include "daemon/probe/driver_sight.hpp"
#include "daemon/probe/radio_args.hpp"
#include "radio/drivers.hpp"

namespace iqd {
namespace {

using nlohmann::ordered_json;

struct ProbeOptions {
  RadioArgs radio;
  bool as_json = false;
  double patience_s = 90;  // a USRP that loads its firmware first takes half a minute

  std::chrono::milliseconds patience() const { return std::chrono::milliseconds(std::llround(patience_s * 1e3)); }
};

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

/// Device names need not be UTF-8.
void print(const ordered_json& all) {
  fmt::print("{}\n", all.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

void print_json(const std::vector<Sight>& sights, const std::vector<FoundBackend>& backends) {
  ordered_json all = {{"radios", ordered_json::array()}, {"backends", ordered_json::array()}};
  for (const Sight& s : sights) all["radios"].push_back(to_json(s));
  for (const FoundBackend& b : backends) all["backends"].push_back(to_json(b));
  print(all);
}

void print_table(const std::vector<Sight>& sights, const std::vector<FoundBackend>& backends) {
  fmt::print("radios\n\n");
  for (const Sight& s : sights) print(s);
  fmt::print("\nbackends\n\n");
  for (const FoundBackend& b : backends) print(b);
}

/// With a hanging driver, only std::_Exit ends the process.
Exit ended(Exit exit, bool hangs) {
  if (!hangs) return exit;
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(Exit::failed));
}

Exit probe_all(const ProbeOptions& o) {
  std::vector<Sight> sights;
  std::vector<FoundBackend> backends;
  {
    const StdoutGuard guard;
    for (const DriverEntry& driver : all_drivers()) sights.push_back(look(driver, o.patience()));
    backends = find_backends();
  }
  (o.as_json ? print_json : print_table)(sights, backends);
  return ended(Exit::ok, std::ranges::any_of(sights, &Sight::hangs));
}

/// Fails unless the radio is found, so that a script can wait for it.
Exit probe_one(const ProbeOptions& o) {
  const DriverEntry& driver = o.radio.taker();
  Sight sight;
  {
    const StdoutGuard guard;
    sight = look(driver, o.patience(), o.radio.args);
  }
  if (o.as_json)
    print(ordered_json{{"radios", ordered_json::array({to_json(sight)})}});
  else
    print(sight);
  const std::string why = trouble_of(sight);
  if (why.empty()) return Exit::ok;
  fmt::print(stderr, "iqd: {} '{}': {}\niqd: `iqd doctor --driver {} --args '{}'` checks the likely causes\n",
             driver.name, o.radio.args, why, driver.name, o.radio.args);
  return ended(Exit::failed, sight.hangs);
}

}  // namespace

void add_probe(CommandLine& line) {
  auto o = std::make_shared<ProbeOptions>();
  Command c = line.command("probe", "show this machine's radios and backends, or one radio",
                           [o] { return o->radio.given() ? probe_one(*o) : probe_all(*o); });
  o->radio.add_to(c);
  c.option("--patience", &o->patience_s, "seconds to wait for a driver's answer (90)", {.range = {{0.001, 3600}}})
      .option("--json", &o->as_json, "print one JSON object");
}

}  // namespace iqd
