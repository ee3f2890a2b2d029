// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/window/manifest.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/error.hpp"

namespace iqd::radio {
namespace {

using nlohmann::ordered_json;

constexpr const char* kKind = "iqd window";
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

PortFormat format_of(const ordered_json& json) {
  PortFormat f;
  const auto element = element_named(json.at("dtype").get<std::string>());
  if (!element) throw std::runtime_error("dtype");
  f.element = *element;
  std::int64_t items = 1;
  for (const ordered_json& d : json.at("dims")) {
    Dim dim{.name = d.at("name"), .extent = d.at("extent"), .labels = d.at("labels")};
    dim.frequencies = {d.at("first_hz"), d.at("step_hz"), d.at("values_hz"), d.at("wrap")};
    if (dim.extent < 1 || dim.extent > kMostItems / items) throw std::runtime_error("extent");
    items *= dim.extent;
    f.dims.push_back(std::move(dim));
  }
  json.at("pipeline").get_to(f.pipeline);
  json.at("port").get_to(f.port);
  json.at("varying").get_to(f.varying);
  if (f.varying < -1 || f.varying >= static_cast<int>(f.dims.size())) throw std::runtime_error("varying");
  json.at("sample_rate").get_to(f.rate_hz);
  json.at("frequency").get_to(f.frequency_hz);
  json.at("span").get_to(f.span_hz);
  json.at("item_rate").get_to(f.item_rate_hz);
  json.at("llr_scale").get_to(f.llr_scale);
  json.at("mirrored").get_to(f.mirrored);
  json.at("calibrated").get_to(f.calibrated);
  json.at("facts").get_to(f.facts);
  json.at("hardware").get_to(f.hardware);
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
                          {"blocks", m.blocks},
                          {"rows", m.rows},
                          {"lost", m.lost},
                          {"bytes", m.bytes},
                          {"results", m.results},
                          {"sink", ordered_json::parse(m.entry)},
                          {"format", json_of(m.format)}};
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Manifest read_manifest(const std::string& path) {
  std::ifstream in(path);
  Manifest m;
  try {
    const ordered_json json = ordered_json::parse(in);
    if (json.at("kind") != kKind) throw std::runtime_error("kind");
    json.at("window").get_to(m.window);
    json.at("windows").get_to(m.windows);
    json.at("version").get_to(m.version);
    json.at("pipeline").get_to(m.pipeline);
    json.at("data").get_to(m.data);
    json.at("device").get_to(m.device);
    json.at("warmed").get_to(m.warmed);
    json.at("sample").get_to(m.sample);
    json.at("samples").get_to(m.samples);
    json.at("blocks").get_to(m.blocks);
    json.at("rows").get_to(m.rows);
    json.at("lost").get_to(m.lost);
    json.at("bytes").get_to(m.bytes);
    json.at("results").get_to(m.results);
    m.entry = json.at("sink").dump();
    m.format = format_of(json.at("format"));
  } catch (const std::exception& e) {
    throw SetupError(fmt::format("{}: is no manifest of a window: {}", path, e.what()));
  }
  return m;
}

}  // namespace iqd::radio
