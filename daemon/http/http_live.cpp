// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/http_live.hpp"

#include <civetweb.h>
#include <strings.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string>

#include "base/clock.hpp"
#include "daemon/http/status.hpp"

namespace iqd {
namespace {

/// The largest query: 256 traces.
constexpr std::size_t kLongestQuery = 4096;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

live::LiveFacts facts_of(const Service& service, const Spec& spec, const HttpAccess& access) {
  live::LiveFacts facts;
  facts.version = IQD_VERSION;
  facts.host = host_name();
  facts.started_s = static_cast<double>(wall_ns()) / 1e9 - service.uptime_s();
  switch (access.changes()) {
    case HttpAccess::Changes::free: facts.changes = "yes"; break;
    case HttpAccess::Changes::with_token: facts.changes = "token"; break;
    case HttpAccess::Changes::never: facts.changes = "no"; facts.why_not = kNoToken;
  }
  facts.recordings = !spec.recordings.empty() && access.changes() != HttpAccess::Changes::never;
  facts.grafana = spec.grafana;
  return facts;
}

bool contains_word(const char* header, const char* word) {
  return header && ::strcasestr(header, word);
}

/// False: the viewer has left, or takes nothing.
bool write_frame(mg_connection* connection, int opcode, std::string_view bytes) {
  return mg_websocket_write(connection, opcode, bytes.data(), bytes.size()) == static_cast<int>(bytes.size());
}

void say_goodbye(mg_connection* connection, std::uint16_t code, std::string_view why) {
  std::string reason{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
  reason += why;
  write_frame(connection, MG_WEBSOCKET_OPCODE_CONNECTION_CLOSE, reason);
}

/// One `name=value` of a query; false if it is wrong.
bool add_asked(std::string_view pair, live::TraceSet& traces) {
  constexpr std::string_view kName = "trace=";
  if (!pair.starts_with(kName)) return true;
  pair.remove_prefix(kName.size());
  if (pair == "none") return true;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(pair.data(), pair.data() + pair.size(), number);
  if (error != std::errc() || end != pair.data() + pair.size() || number >= traces.size()) return false;
  traces.set(number);
  return true;
}

}  // namespace

HttpLive::HttpLive(const Service& service, const Spec& spec, const HttpAccess& access)
    : subject_(service, spec.peers), thread_(hub_, subject_, facts_of(service, spec, access)) {}

live::LiveSubject::Look HttpLive::Subject::look() const {
  const std::vector<PipelineStatus> statuses = service_.statuses();
  Look look;
  look.status = status_json(statuses, service_.uptime_s(), false);
  for (const PipelineStatus& s : statuses) look.latencies.emplace_back(s.name, s.latency);
  return look;
}

void HttpLive::close() {
  hub_.close();
  subject_.close();
}

/// As the server decides it, which serves everything else as a file.
bool HttpLive::is_upgrade(mg_connection* connection) {
  const char* const version = mg_get_header(connection, "Sec-WebSocket-Version");
  return contains_word(mg_get_header(connection, "Connection"), "upgrade") &&
         contains_word(mg_get_header(connection, "Upgrade"), "websocket") &&
         mg_get_header(connection, "Sec-WebSocket-Key") && version && std::string_view(version) == "13";
}

void HttpLive::show(mg_connection* connection) {
  const char* const query = mg_get_request_info(connection)->query_string;
  live::LiveHub::Viewer viewer(hub_, asked_traces(query ? query : "").value_or(live::TraceSet()));
  if (!viewer.is_in()) return say_goodbye(connection, 1013, "24 viewers are looking already");
  std::vector<live::LiveHub::Shared> messages;
  while (viewer.next(messages)) {
    // A client that has left without a word does not take a ping either.
    if (messages.empty() && mg_websocket_write(connection, MG_WEBSOCKET_OPCODE_PING, nullptr, 0) < 0) return;
    for (const live::LiveHub::Shared& m : messages)
      if (!write_frame(connection, m->is_text ? MG_WEBSOCKET_OPCODE_TEXT : MG_WEBSOCKET_OPCODE_BINARY, m->bytes))
        return;
  }
  say_goodbye(connection, 1001, "");
}

std::optional<live::TraceSet> asked_traces(std::string_view query) {
  if (query.size() > kLongestQuery) return std::nullopt;
  live::TraceSet traces;
  if (query.find("trace=") == query.npos) traces.set(0);
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    if (!add_asked(query.substr(0, end), traces)) return std::nullopt;
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return traces;
}

}  // namespace iqd
