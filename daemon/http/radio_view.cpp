// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/radio_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.hpp"

namespace iqd {
namespace {

using nlohmann::json;
using prometheus::ClientMetric;
using prometheus::MetricFamily;

/// Labels of `iqd_radio_info`: every radio has all of them.
constexpr std::array<const char*, 4> kInfo{"product", "serial", "firmware", "fpga"};

std::string fact(const OpenRadio& radio, const char* key) {
  const auto found =
      std::find_if(radio.facts.begin(), radio.facts.end(), [&](const auto& f) { return f.first == key; });
  return found == radio.facts.end() ? "" : found->second;
}

ClientMetric gauge(const OpenRadio& radio, std::vector<ClientMetric::Label> labels, double value) {
  ClientMetric metric;
  metric.label = {{"driver", radio.driver}, {"args", radio.args}};
  metric.label.insert(metric.label.end(), labels.begin(), labels.end());
  metric.gauge.value = value;
  return metric;
}

/// Duplicate labels would invalidate the whole scrape, so only the first of equal ones counts.
void append(std::vector<ClientMetric>& metrics, ClientMetric metric) {
  const auto same = [&](const ClientMetric& m) { return m.label == metric.label; };
  if (std::none_of(metrics.begin(), metrics.end(), same)) metrics.push_back(std::move(metric));
}

}  // namespace

json radios_json(const std::vector<OpenRadio>& radios) {
  json all = json::array();
  for (const OpenRadio& radio : radios) {
    json one = {{"driver", radio.driver}, {"args", radio.args},        {"facts", json::object()},
                {"locks", json::array()}, {"readings", json::array()}, {"age_s", nullptr}};
    for (const auto& [key, value] : radio.facts) one["facts"][key] = value;
    for (const RadioReading& r : radio.readings) {
      if (r.is_lock)
        one["locks"].push_back({{"lock", r.name}, {"of", r.of}, {"locked", r.value != 0}});
      else
        one["readings"].push_back({{"reading", r.name}, {"of", r.of}, {"value", r.value}});
    }
    if (radio.read_ns > 0) one["age_s"] = static_cast<double>(steady_ns() - radio.read_ns) / 1e9;
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<MetricFamily> radio_metrics(const std::vector<OpenRadio>& radios) {
  constexpr auto kType = prometheus::MetricType::Gauge;
  std::vector<MetricFamily> all = {
      {"iqd_radio_info", "1 while a radio is open; the labels name its hardware and firmware versions.", kType, {}},
      {"iqd_radio_lock",
       "1 while a part of the radio that must lock is locked; `of` says which of several. If 0, check the cables of "
       "reference, pulse and GPS antenna.",
       kType,
       {}},
      {"iqd_radio_reading",
       "Other readings of an open radio: temperatures in degrees Celsius, whether it is on the air; the rest in the "
       "unit of its driver.",
       kType,
       {}}};
  for (const OpenRadio& radio : radios) {
    std::vector<ClientMetric::Label> info;
    for (const char* key : kInfo) info.push_back({key, fact(radio, key)});
    append(all[0].metric, gauge(radio, std::move(info), 1));
    for (const RadioReading& r : radio.readings)
      if (!std::isnan(r.value))
        append(all[r.is_lock ? 1 : 2].metric,
               gauge(radio, {{r.is_lock ? "lock" : "reading", r.name}, {"of", r.of}}, r.value));
  }
  std::erase_if(all, [](const MetricFamily& f) { return f.metric.empty(); });
  return all;
}

}  // namespace iqd
