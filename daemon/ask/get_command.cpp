// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/ask/key_table.hpp"
#include "daemon/ask/key_target.hpp"
#include "daemon/ask/monitor_client.hpp"
#include "daemon/command/commands.hpp"

namespace iqd {
namespace {

using nlohmann::json;

struct GetOptions : MonitorOptions {
  std::string what;
};

void print_json(const json& answer) {
  fmt::print("{}\n", answer.dump(-1, ' ', false, json::error_handler_t::replace));
}

/// All keys of all stages.
void get_all(const MonitorClient& client, const GetOptions& o) {
  json all = json::array();
  const json answer = client.call("GET", path_of_stage(o.pipeline, ""));
  for (const json& stage : answer.at("stages"))
    all.push_back(client.call(
        "GET", path_of_stage(stage.at("pipeline").get<std::string>(), stage.at("name").get<std::string>())));
  if (o.as_json) return print_json({{"stages", all}});
  for (const json& stage : all) {
    const auto word = [&](const char* key) { return stage.at(key).get<std::string>(); };
    const std::string type = word("type").empty() || word("type") == word("name") ? "" : " (" + word("type") + ")";
    fmt::print("{}{}/{}{}\n{}", &stage == &all.front() ? "" : "\n", word("pipeline"), word("name"), type,
               key_table(stage.at("keys")));
  }
}

Exit get(const GetOptions& o) {
  const MonitorClient client(o);
  if (o.what.empty()) return get_all(client, o), Exit::ok;
  const KeyTarget target = parse_key_target(o.what, o.pipeline);
  const json answer = client.call("GET", path_of_stage(target.pipeline, target.stage));
  const json& keys = answer.at("keys");
  if (!target.key.empty()) require_key(keys, target.stage, target.key);
  if (o.as_json)
    print_json(keys.contains(target.key) ? keys[target.key] : answer);
  else
    fmt::print("{}", key_table(keys, target.key));
  return Exit::ok;
}

}  // namespace

void add_get(CommandLine& line) {
  auto o = std::make_shared<GetOptions>();
  add_monitor_options(line.command("get", "show what the keys of a running iqd are set to", [o] { return get(*o); })
                          .option("STAGE[.KEY]", &o->what, "source, a stage, publish.0, sinks.0; default: all"),
                      *o);
}

}  // namespace iqd
