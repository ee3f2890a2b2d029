// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/window/manifest.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/error.hpp"

namespace iqd::radio {
namespace {

using nlohmann::ordered_json;

constexpr const char* kKind = "iqd window";
constexpr int kMostLevels = 16;
constexpr std::int64_t kMostNumber = 1LL << 53;
constexpr std::int64_t kMostItems = 1LL << 40;  // of a message

// Each list of keys serves the writer and the reader.
template <class Format, class Each>
void each_key(Format& f, const Each& each) requires std::is_same_v<std::remove_const_t<Format>, PortFormat> {
  each("pipeline", f.pipeline);
  each("port", f.port);
  each("varying", f.varying);
  each("sample_rate", f.rate_hz);
  each("frequency", f.frequency_hz);
  each("span", f.span_hz);
  each("item_rate", f.item_rate_hz);
  each("llr_scale", f.llr_scale);
  each("mirrored", f.mirrored);
  each("calibrated", f.calibrated);
  each("facts", f.facts);
  each("hardware", f.hardware);
}

template <class Dimension, class Each>
void each_key(Dimension& d, const Each& each) requires std::is_same_v<std::remove_const_t<Dimension>, Dim> {
  each("name", d.name);
  each("extent", d.extent);
  each("labels", d.labels);
  each("first_hz", d.frequencies.first_hz);
  each("step_hz", d.frequencies.step_hz);
  each("values_hz", d.frequencies.values_hz);
  each("wrap", d.frequencies.wrap);
}

template <class Any, class Each>
void each_key(Any& m, const Each& each) requires std::is_same_v<std::remove_const_t<Any>, Manifest> {
  each("window", m.window);
  each("windows", m.windows);
  each("version", m.version);
  each("pipeline", m.pipeline);
  each("data", m.data);
  each("device", m.device);
  each("warmed", m.warmed);
  each("sample", m.sample);
  each("samples", m.samples);
  each("missing", m.missing);
  each("blocks", m.blocks);
  each("rows", m.rows);
  each("lost", m.lost);
  each("bytes", m.bytes);
  each("results", m.results);
  each("sinks", m.sinks);
}

template <class T> void write(const T& from, ordered_json& json) {
  each_key(from, [&json](const char* key, const auto& value) { json[key] = value; });
}

ordered_json json_of(const PortFormat& f) {
  ordered_json json{{"dtype", name_of(f.element)}, {"dims", ordered_json::array()}};
  for (const Dim& d : f.dims) write(d, json["dims"].emplace_back(ordered_json::object()));
  write(f, json);
  return json;
}

template <class T> void read(const ordered_json& json, const char* key, T& into) {
  const ordered_json& value = json.at(key);
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    if (!value.is_number_integer() || value < -1 || value > kMostNumber) throw std::runtime_error(key);
  value.get_to(into);
}

template <class T> void read_all(const ordered_json& json, T& into) {
  each_key(into, [&json](const char* key, auto& value) { read(json, key, value); });
}

PortFormat format_of(const ordered_json& json) {
  PortFormat f;
  const auto element = element_named(json.at("dtype").get<std::string>());
  if (!element) throw std::runtime_error("dtype");
  f.element = *element;
  std::int64_t items = 1;
  for (const ordered_json& d : json.at("dims")) {
    Dim dim;
    read_all(d, dim);
    if (dim.extent < 1 || dim.extent > kMostItems / items) throw std::runtime_error("extent");
    items *= dim.extent;
    f.dims.push_back(std::move(dim));
  }
  read_all(json, f);
  if (f.varying < -1 || f.varying >= static_cast<int>(f.dims.size())) throw std::runtime_error("varying");
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
  ordered_json json{{"kind", kKind}};
  write(m, json);
  json["sink"] = ordered_json::parse(m.entry);
  json["format"] = json_of(m.format);
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
    read_all(json, m);
    m.entry = json.at("sink").dump();
    m.format = format_of(json.at("format"));
  } catch (const std::exception& e) {
    throw SetupError(fmt::format("{}: is no manifest of a window: {}", path, e.what()));
  }
  return m;
}

}  // namespace iqd::radio
