// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/work_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/files/sha256.hpp"
#include "base/json_whole.hpp"
#include "config/reader.hpp"
#include "config/values.hpp"
#include "pipeline/backend/kernel_mark.hpp"
#include "pipeline/plan/away_part.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kVersion = 1;

/// Puts `a.b` into the map `a`.
void put(ordered_json& keys, const std::string& key, const json& value) {
  const std::size_t dot = key.find('.');
  if (dot == key.npos)
    keys[key] = value;
  else
    put(keys[key.substr(0, dot)], key.substr(dot + 1), value);
}

/// The keys that differ from their defaults, with the values that were read: of a file with numbers, the numbers.
ordered_json keys_of(const StageSpec& stage) {
  const auto fields = [](Stage& of) { return [&of](FieldVisitor& v) { of.fields(v); }; };
  const std::unique_ptr<Stage> fresh = stage.entry->make();
  const std::vector<KeyCopy> defaults = values_of(fields(*fresh));
  ordered_json keys = ordered_json::object();
  const std::vector<KeyCopy> values = values_of(fields(*stage.as_read));
  for (std::size_t k = 0; k < values.size(); ++k) {
    const json value = value_json(values[k].value);
    const bool is_default = k < defaults.size() && value == value_json(defaults[k].value);
    if (values[k].is_group && value == true)
      put(keys, values[k].key, json::object());
    else if (!values[k].is_group && !is_default)
      put(keys, values[k].key, value);
  }
  return keys;
}

ordered_json stage_json(const StageSpec& stage) {
  ordered_json keys = keys_of(stage);
  keys["name"] = stage.name;
  if (const auto only = stage.from.find(""); only != stage.from.end() && stage.from.size() == 1)
    keys["from"] = only->second;
  else if (!stage.from.empty())
    for (const auto& [input, port] : stage.from) keys["from"][input] = port;
  return {{std::string(stage.entry->name), std::move(keys)}};
}

ordered_json stream_json(const StreamInfo& stream) {
  return {{"element", name_of(stream.element)}, {"channels", stream.channels},     {"rate", stream.rate_hz},
          {"frequency", stream.frequency_hz},   {"full_scale", stream.full_scale}, {"edges", stream.edges}};
}

ordered_json return_json(const Plan& plan, PortIndex index) {
  const PlanPort& port = plan.ports[index];
  return {{"port", written_port(plan, index)},
          {"dtype", name_of(port.shape.element)},
          {"past", port.reach.past},
          {"future", port.reach.future}};
}

/// The stages that the steps away consist of, each with the stage that it reads: without `from`, that is the one before
/// it in the file, which may stay here.
ordered_json stages_json(const PipelineSpec& spec, const Plan& plan) {
  std::set<std::string> away;
  for (StepIndex s = 0; s < plan.away.end; ++s)
    for (std::string& name : stages_of(plan.steps[s])) away.insert(std::move(name));
  ordered_json stages = ordered_json::array();
  for (std::size_t s = 0; s < spec.stages.size(); ++s) {
    if (!away.contains(spec.stages[s].name)) continue;
    stages.push_back(stage_json(spec.stages[s]));
    ordered_json& keys = stages.back().front();
    const bool is_after = s > 0 && away.contains(spec.stages[s - 1].name);
    if (!keys.contains("from") && s == 0) keys["from"] = "source";
    if (!keys.contains("from") && !is_after)
      throw SetupError(fmt::format("stage '{}' needs `from:` in a pipeline with a pool", spec.stages[s].name));
  }
  return stages;
}

StreamInfo stream_of(const json& from) {
  StreamInfo stream;
  const auto element = element_named(from.at("element").get<std::string>());
  if (!element) throw SetupError("the order has an unknown element");
  stream.element = *element;
  stream.channels = whole_of<int>(from.at("channels"));
  stream.rate_hz = from.at("rate");
  stream.frequency_hz = from.at("frequency");
  stream.full_scale = from.at("full_scale");
  stream.edges = whole_of<std::int64_t>(from.at("edges"));
  const bool is_sound = stream.channels > 0 && stream.channels <= 1024 && stream.edges >= 0 && stream.rate_hz >= 0;
  if (!is_sound) throw SetupError("the order has an impossible stream");
  return stream;
}

/// JSON from anywhere: no deeper than what reads it calls itself.
json shallow_json(const std::string& text) {
  constexpr int kDeepest = 64;
  return json::parse(text, [](int depth, json::parse_event_t, json&) {
    return depth <= kDeepest ? true : throw SetupError("the order has too many levels");
  });
}

/// A text that begins with @ names a file.
bool names_file(const json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().starts_with('@');
  return value.is_structured() && std::ranges::any_of(value, names_file);
}

Reach reach_of(const json& port) {
  const Reach reach{whole_of<std::int64_t>(port.at("past")), whole_of<std::int64_t>(port.at("future"))};
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (reach.past < 0 || reach.future < 0 || reach.past > kMost || reach.future > kMost)
    throw SetupError("the order has an impossible reach");
  return reach;
}

OrderedWork read_json(const json& order, const Catalogue& catalogue) {
  if (names_file(order)) throw SetupError("the order names a file");
  if (order.at("v") != kVersion) throw SetupError("the order is of another version of iqd");
  Problems problems;
  const Document document = parse_document(order.at("pipeline").dump(), "order", problems);
  OrderedWork work{
      order.at("build"), stream_of(order.at("stream")), read_chain(document.root, catalogue, problems), {}, problems};
  if (!problems.empty()) throw SetupError("the order: " + problems.front().text());
  const auto runs_program = [](const StageSpec& stage) { return stage.as_read->has_program(); };
  if (std::ranges::any_of(work.spec.stages, runs_program)) throw SetupError("the order has a stage with a program");
  for (const json& port : order.at("returns"))
    work.returns.push_back({port.at("port"), port.at("dtype"), reach_of(port)});
  return work;
}

std::string hash_of(const std::string& text) {
  Sha256 hash;
  hash.add(text);
  return hash.hex();
}

}  // namespace

WorkOrder make_order(const PipelineSpec& spec, const StreamInfo& stream, const Plan& plan) {
  const ordered_json pipeline{
      {"name", spec.name}, {"block", spec.block}, {"fuse", spec.fuse}, {"stages", stages_json(spec, plan)}};
  ordered_json returns = ordered_json::array();
  for (const PortIndex port : plan.away.returned) returns.push_back(return_json(plan, port));
  const ordered_json order{{"v", kVersion},
                           {"build", build_mark()},
                           {"pipeline", pipeline},
                           {"stream", stream_json(stream)},
                           {"returns", std::move(returns)}};
  WorkOrder made{order.dump(), {}};
  made.hash = hash_of(made.text);
  return made;
}

OrderedWork read_order(const WorkOrder& order, const Catalogue& catalogue) {
  if (hash_of(order.text) != order.hash) throw SetupError("the order is not the one that its block names");
  try {
    return read_json(shallow_json(order.text), catalogue);
  } catch (const json::exception& e) {
    throw SetupError(fmt::format("the order is not one: {}", e.what()));
  }
}

std::string build_mark() {
  return std::string(kernel_mark());
}

}  // namespace iqd
