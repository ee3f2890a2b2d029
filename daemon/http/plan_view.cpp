// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/plan_view.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/axes.hpp"

namespace iqd {
namespace {

using nlohmann::json;

std::string_view side_name(Side side) {
  return on_device(side) ? "device" : "host";
}

std::string_view home_name(Home home) {
  switch (home) {
    case Home::window: return "ring";
    case Home::ring: return "device ring";
    case Home::arena: return "arena";
    case Home::slot: break;
  }
  return "slot";
}

std::string port_name(const Plan& plan, PortIndex port) {
  return port == kNoPort ? "" : plan.ports[port].name;
}

json axes_of(const PortShape& shape, double frequency_hz) {
  json axes = axes_json<json>(shape.rows, frequency_hz);
  axes.update(axes_json<json>(shape.item, frequency_hz));
  return axes;
}

json port_json(const Plan& plan, const PlanPort& port, const PortPlace& place) {
  return {{"name", port.name},
          {"maker", port.is_source() ? "source" : plan.steps[port.maker].name},
          {"element", name_of(port.shape.element)},
          {"shape", port.shape.text()},
          {"rate", port.shape.axis == Axis::stream ? json(port.shape.rate_hz) : json()},
          {"frequency", place.frequency_hz},
          {"span", place.span_hz > 0 ? json(place.span_hz) : json()},
          {"mirrored", port.shape.mirrored},
          {"axes", axes_of(port.shape, place.frequency_hz)},
          {"new_per_block", port.most_new},
          {"past", port.reach.past},
          {"future", port.reach.future},
          {"side", side_name(port.side)},
          {"memory", home_name(port.home)},
          {"bytes", port.bytes()}};
}

json time_json(const Histogram::Snapshot& time) {
  return {{"blocks", time.count},
          {"p50_us", time.quantile_ns(0.5) / 1e3},
          {"p99_us", time.quantile_ns(0.99) / 1e3},
          {"max_us", static_cast<double>(time.worst_ns) / 1e3}};
}

std::string backend_of(const Plan& plan, Side side, const PipelineStatus& status) {
  if (!on_device(side)) return "cpu";
  return plan.groups.size() > 1 ? plan.group(side).name : status.backend;
}

json stages_json(const Plan& plan, const PipelineStatus& status) {
  json all = json::array();
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    json in = json::array();
    json out = json::array();
    for (const PortIndex p : step.in) in.push_back(port_name(plan, p));
    for (const PortIndex p : step.out) out.push_back(port_name(plan, p));
    all.push_back({{"name", step.name},
                   {"stage", step.entry ? step.entry->name : ""},
                   {"in", in},
                   {"out", out},
                   {"fused", step.parts},
                   {"side", side_name(step.side)},
                   {"backend", backend_of(plan, step.side, status)},
                   {"in_order", step.carry_bytes > 0},
                   {"scratch_bytes", step.scratch_bytes},
                   {"time", i < status.steps.size() ? time_json(status.steps[i].time) : json()}});
  }
  return all;
}

/// How fast a count grows; null if there is no earlier value, or if it has restarted since.
json growth(std::uint64_t now, std::uint64_t then, double seconds) {
  return seconds > 0 && now >= then ? json(static_cast<double>(now - then) / seconds) : json();
}

json messages_json(const PipelineStatus& now, const PipelineStatus* then, double seconds) {
  json all = json::array();
  for (std::size_t i = 0; i < now.ports.size(); ++i) {
    const PipelineStatus::Port& port = now.ports[i];
    const bool is_known = then && i < then->ports.size() && then->ports[i].port == port.port;
    const PipelineStatus::Port& before = is_known ? then->ports[i] : port;
    const double time = is_known ? seconds : 0;
    all.push_back({{"port", port.port},
                   {"to", port.to},
                   {"messages", port.messages},
                   {"refused", port.refused},
                   {"messages_per_second", growth(port.messages, before.messages, time)},
                   {"bytes_per_second", growth(port.bytes, before.bytes, time)}});
  }
  return all;
}

/// What the pipeline needs, item by item.
json needs_json(const PipelineStatus& now) {
  json all = json::array();
  for (const Need& need : now.needs)
    all.push_back({{"what", need.what},
                   {"bytes", need.bytes},
                   {"more_bytes", need.more},
                   {"threads", need.threads},
                   {"descriptors", need.files}});
  return all;
}

/// By the place where samples were lost.
json dropped_json(const PipelineStatus& now) {
  json dropped = json::object();
  for (std::size_t d = 0; d < now.dropped.size(); ++d) dropped[std::string(kDropNames[d])] = now.dropped[d];
  return dropped;
}

json plan_json(const Plan& plan, const PipelineStatus& now, const PipelineStatus* then, double seconds) {
  json ports = json::array();
  const std::vector<PortPlace> places = now.places.size() == plan.ports.size() ? now.places : places_of(plan);
  for (std::size_t p = 0; p < plan.ports.size(); ++p) ports.push_back(port_json(plan, plan.ports[p], places[p]));
  return {
      {"name", now.name},
      {"source", {{"driver", now.radio}, {"state", kSourceStateNames[static_cast<std::size_t>(now.state)]}}},
      {"backend", now.backend},
      {"sample_rate", now.rate_hz},
      {"block", {{"samples", plan.block}, {"seconds", now.block_s}}},
      {"samples_per_second", growth(now.received, then ? then->received : 0, then ? seconds : 0)},
      {"lost", now.lost},
      {"dropped", dropped_json(now)},
      {"queues",
       {{"in_flight", now.in_flight},
        {"lanes", now.lanes},
        {"lanes_busy", now.lanes_busy},
        {"slots", now.slots},
        {"slots_free", now.slots_free}}},
      {"memory",
       {{"lane_bytes", plan.arena_bytes[index_of(Side::host)]},
        {"device_lane_bytes", std::accumulate(plan.arena_bytes.begin() + 1, plan.arena_bytes.end(), std::size_t{0})},
        {"slot_bytes", plan.slot_bytes},
        {"device_bytes", now.device_bytes},
        {"resident_bytes", now.resident_bytes},
        {"needs", needs_json(now)}}},
      {"ports", ports},
      {"stages", stages_json(plan, now)},
      {"results_time", now.steps.empty() ? json() : time_json(now.steps.back().time)},
      {"messages", messages_json(now, then, seconds)}};
}

}  // namespace

PlanView::Look PlanView::reference(const Service& service) {
  const std::lock_guard lock(mutex_);
  const double now = service.uptime_s();
  if (newer_.statuses.empty() || now - newer_.uptime_s >= 1) {
    older_ = std::move(newer_);
    newer_ = {now, service.statuses()};
  }
  return older_;
}

std::string PlanView::json(const Service& service) {
  const Look before = reference(service);
  const double seconds = service.uptime_s() - before.uptime_s;
  nlohmann::json all = nlohmann::json::array();
  service.visit_plans([&](const Plan& plan, const PipelineStatus& now) {
    const auto then = std::find_if(before.statuses.begin(), before.statuses.end(),
                                   [&](const PipelineStatus& s) { return s.name == now.name; });
    all.push_back(plan_json(plan, now, then == before.statuses.end() ? nullptr : &*then, seconds));
  });
  return nlohmann::json({{"uptime_s", service.uptime_s()}, {"pipelines", all}})
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace iqd
