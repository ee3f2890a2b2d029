// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/keys_view.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "config/quantity.hpp"
#include "config/values.hpp"

namespace iqd {
namespace {

using nlohmann::json;

json end_json(double limit) {
  return std::isfinite(limit) ? number_json(limit) : json();
}

void add_limits(const KeyCopy& key, json& to) {
  if (std::isfinite(key.info.low) || std::isfinite(key.info.high))
    to["range"] = json::array({end_json(key.info.low), end_json(key.info.high)});
  if (!key.choices.empty()) to["choices"] = key.choices;
}

/// The range from the lowest to the highest value; also its pieces, if there are several. Single values are choices.
void add_ranges(std::vector<DeviceKey::Range> ranges, json& to) {
  using Range = DeviceKey::Range;
  const auto is_point = [](const Range& r) { return r.low == r.high; };
  if (ranges.size() > 1 && std::ranges::all_of(ranges, is_point)) {
    for (const Range& r : ranges) to["choices"].push_back(number_json(r.low));
  } else {
    std::erase_if(ranges, is_point);  // a single one: modules report 0 to 0 for what they do not know
  }
  if (ranges.empty()) return;
  to["range"] = json::array({end_json(std::ranges::min(ranges, {}, &Range::low).low),
                             end_json(std::ranges::max(ranges, {}, &Range::high).high)});
  if (ranges.size() == 1 && ranges[0].step > 0) to["step"] = number_json(ranges[0].step);
  if (ranges.size() == 1 || to.contains("choices")) return;
  for (const Range& r : ranges) to["ranges"].push_back(json::array({end_json(r.low), end_json(r.high)}));
}

json real_value(const DeviceKey& key) {
  if (const auto* number = std::get_if<double>(&key.value)) return number_json(*number);
  if (const auto* name = std::get_if<std::string>(&key.value)) return *name;
  return {};
}

/// Whether the value asks for something: not for nothing, nor for the 0 that stands for it.
bool is_given(const json& key) {
  const json& value = key["value"];
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return !value.is_null() && !(value == 0 && key.contains("default") && key["default"] == 0);
}

/// What the open device has in place of what was asked for.
void add_device(const DeviceKey& key, json& to) {
  const json real = real_value(key);
  if (!real.is_null() && real != to["value"]) {
    if (is_given(to)) to["asked"] = to["value"];
    to["value"] = real;
  }
  if (!key.ranges.empty()) add_ranges(key.ranges, to);
  if (!key.choices.empty()) to["choices"] = key.choices;
}

json key_json(const KeyCopy& key, const json& made) {
  json one = {{"value", value_json(key.value)}, {"live", key.info.live}};
  if (key.info.unit != Unit::none) one["unit"] = base_unit(key.info.unit);
  if (!key.info.required) one["default"] = made;
  add_limits(key, one);
  return one;
}

void add_origin(const KeyOrigin& origin, json& to) {
  to["by"] = name_of(origin.by);
  to["since"] = std::round(static_cast<double>(origin.since_ns) / 1e6) / 1e3;
}

json part_json(const AskedPart& asked) {
  return {{"pipeline", asked.pipeline},
          {"name", asked.part.name},
          {"kind", name_of(asked.part.kind)},
          {"type", asked.part.type}};
}

HttpAnswer answer_of(const json& body) {
  return {200, body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"};
}

std::vector<std::string> pipelines_of(const Service& service) {
  std::vector<std::string> names;
  for (const PipelineStatus& s : service.statuses()) names.push_back(s.name);
  return names;
}

/// Why the request cannot name its pipeline like that.
std::optional<HttpAnswer> refuse_pipeline(const Service& service, std::string_view name) {
  const std::vector<std::string> names = pipelines_of(service);
  if (name.empty() && names.size() > 1)
    return refusal(404, {fmt::format("there are several pipelines: name one of {}", fmt::join(names, ", "))});
  if (name.empty() || std::ranges::find(names, name) != names.end()) return std::nullopt;
  return refusal(404, {fmt::format("there is no pipeline '{}'; there are: {}", name, fmt::join(names, ", "))});
}

}  // namespace

std::string canonical_part(std::string_view part) {
  std::string name(part);
  const std::size_t open = name.find('[');
  if (open == name.npos || !name.ends_with(']')) return name;
  name.pop_back();
  name[open] = '.';
  return name;
}

json keys_json(const AskedPart& asked) {
  json keys = json::object();
  const std::vector<KeyCopy> set = values_of(asked.part.set), made = values_of(asked.part.made);
  const auto origin = [&](const std::string& key) { return asked.origins.of(asked.pipeline, asked.part.name, key); };
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set[i].is_group) continue;
    json& one = keys[set[i].key] = key_json(set[i], i < made.size() ? value_json(made[i].value) : json());
    add_origin(origin(set[i].key), one);
  }
  for (const DeviceKey& key : asked.device) {
    if (!keys.contains(key.key) && !key.key.starts_with("gains.")) continue;  // a file has no such key
    json& one = keys[key.key];
    if (one.is_null()) {  // an element of the gain
      one = {{"value", nullptr}, {"live", false}, {"unit", base_unit(Unit::decibel)}};
      add_origin(origin(key.key), one);
    }
    add_device(key, one);
  }
  return keys;
}

HttpAnswer parts_answer(const Service& service, std::string_view pipeline) {
  if (!pipeline.empty())
    if (auto no = refuse_pipeline(service, pipeline)) return *std::move(no);
  json parts = json::array();
  service.visit_parts([&](const AskedPart& asked) {
    if (pipeline.empty() || asked.pipeline == pipeline) parts.push_back(part_json(asked));
  });
  return answer_of({{"stages", parts}});
}

HttpAnswer keys_answer(const Service& service, std::string_view pipeline, std::string_view part) {
  if (auto no = refuse_pipeline(service, pipeline)) return *std::move(no);
  json found;
  std::vector<std::string> names;
  std::string at;
  const std::string wanted = canonical_part(part);
  service.visit_parts([&](const AskedPart& asked) {
    if (!pipeline.empty() && asked.pipeline != pipeline) return;
    names.push_back(asked.part.name);
    at = asked.pipeline;
    if (asked.part.name != wanted) return;
    found = part_json(asked);
    found["keys"] = keys_json(asked);
  });
  if (!found.is_null()) return answer_of(found);
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  return refusal(404, {fmt::format("{} has no stage '{}'{}; there are: {}", at, part, did_you_mean(part, candidates),
                                   fmt::join(names, ", "))});
}

}  // namespace iqd
