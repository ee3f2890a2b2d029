// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/ask/key_table.hpp"
#include "daemon/ask/key_target.hpp"
#include "daemon/ask/monitor_client.hpp"
#include "daemon/command/commands.hpp"

namespace iqd {
namespace {

using nlohmann::json;

struct SetOptions : MonitorOptions {
  std::vector<std::string> settings;
};

/// The keys of one stage, which are set by one request: all or none.
struct StageRequest {
  std::string pipeline, stage;
  json keys = json::object();
};

std::vector<StageRequest> requests_of(const SetOptions& o) {
  std::vector<StageRequest> all;
  for (const std::string& setting : o.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == setting.npos)
      throw UsageError(fmt::format("'{}' has no value; use STAGE.KEY=VALUE, such as source.gain=30", setting));
    const KeyTarget target = parse_key_target(std::string_view(setting).substr(0, equals), o.pipeline);
    if (target.key.empty())
      throw UsageError(fmt::format("'{}' names no key; use STAGE.KEY=VALUE, such as source.gain=30", setting));
    const auto same = [&](const StageRequest& r) { return r.pipeline == target.pipeline && r.stage == target.stage; };
    auto at = std::ranges::find_if(all, same);
    if (at == all.end()) at = all.insert(all.end(), {target.pipeline, target.stage});
    at->keys[target.key] = parse_key_value(setting.substr(equals + 1));
  }
  return all;
}

/// Unknown names are reported before anything is set.
void check_names(const MonitorClient& client, const std::vector<StageRequest>& requests) {
  for (const StageRequest& r : requests) {
    const json answer = client.call("GET", path_of_stage(r.pipeline, r.stage));
    for (const auto& [key, value] : r.keys.items()) require_key(answer.at("keys"), r.stage, key);
  }
}

Exit set(const SetOptions& o) {
  const std::vector<StageRequest> requests = requests_of(o);
  const MonitorClient client(o);
  check_names(client, requests);
  json applied = json::array(), now = json::object();
  for (const StageRequest& r : requests) {
    const std::string path = path_of_stage(r.pipeline, r.stage);
    const json answer = client.call("PATCH", path, r.keys.dump(-1, ' ', false, json::error_handler_t::replace));
    for (const json& line : answer.at("applied")) {
      applied.push_back(line);
      if (!o.as_json) fmt::print("{}\n", line.get<std::string>());
    }
    const json after = client.call("GET", path);
    for (const auto& [key, value] : r.keys.items()) {
      if (!after.at("keys").contains(key)) continue;
      const json& one = now[fmt::format("{}.{}", r.stage, key)] = after["keys"][key];
      if (!o.as_json) fmt::print("{}.{}: {}\n", r.stage, key, set_text(one));
    }
  }
  if (o.as_json) fmt::print("{}\n", json({{"applied", applied}, {"keys", now}}).dump());
  return Exit::ok;
}

}  // namespace

void add_set(CommandLine& line) {
  auto o = std::make_shared<SetOptions>();
  add_monitor_options(
      line.command("set", "set live keys of a running iqd, or keys of its source", [o] { return set(*o); })
          .option("SETTING", &o->settings, "STAGE.KEY=VALUE…, values as in the file: source.gain=30, fir.taps=[1, 2]",
                  {.required = true, .words = std::pair{1, 1000}}),
      *o);
}

}  // namespace iqd
