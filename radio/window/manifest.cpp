// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/window/manifest.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>

#include "base/error.hpp"

namespace iqd::radio {
namespace {

using nlohmann::ordered_json;

constexpr const char* kKind = "iqd window";
constexpr int kMostLevels = 16;
constexpr std::int64_t kMostNumber = 1LL << 53;
constexpr std::int64_t kMostItems = 1LL << 40;  // of a message

ordered_json json_of(const PortFormat& f) {
  ordered_json dims = ordered_json::array();
  for (const Dim& d : f.dims)
    dims.push_back({{"name", d.name},
                    {"extent", d.extent},
                    {"labels", d.labels},
                    {"first_hz", d.frequencies.first_hz},
                    {"step_hz", d.frequencies.step_hz},
                    {"values_hz", d.frequencies.values_hz},
                    {"wrap", d.frequencies.wrap}});
  return {{"pipeline", f.pipeline},
          {"port", f.port},
          {"dtype", name_of(f.element)},
          {"dims", std::move(dims)},
          {"varying", f.varying},
          {"sample_rate", f.rate_hz},
          {"frequency", f.frequency_hz},
          {"span", f.span_hz},
          {"item_rate", f.item_rate_hz},
          {"llr_scale", f.llr_scale},
          {"mirrored", f.mirrored},
          {"calibrated", f.calibrated},
          {"facts", f.facts},
          {"hardware", f.hardware}};
}

template <class T> void read(const ordered_json& json, const char* key, T& into) {
  const ordered_json& value = json.at(key);
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    if (!value.is_number_integer() || value < -1 || value > kMostNumber) throw std::runtime_error(key);
  value.get_to(into);
}

PortFormat format_of(const ordered_json& json) {
  PortFormat f;
  const auto element = element_named(json.at("dtype").get<std::string>());
  if (!element) throw std::runtime_error("dtype");
  f.element = *element;
  std::int64_t items = 1;
  for (const ordered_json& d : json.at("dims")) {
    Dim dim;
    read(d, "name", dim.name);
    read(d, "extent", dim.extent);
    read(d, "labels", dim.labels);
    read(d, "first_hz", dim.frequencies.first_hz);
    read(d, "step_hz", dim.frequencies.step_hz);
    read(d, "values_hz", dim.frequencies.values_hz);
    read(d, "wrap", dim.frequencies.wrap);
    if (dim.extent < 1 || dim.extent > kMostItems / items) throw std::runtime_error("extent");
    items *= dim.extent;
    f.dims.push_back(std::move(dim));
  }
  read(json, "pipeline", f.pipeline);
  read(json, "port", f.port);
  read(json, "varying", f.varying);
  if (f.varying < -1 || f.varying >= static_cast<int>(f.dims.size())) throw std::runtime_error("varying");
  read(json, "sample_rate", f.rate_hz);
  read(json, "frequency", f.frequency_hz);
  read(json, "span", f.span_hz);
  read(json, "item_rate", f.item_rate_hz);
  read(json, "llr_scale", f.llr_scale);
  read(json, "mirrored", f.mirrored);
  read(json, "calibrated", f.calibrated);
  read(json, "facts", f.facts);
  read(json, "hardware", f.hardware);
  return f;
}

}  // namespace

std::string results_path(const std::string& path, std::int64_t window, std::int64_t windows) {
  return fmt::format("{}.{}-of-{}", path, window, windows);
}

std::string manifest_path(const std::string& results) {
  return results + ".json";
}

std::string text_of(const Manifest& m) {
  const ordered_json json{{"kind", kKind},
                          {"window", m.window},
                          {"windows", m.windows},
                          {"version", m.version},
                          {"pipeline", m.pipeline},
                          {"data", m.data},
                          {"device", m.device},
                          {"warmed", m.warmed},
                          {"sample", m.sample},
                          {"samples", m.samples},
                          {"missing", m.missing},
                          {"blocks", m.blocks},
                          {"rows", m.rows},
                          {"lost", m.lost},
                          {"bytes", m.bytes},
                          {"results", m.results},
                          {"sinks", m.sinks},
                          {"sink", ordered_json::parse(m.entry)},
                          {"format", json_of(m.format)}};
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Manifest read_manifest(const std::string& path) {
  std::ifstream in(path);
  Manifest m;
  try {
    const ordered_json json = ordered_json::parse(in, [](int depth, ordered_json::parse_event_t, ordered_json&) {
      if (depth > kMostLevels) throw std::runtime_error("too many levels");
      return true;
    });
    if (json.at("kind") != kKind) throw std::runtime_error("kind");
    read(json, "window", m.window);
    read(json, "windows", m.windows);
    read(json, "version", m.version);
    read(json, "pipeline", m.pipeline);
    read(json, "data", m.data);
    read(json, "device", m.device);
    read(json, "warmed", m.warmed);
    read(json, "sample", m.sample);
    read(json, "samples", m.samples);
    read(json, "missing", m.missing);
    read(json, "blocks", m.blocks);
    read(json, "sinks", m.sinks);
    read(json, "rows", m.rows);
    read(json, "lost", m.lost);
    read(json, "bytes", m.bytes);
    read(json, "results", m.results);
    m.entry = json.at("sink").dump();
    m.format = format_of(json.at("format"));
  } catch (const std::exception& e) {
    throw SetupError(fmt::format("{}: is no manifest of a window: {}", path, e.what()));
  }
  return m;
}

}  // namespace iqd::radio
