// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "daemon/ask/monitor_client.hpp"
#include "daemon/ask/status_table.hpp"
#include "daemon/command/commands.hpp"

namespace iqd {
namespace {

using nlohmann::json;

/// Rates are measured over this time.
constexpr auto kBetween = std::chrono::milliseconds(500);

/// Why it is not ready, one reason each; of one pipeline if it is named. Empty: ready.
std::vector<std::string> not_ready(const MonitorClient& client, const std::string& pipeline) {
  const HttpReply answer = client.ask("GET", "/readyz");
  if (answer.status == 200) return {};
  if (answer.status != 503)
    throw SetupError(fmt::format("{} gave the answer {} for /readyz", client.address().text(), answer.status));
  std::vector<std::string> reasons;
  std::istringstream lines(answer.body);
  for (std::string line; std::getline(lines, line);)
    if (pipeline.empty() || line.starts_with(pipeline + ":")) reasons.push_back(line);
  return reasons;
}

void require_pipeline(const json& status, const std::string& name) {
  std::string names;
  for (const json& s : status.at("pipelines")) {
    if (name.empty() || s.at("name") == name) return;
    names += (names.empty() ? "" : ", ") + s.at("name").get<std::string>();
  }
  throw SetupError(fmt::format("there is no pipeline '{}'; there are: {}", name, names));
}

Exit status(const MonitorOptions& o) {
  const MonitorClient client(o);
  const json before = client.call("GET", "/api/status");
  require_pipeline(before, o.pipeline);
  if (o.as_json) {
    fmt::print("{}\n", before.dump(-1, ' ', false, json::error_handler_t::replace));
    return not_ready(client, o.pipeline).empty() ? Exit::ok : Exit::failed;
  }
  std::this_thread::sleep_for(kBetween);
  const json now = client.call("GET", "/api/status");
  const std::vector<std::string> reasons = not_ready(client, o.pipeline);
  fmt::print("{}  running for {}  {}\n", client.address().text(), uptime_text(now.value("uptime_s", 0.0)),
             reasons.empty() ? "ready" : "not ready");
  for (const std::string& reason : reasons) fmt::print("  {}\n", reason);
  fmt::print("{}", status_table(now, before, o.pipeline));
  return reasons.empty() ? Exit::ok : Exit::failed;
}

Exit ready(const MonitorOptions& o) {
  const MonitorClient client(o);
  if (!o.pipeline.empty()) require_pipeline(client.call("GET", "/api/status"), o.pipeline);
  const std::vector<std::string> reasons = not_ready(client, o.pipeline);
  if (o.as_json) {
    fmt::print(
        "{}\n",
        json({{"ready", reasons.empty()}, {"reasons", reasons}}).dump(-1, ' ', false, json::error_handler_t::replace));
  } else {
    if (reasons.empty()) fmt::print("ready\n");
    for (const std::string& reason : reasons) fmt::print("{}\n", reason);
  }
  return reasons.empty() ? Exit::ok : Exit::failed;
}

void add(CommandLine& line, const char* name, const char* help, Exit (*run)(const MonitorOptions&)) {
  auto o = std::make_shared<MonitorOptions>();
  add_monitor_options(
      line.command(name, help, [o, run] { return run(*o); }).option("ADDRESS", &o->address, "as --address: HOST:PORT"),
      *o);
}

}  // namespace

void add_status(CommandLine& line) {
  add(line, "status", "show how a running iqd is doing; exit code 1 unless it is ready", status);
}

void add_ready(CommandLine& line) {
  add(line, "ready", "whether samples flow in a running iqd: exit code 0 or 1, for health checks", ready);
}

}  // namespace iqd
