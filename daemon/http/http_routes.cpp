// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/http_routes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "base/printable.hpp"
#include "daemon/http/http_page.hpp"
#include "daemon/http/keys_view.hpp"
#include "daemon/http/metrics.hpp"
#include "daemon/http/recordings_view.hpp"
#include "daemon/http/status.hpp"
#include "radio/trigger/event.hpp"

namespace iqd {
namespace {

using nlohmann::json;

constexpr std::string_view kText = "text/plain; charset=utf-8";

/// Names come from outside: invalid UTF-8 is replaced.
HttpAnswer json_answer(int status, const char* key, const std::vector<std::string>& lines) {
  return {status, json({{key, lines}}).dump(-1, ' ', false, json::error_handler_t::replace) + "\n"};
}

HttpAnswer health(const std::vector<std::string>& reasons) {
  if (reasons.empty()) return {200, "ok\n", kText};
  std::string lines;
  for (const std::string& reason : reasons) lines += reason + "\n";
  return {503, std::move(lines), kText};
}

/// GET shows `none` as null, so a request may write it like that.
void null_is_none(json& values) {
  for (json& value : values)
    if (value.is_null())
      value = "none";
    else if (value.is_object())
      null_is_none(value);
}

/// A stage that does not exist has a name from outside, which must not begin a line of its own.
void log_refusal(const ChangeReport& report) {
  const std::string text = fmt::format("{}", fmt::join(report.lines, "; "));
  log::warn("http: not set: {}", report.result == ChangeReport::Result::unknown ? printable(text) : text);
}

HttpAnswer set_keys(const HttpCall& call, std::string_view pipeline, std::string_view stage) {
  const json keys = json::parse(call.body, nullptr, false);
  if (!keys.is_object()) {
    log::warn("http: not set: the body is not a JSON object");
    return refusal(400, {"the body is not a JSON object; expected {\"key\": value}"});
  }
  json named = keys;
  null_is_none(named);
  const ChangeReport report =
      call.service.set(pipeline, canonical_part(stage), named == keys ? call.body : named.dump());
  if (report.result == ChangeReport::Result::applied)
    for (const std::string& line : report.lines) log::info("http: {} set {}", call.from, line);
  else
    log_refusal(report);
  return changed_answer(report);
}

/// The outcome is in the log anyway.
HttpAnswer reload(const HttpCall& call) {
  log::info("http: {} asked for a reload", call.from);
  return changed_answer(call.service.reload());
}

HttpAnswer happen(const HttpCall& call) {
  const std::string_view name = call.names[0];
  const std::size_t waiting = radio::trigger::tell(name);
  if (waiting == 0) return refusal(404, {fmt::format("no sink waits for event {}", name)});
  log::info("http: {} triggered {}", call.from, name);
  return json_answer(200, "applied", {fmt::format("{}: {} sink(s)", name, waiting)});
}

HttpAnswer index(const HttpCall& call) {
  if (call.viewers && wants_page(call.headers)) return page_answer("index.html", call.headers);
  std::string text = "iqd\n\n";
  for (const HttpRoute& r : http_routes()) text += fmt::format("{:<6} {:<34} {}\n", r.method, r.path, r.meaning);
  return {200, std::move(text), kText};
}

/// A request for the WebSocket does not come here.
HttpAnswer live_answer(const HttpCall& call) {
  if (!call.viewers) return refusal(404, {"the live page is turned off: monitor: {page: false}"});
  HttpAnswer answer = refusal(426, {"this is a WebSocket of version 13"});
  answer.header = "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
  return answer;
}

constexpr HttpRoute kRoutes[] = {
    {"GET", "/", "the live page for a browser, else this list", index},
    {"GET", "/page/*", "a file of the live page",
     [](const HttpCall& c) {
       return c.viewers ? page_answer(c.names[0], c.headers) : refusal(404, {"the live page is turned off"});
     }},
    {"GET", "/api/live", "what the live page shows, as a WebSocket", live_answer},
    {"GET", "/metrics", "metrics for Prometheus",
     [](const HttpCall& c) {
       return HttpAnswer{200, metrics_text(c.service, c.viewers), "text/plain; version=0.0.4; charset=utf-8"};
     }},
    {"GET", "/healthz", "503 with the reasons if only a restart helps",
     [](const HttpCall& c) { return health(c.service.not_healthy()); }},
    {"GET", "/readyz", "503 with the reasons while no samples flow",
     [](const HttpCall& c) { return health(c.service.not_ready()); }},
    {"GET", "/api/status", "counters, latency and state of each pipeline",
     [](const HttpCall& c) {
       return HttpAnswer{200, status_json(c.service.statuses(), c.service.uptime_s(), false, c.service.work()) + "\n"};
     }},
    {"GET", "/api/pipeline", "the plan of each pipeline, with live rates and queue depths",
     [](const HttpCall& c) {
       return HttpAnswer{200, c.plans.json(c.service) + "\n"};
     }},
    {"POST", "/api/reload", "reloads the file, as SIGHUP does", reload},
    {"POST", "/api/triggers/*", "triggers the recordings that wait for this event", happen},
    {"GET", "/api/recordings", "the recordings in the folder `monitor: recordings`", list_recordings},
    {"POST", "/api/recordings", "starts one; the body is {\"port\": \"source\", \"seconds\": 10}", start_recording},
    {"GET", "/api/recordings/*", "the file of a recording", fetch_recording},
    {"DELETE", "/api/recordings/*", "deletes it", delete_recording},
    {"GET", "/api/stages", "all stages, sources, sinks and other outlets that have keys",
     [](const HttpCall& c) { return parts_answer(c.service, ""); }},
    {"GET", "/api/stages/*", "keys of one as they are set now, with ranges, and who set them",
     [](const HttpCall& c) { return keys_answer(c.service, "", c.names[0]); }},
    {"PATCH", "/api/stages/*", "sets live keys of a stage, or keys of the source; the body is {\"key\": value}",
     [](const HttpCall& c) { return set_keys(c, "", c.names[0]); }},
    {"GET", "/api/pipelines/*/stages", "the same for a file with several pipelines",
     [](const HttpCall& c) { return parts_answer(c.service, c.names[0]); }},
    {"GET", "/api/pipelines/*/stages/*", "the same",
     [](const HttpCall& c) { return keys_answer(c.service, c.names[0], c.names[1]); }},
    {"PATCH", "/api/pipelines/*/stages/*", "the same",
     [](const HttpCall& c) { return set_keys(c, c.names[0], c.names[1]); }},
};

bool matches(std::string_view pattern, std::string_view path, std::vector<std::string_view>& names) {
  names.clear();
  for (;;) {
    const std::size_t p = std::min(pattern.find('/'), pattern.size());
    const std::size_t q = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, q);
    if (pattern.substr(0, p) == "*" && !part.empty())
      names.push_back(part);
    else if (pattern.substr(0, p) != part)
      return false;
    if (p == pattern.size() || q == path.size()) return p == pattern.size() && q == path.size();
    pattern.remove_prefix(p + 1);
    path.remove_prefix(q + 1);
  }
}

}  // namespace

HttpAnswer refusal(int status, const std::vector<std::string>& problems) {
  return json_answer(status, "problems", problems);
}

HttpAnswer changed_answer(const ChangeReport& report) {
  using Result = ChangeReport::Result;
  switch (report.result) {
    case Result::applied: return json_answer(200, "applied", report.lines);
    case Result::refused: return refusal(422, report.lines);
    case Result::unknown: return refusal(404, report.lines);
    case Result::busy: break;
  }
  HttpAnswer busy = refusal(503, report.lines);
  busy.header = "Retry-After: 1\r\n";
  return busy;
}

std::span<const HttpRoute> http_routes() {
  return kRoutes;
}

const HttpRoute* find_route(std::string_view method, std::string_view path, std::vector<std::string_view>& names,
                            HttpAnswer& answer) {
  std::string allow;
  for (const HttpRoute& route : kRoutes) {
    if (!matches(route.path, path, names)) continue;
    if (method == route.method || (method == "HEAD" && !route.changes())) return &route;
    allow += fmt::format("{}{}", allow.empty() ? "" : ", ", route.changes() ? route.method : "GET, HEAD");
  }
  if (allow.empty()) {
    answer = refusal(404, {"not found; / lists all paths"});
  } else {
    answer = refusal(405, {fmt::format("use {}", allow)});
    answer.header = fmt::format("Allow: {}\r\n", allow);
  }
  return nullptr;
}

}  // namespace iqd
