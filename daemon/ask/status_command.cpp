// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "daemon/ask/monitor_client.hpp"
#include "daemon/ask/status_table.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/terminal/live_area.hpp"

namespace iqd {
namespace {

using nlohmann::json;

/// Rates are measured over this time.
constexpr auto kBetween = std::chrono::milliseconds(500);
/// `--watch` shows the status that often.
constexpr auto kWatch = std::chrono::seconds(1);

struct StatusOptions : MonitorOptions {
  bool watch = false;
};

std::atomic<bool> watch_stop_asked{false};

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

std::string text_of(const json& answer) {
  return answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

/// The table below a line that says whether it is ready, and why not.
std::string status_text(const MonitorClient& client, const json& now, const json& before, const std::string& pipeline,
                        const std::vector<std::string>& reasons) {
  std::string text = fmt::format("{}  running for {}  {}\n", client.address().text(),
                                 uptime_text(now.value("uptime_s", 0.0)), reasons.empty() ? "ready" : "not ready");
  for (const std::string& reason : reasons) text += fmt::format("  {}\n", reason);
  return text + status_table(now, before, pipeline);
}

/// The status since `before`, which becomes the present one. While nothing answers, iqd may be restarting.
std::string next_text(const MonitorClient& client, const StatusOptions& o, json& before) {
  try {
    const json now = client.call("GET", "/api/status");
    if (now.value("uptime_s", 0.0) <= before.value("uptime_s", 0.0)) before = {{"pipelines", json::array()}};
    std::string text =
        o.as_json ? text_of(now) : status_text(client, now, before, o.pipeline, not_ready(client, o.pipeline));
    before = now;
    return text;
  } catch (const SetupError& e) {
    return o.as_json ? text_of({{"problems", {e.what()}}}) : fmt::format("{}\n", e.what());
  }
}

/// Shows the status until a signal comes: in place on a terminal, one below the other elsewhere.
Exit watch(const MonitorClient& client, const StatusOptions& o, json before) {
  struct sigaction act {};
  act.sa_handler = [](int) { watch_stop_asked = true; };
  for (const int s : {SIGINT, SIGTERM}) ::sigaction(s, &act, nullptr);
  std::optional<terminal::LiveArea> area;
  if (!o.as_json && terminal::terminal_on(STDOUT_FILENO).can_redraw) area.emplace(STDOUT_FILENO);
  for (auto wait = kBetween; !watch_stop_asked; wait = kWatch) {
    const auto until = std::chrono::steady_clock::now() + wait;
    while (!watch_stop_asked && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (watch_stop_asked) break;
    const std::string text = next_text(client, o, before);
    if (!area) {
      fmt::print("{}{}", text, o.as_json ? "" : "\n");
      std::fflush(stdout);
      continue;
    }
    std::istringstream all(text);
    std::vector<std::string> lines;
    const auto room = static_cast<std::size_t>(std::max(terminal::size_of(STDOUT_FILENO).rows - 1, 1));
    for (std::string line; lines.size() < room && std::getline(all, line);) lines.push_back(line);
    area->show(std::move(lines));
  }
  return Exit::ok;
}

/// Of a worker: a line for each pool.
std::string work_text(const json& work) {
  std::string text = fmt::format("{}: {} of {} lanes busy\n", work.at("name").get<std::string>(),
                                 work.at("lanes").at("busy").get<int>(), work.at("lanes").at("all").get<int>());
  for (const json& pool : work.at("pools")) {
    const std::string trouble = pool.at("trouble");
    text += fmt::format("  pool {}  {} done, {} refused, {} returned, {} failed{}\n",
                        pool.at("pool").get<std::string>(), pool.at("done").get<std::uint64_t>(),
                        pool.at("refused").get<std::uint64_t>(), pool.at("returned").get<std::uint64_t>(),
                        pool.at("failed").get<std::uint64_t>(), trouble.empty() ? "" : ": " + trouble);
  }
  return text;
}

Exit status(const StatusOptions& o) {
  const MonitorClient client(o);
  const json before = client.call("GET", "/api/status");
  if (before.contains("work")) {
    fmt::print("{}", o.as_json ? text_of(before) : work_text(before.at("work")));
    return not_ready(client, "").empty() ? Exit::ok : Exit::failed;
  }
  require_pipeline(before, o.pipeline);
  if (o.watch) return watch(client, o, before);
  if (o.as_json) {
    fmt::print("{}", text_of(before));
    return not_ready(client, o.pipeline).empty() ? Exit::ok : Exit::failed;
  }
  std::this_thread::sleep_for(kBetween);
  const json now = client.call("GET", "/api/status");
  const std::vector<std::string> reasons = not_ready(client, o.pipeline);
  fmt::print("{}", status_text(client, now, before, o.pipeline, reasons));
  return reasons.empty() ? Exit::ok : Exit::failed;
}

Exit ready(const MonitorOptions& o) {
  const MonitorClient client(o);
  if (!o.pipeline.empty()) require_pipeline(client.call("GET", "/api/status"), o.pipeline);
  const std::vector<std::string> reasons = not_ready(client, o.pipeline);
  if (o.as_json) {
    fmt::print("{}", text_of({{"ready", reasons.empty()}, {"reasons", reasons}}));
  } else {
    if (reasons.empty()) fmt::print("ready\n");
    for (const std::string& reason : reasons) fmt::print("{}\n", reason);
  }
  return reasons.empty() ? Exit::ok : Exit::failed;
}

}  // namespace

void add_status(CommandLine& line) {
  auto o = std::make_shared<StatusOptions>();
  add_monitor_options(line.command("status", "show how a running iqd is doing; exit code 1 unless it is ready",
                                   [o] { return status(*o); })
                          .option("ADDRESS", &o->address, "as --address: HOST:PORT")
                          .option("--watch", &o->watch, "show it each second until Ctrl-C, in place on a terminal"),
                      *o);
}

void add_ready(CommandLine& line) {
  auto o = std::make_shared<MonitorOptions>();
  add_monitor_options(
      line.command("ready", "whether samples flow in a running iqd: exit code 0 or 1, for health checks",
                   [o] { return ready(*o); })
          .option("ADDRESS", &o->address, "as --address: HOST:PORT"),
      *o);
}

}  // namespace iqd
