// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/status.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "config/quantity.hpp"
#include "daemon/http/radio_view.hpp"

namespace iqd {
namespace {

nlohmann::json latency_json(const Histogram::Snapshot& h) {
  const auto us = [](double ns) { return ns / 1e3; };
  return {{"p50", us(h.quantile_ns(0.5))},
          {"p99", us(h.quantile_ns(0.99))},
          {"p999", us(h.quantile_ns(0.999))},
          {"max", us(static_cast<double>(h.worst_ns))}};
}

/// Null if there is no value, or all samples were zero.
nlohmann::json decibels(double db) {
  return std::isfinite(db) ? nlohmann::json(std::round(db * 100) / 100) : nlohmann::json();
}

template <class Wanted> void add_counters(nlohmann::json& to, const PipelineStatus& s, Wanted wanted) {
  for (const CounterEntry& c : kCounterEntries)
    if (wanted(c.of)) to[c.name] = s.*c.value;
}

/// What the stream shows of a pipeline's radio.
nlohmann::json radio_json(const PipelineStatus& s) {
  nlohmann::json time = {{"source", s.time == TimeSource::radio ? "radio" : "host"}};
  if (!std::isnan(s.ahead_s)) time["ahead_s"] = s.ahead_s;
  if (s.drift) time["drift"] = {{"ppm", s.drift->ppm}, {"error_ppm", s.drift->error_ppm}, {"over_s", s.drift->over_s}};
  nlohmann::json radio = {{"frequency", s.frequency_hz}, {"time", time}};
  if (s.tuned >= 0) radio["tuned"] = s.tuned;
  add_counters(radio, s, [](CounterEntry::Of of) { return of == CounterEntry::Of::setting; });
  return radio;
}

nlohmann::json ports_json(const PipelineStatus& s) {
  nlohmann::json ports = nlohmann::json::array();
  for (const auto& p : s.ports)
    ports.push_back({{"port", p.port},
                     {"to", p.to},
                     {"endpoint", p.endpoint},
                     {"messages", p.messages},
                     {"bytes", p.bytes},
                     {"refused", p.refused},
                     {"underflows", p.sink.underflows},
                     {"late", p.sink.late},
                     {"sequence_errors", p.sink.sequence_errors}});
  return ports;
}

nlohmann::json endpoints_json(const PipelineStatus& s) {
  nlohmann::json endpoints = nlohmann::json::array();
  for (const PeerCounts& e : s.endpoints)
    endpoints.push_back({{"endpoint", e.endpoint},
                         {"connected", e.connected},
                         {"handshake_failures", e.handshake_failures},
                         {"cut_off", e.cut_off}});
  return endpoints;
}

nlohmann::json steps_json(const PipelineStatus& s) {
  nlohmann::json steps = nlohmann::json::array();
  for (const auto& step : s.steps)
    if (step.time.count > 0)
      steps.push_back({{"step", step.name},
                       {"blocks", step.time.count},
                       {"mean_us", static_cast<double>(step.time.sum_ns) / static_cast<double>(step.time.count) / 1e3},
                       {"time_us", latency_json(step.time)}});
  return steps;
}

/// Numbers of stages: `kind` is the key of their name, `value` the key of the number.
template <class Numbers>
nlohmann::json numbers_json(const Numbers& numbers, const std::string& kind, const std::string& value) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& [name, number] : numbers) {
    all.push_back({{"stage", name.stage}, {kind, name.name}, {value, number}});
    if (!name.dimension.empty()) all.back()[name.dimension] = name.entry;
  }
  return all;
}

nlohmann::json channels_json(const PipelineStatus& s) {
  nlohmann::json channels = nlohmann::json::array();
  for (const auto& c : s.channels)
    channels.push_back({{"rms_dbfs", decibels(c.rms_dbfs)},
                        {"peak_dbfs", decibels(c.peak_dbfs)},
                        {"clipped", c.clipped},
                        {"overloads", c.overloads},
                        {"overloaded", c.overloaded}});
  return channels;
}

nlohmann::json pool_json(const PoolStatus& p) {
  nlohmann::json lost = nlohmann::json::object();
  for (std::size_t l = 0; l < p.lost.size(); ++l) lost[std::string(kPoolLossNames[l])] = p.lost[l];
  return {{"name", p.name},
          {"server", p.server},
          {"trouble", p.trouble},
          {"workers", p.workers},
          {"lanes", p.lanes},
          {"room", p.room},
          {"sending", p.sending},
          {"stored", p.stored},
          {"waiting", p.waiting},
          {"idle_lanes", p.idle_lanes},
          {"redelivered", p.redelivered},
          {"sent", p.sent},
          {"done", p.done},
          {"lost", lost},
          {"again", p.again},
          {"twice", p.twice},
          {"late", p.late},
          {"wrong", p.wrong},
          {"round_trip_us", latency_json(p.round_trip)}};
}

nlohmann::json pipeline_json(const PipelineStatus& s) {
  nlohmann::json dropped = nlohmann::json::object();
  for (std::size_t d = 0; d < s.dropped.size(); ++d) dropped[std::string(kDropNames[d])] = s.dropped[d];
  nlohmann::json json = {{"name", s.name},
                         {"source", s.radio},
                         {"state", kSourceStateNames[static_cast<std::size_t>(s.state)]},
                         {"trouble", s.trouble},
                         {"radio", radio_json(s)},
                         {"backend", s.backend},
                         {"sample_rate", s.rate_hz},
                         {"dropped", dropped},
                         {"in_flight", s.in_flight},
                         {"lanes", {{"all", s.lanes}, {"busy", s.lanes_busy}}},
                         {"slots", {{"all", s.slots}, {"free", s.slots_free}}},
                         {"slow_stage", s.slow_stage},
                         {"block_s", s.block_s},
                         {"gpu_share", s.gpu_share},
                         {"gpu_resident", s.gpu_resident},
                         {"device_bytes", s.device_bytes},
                         {"resident_bytes", s.resident_bytes},
                         {"reloads", s.reloads},
                         {"ports", ports_json(s)},
                         {"endpoints", endpoints_json(s)},
                         {"steps", steps_json(s)},
                         {"events", numbers_json(s.tallies, "event", "count")},
                         {"levels", numbers_json(s.levels, "level", "value")},
                         {"channels", channels_json(s)},
                         {"calibrated", std::isnan(s.calibrated) ? nlohmann::json() : nlohmann::json(s.calibrated > 0)},
                         {"latency_us", latency_json(s.latency)}};
  if (s.pool) json["pool"] = pool_json(*s.pool);
  add_counters(json, s, [](CounterEntry::Of of) { return of != CounterEntry::Of::setting; });
  return json;
}

}  // namespace

PipelineStatus earlier_status(const PipelineStatus& now, const std::vector<PipelineStatus>& before) {
  for (const PipelineStatus& b : before)
    if (b.name == now.name && b.received <= now.received) return b;
  return {};
}

namespace {

double rate_hz(const PipelineStatus& now, const std::vector<PipelineStatus>& before, double seconds) {
  return static_cast<double>(now.received - earlier_status(now, before).received) / seconds;
}

nlohmann::json work_json(const WorkStatus& work) {
  nlohmann::json pools = nlohmann::json::array();
  for (const PoolWorkStatus& p : work.pools)
    pools.push_back({{"pool", p.pool},
                     {"server", p.server},
                     {"trouble", p.trouble},
                     {"done", p.done},
                     {"refused", p.refused},
                     {"returned", p.returned},
                     {"failed", p.failed}});
  return {{"name", work.name}, {"lanes", {{"all", work.lanes}, {"busy", work.busy}}}, {"pools", pools}};
}

}  // namespace

std::string status_json(const std::vector<PipelineStatus>& pipelines, double uptime_s, bool final,
                        const std::optional<WorkStatus>& work) {
  nlohmann::json all = nlohmann::json::array();
  for (const PipelineStatus& s : pipelines) all.push_back(pipeline_json(s));
  nlohmann::json status{
      {"uptime_s", uptime_s}, {"final", final}, {"pipelines", all}, {"radios", radios_json(open_radios())}};
  if (work) status["work"] = work_json(*work);
  return status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string status_sentence(const std::vector<PipelineStatus>& pipelines, const std::vector<PipelineStatus>& before,
                            double seconds) {
  std::string text;
  for (const PipelineStatus& now : pipelines) {
    std::uint64_t dropped = now.lost;
    for (const std::uint64_t d : now.dropped) dropped += d;
    text += fmt::format("{}{} {}{} {}, {} samples lost or dropped", text.empty() ? "" : "; ", now.name,
                        kSourceStateNames[static_cast<std::size_t>(now.state)],
                        now.trouble.empty() ? "" : fmt::format(" ({})", now.trouble),
                        rate_text(rate_hz(now, before, seconds)), dropped);
  }
  return text;
}

}  // namespace iqd
