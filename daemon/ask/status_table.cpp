// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/ask/status_table.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "config/columns.hpp"
#include "config/quantity.hpp"

namespace iqd {
namespace {

using nlohmann::json;
using Rows = std::vector<std::vector<std::string>>;

std::string word(const json& from, const char* key) {
  return from.value(key, "");
}
std::uint64_t count(const json& from, const char* key) {
  return from.value(key, std::uint64_t{0});
}
/// A number that may be null: none.
std::string level(const json& from, const char* key, const char* unit) {
  const json& value = from.at(key);
  return value.is_number() ? fmt::format("{:.1f}{}", value.get<double>(), unit) : "–";
}

void append(std::string& list, const std::string& item, const char* between = ", ") {
  list += (list.empty() ? "" : between) + item;
}
/// `12 overflows`, unless there is none.
void append_count(std::string& list, std::uint64_t n, const std::string& of) {
  if (n > 0) append(list, fmt::format("{} {}", n, of));
}

std::string rate_with_share(const json& now, const json* before, double seconds) {
  const double nominal = now.value("sample_rate", 0.0);
  if (!before || seconds <= 0 || count(now, "received") < count(*before, "received"))
    return "unknown of " + quantity_text(nominal, Unit::rate);
  const double rate = static_cast<double>(count(now, "received") - count(*before, "received")) / seconds;
  const std::string share = nominal > 0 ? fmt::format(" ({:.1f} %)", 100 * rate / nominal) : "";
  return fmt::format("{} of {}{}", rate_text(rate), quantity_text(nominal, Unit::rate), share);
}

std::string losses_text(const json& s) {
  std::string text;
  append_count(text, count(s, "lost"), "samples lost by the radio");
  for (const auto& [reason, n] : s.at("dropped").items())
    append_count(text, n.get<std::uint64_t>(), "dropped (" + reason + ")");
  if (text.empty()) text = "none";
  for (const auto& [key, of] : {std::pair{"overflows", "overflows"},
                                {"sequence_errors", "sequence errors"},
                                {"late", "late"},
                                {"time_jumps", "time jumps"},
                                {"stalls", "stalls"},
                                {"reconnects", "reconnects"},
                                {"deadline_misses", "deadlines missed"}})
    append_count(text, count(s, key), of);
  return text;
}

std::string latency_text(const json& s) {
  const json& us = s.at("latency_us");
  const auto quantile = [&](const char* key) { return fmt::format("{:.3g} ms", us.value(key, 0.0) / 1e3); };
  return fmt::format("p50 {}, p99 {}, max {}; a block lasts {:.3g} ms", quantile("p50"), quantile("p99"),
                     quantile("max"), s.value("block_s", 0.0) * 1e3);
}

std::string radio_text(const json& s) {
  const json& radio = s.at("radio");
  std::string text = quantity_text(radio.value("frequency", 0.0), Unit::hertz);
  const json& time = radio.at("time");
  append(text, word(time, "source") + " time");
  if (time.contains("drift")) append(text, fmt::format("clock {:+.3g} ppm", time["drift"].value("ppm", 0.0)));
  append_count(text, count(radio, "retunes"), "retunes");
  if (s.contains("calibrated") && s["calibrated"].is_boolean())
    append(text, s["calibrated"].get<bool>() ? "calibrated" : "calibration does not hold");
  return text;
}

/// `squelch opened 3`, one for each number of stages; `kind` is the key of its name.
std::string numbers_text(const json& numbers, const char* kind, const char* value) {
  std::string text;
  for (const json& n : numbers) {
    std::string of;
    for (const auto& [key, entry] : n.items())
      if (key != "stage" && key != kind && key != value)
        append(of, fmt::format("{} {}", key, entry.get<std::string>()));
    const json& number = n.at(value);
    append(text,
           fmt::format("{} {}{} {}", word(n, "stage"), word(n, kind), of.empty() ? "" : " (" + of + ")",
                       number.is_number_float() ? fmt::format("{:.4g}", number.get<double>())
                                                : (number.is_null() ? "–" : number.dump())),
           "; ");
  }
  return text;
}

void add_channels(const json& s, Rows& rows) {
  std::string text;
  std::size_t c = 0;
  for (const json& channel : s.at("channels")) {
    std::string one =
        fmt::format("{}: {}, peak {}", c++, level(channel, "rms_dbfs", " dBFS"), level(channel, "peak_dbfs", ""));
    append_count(one, count(channel, "clipped"), "clipped");
    if (channel.value("overloaded", false)) append(one, "overloaded");
    append(text, one, "; ");
  }
  if (!text.empty()) rows.push_back({"  levels", text});
}

void add_outputs(const json& s, Rows& rows) {
  for (const json& port : s.at("ports")) {
    std::string text =
        fmt::format("{} → {}: {} messages", word(port, "port"), word(port, "to"), count(port, "messages"));
    for (const auto& [key, of] : {std::pair{"refused", "refused"},
                                  {"underflows", "underflows"},
                                  {"late", "late"},
                                  {"sequence_errors", "sequence errors"}})
      append_count(text, count(port, key), of);
    rows.push_back({"  output", text});
  }
  for (const json& endpoint : s.at("endpoints")) {
    const std::uint64_t readers = count(endpoint, "connected");
    std::string text = fmt::format("{}: {} reader{}", word(endpoint, "endpoint"), readers, readers == 1 ? "" : "s");
    append_count(text, count(endpoint, "handshake_failures"), "failed handshakes");
    append_count(text, count(endpoint, "cut_off"), "cut off");
    rows.push_back({"  endpoint", text});
  }
}

void add_pipeline(const json& s, const json* before, double seconds, Rows& rows) {
  const std::string trouble = word(s, "trouble");
  const std::uint64_t share = count(s, "gpu_share");
  rows.push_back(
      {word(s, "name"), fmt::format("{}{}{} ({} on {}{}{})", word(s, "state"), trouble.empty() ? "" : ": ", trouble,
                                    word(s, "source"), word(s, "backend"), share ? fmt::format(", {} SM", share) : "",
                                    count(s, "gpu_resident") ? ", resident" : "")});
  rows.push_back({"  rate", rate_with_share(s, before, seconds)});
  rows.push_back({"  losses", losses_text(s)});
  rows.push_back({"  latency", latency_text(s)});
  rows.push_back({"  radio", radio_text(s)});
  add_channels(s, rows);
  if (const std::string slow = word(s, "slow_stage"); !slow.empty()) rows.push_back({"  hangs", "stage " + slow});
  if (!s.at("events").empty()) rows.push_back({"  events", numbers_text(s["events"], "event", "count")});
  if (!s.at("levels").empty()) rows.push_back({"  measured", numbers_text(s["levels"], "level", "value")});
  add_outputs(s, rows);
}

void add_radio(const json& radio, Rows& rows) {
  std::string facts;
  for (const auto& [key, value] : radio.at("facts").items())
    append(facts, fmt::format("{} {}", key, value.get<std::string>()));
  rows.push_back({"radio", fmt::format("{} '{}': {}", word(radio, "driver"), word(radio, "args"), facts)});
  std::string locks, readings;
  const auto of = [](const json& j) { return word(j, "of").empty() ? "" : " of " + word(j, "of"); };
  for (const json& l : radio.at("locks"))
    append(locks, fmt::format("{}{} {}", word(l, "lock"), of(l), l.value("locked", false) ? "locked" : "NOT LOCKED"));
  for (const json& r : radio.at("readings"))
    append(readings, fmt::format("{}{} {}", word(r, "reading"), of(r), level(r, "value", "")));
  if (!locks.empty()) rows.push_back({"  locks", locks});
  if (!readings.empty()) rows.push_back({"  readings", readings});
}

const json* pipeline_named(const json& status, const std::string& name) {
  for (const json& s : status.at("pipelines"))
    if (word(s, "name") == name) return &s;
  return nullptr;
}

}  // namespace

std::string uptime_text(double seconds) {
  const auto s = static_cast<std::int64_t>(seconds);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{} h {} min", s / 3600, s / 60 % 60);
  return fmt::format("{} d {} h", s / 86400, s / 3600 % 24);
}

std::string status_table(const json& now, const json& before, const std::string& pipeline) {
  const double seconds = now.value("uptime_s", 0.0) - before.value("uptime_s", 0.0);
  Rows rows;
  for (const json& s : now.at("pipelines"))
    if (pipeline.empty() || word(s, "name") == pipeline)
      add_pipeline(s, pipeline_named(before, word(s, "name")), seconds, rows);
  for (const json& radio : now.at("radios")) add_radio(radio, rows);
  return in_columns(rows);
}

}  // namespace iqd
