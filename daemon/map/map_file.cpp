// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/map/map_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "config/flow_text.hpp"

namespace iqd {
namespace {

using Json = nlohmann::ordered_json;

/// A text in a map; empty if there is none.
std::string text_at(const Json& map, const char* key) {
  const auto found = map.is_object() ? map.find(key) : map.end();
  return found != map.end() && found->is_string() ? found->get<std::string>() : "";
}
/// The entries of a list in a map.
std::vector<Json> list_at(const Json& map, const char* key) {
  const auto found = map.is_object() ? map.find(key) : map.end();
  return found != map.end() && found->is_array() ? found->get<std::vector<Json>>() : std::vector<Json>();
}

Json pipeline_of(const Json& file, const std::string& name) {
  if (!file.contains("pipelines") && (name.empty() || text_at(file, "name") == name)) return file;
  std::vector<std::string> names;
  if (!file.contains("pipelines")) names.push_back(text_at(file, "name"));
  const std::vector<Json> pipelines = list_at(file, "pipelines");
  for (const Json& pipeline : pipelines) {
    const std::string its = text_at(pipeline, "name");
    if (its == name || (name.empty() && pipelines.size() == 1)) return pipeline;
    names.push_back(its);
  }
  throw UsageError(fmt::format("map: choose a --pipeline: {}", fmt::join(names, ", ")));
}

/// A file source keeps its other keys, such as the format of a raw recording.
Json source_of(const Json& pipeline, const std::string& recording) {
  const Json source = pipeline.is_object() && pipeline.contains("source") ? pipeline["source"] : Json();
  const bool is_file = source.is_object() && source.contains("file");
  if (recording.empty() && !is_file) throw UsageError("map: name a recording: the pipeline's source is none");
  Json keys = is_file && source["file"].is_object() ? source["file"] : Json::object();
  if (is_file && source["file"].is_string()) keys["path"] = source["file"];
  if (!recording.empty()) keys["path"] = std::filesystem::absolute(recording).string();
  for (const char* const key : {"window", "warm", "repeat", "pace"}) keys.erase(key);
  return {{"file", keys}};
}

class Sinks {
 public:
  Sinks(const Json& pipeline, const MapFileSetup& setup) : setup_(setup) {
    for (const Json& sink : list_at(pipeline, "sinks"))
      if (sink.is_object() && sink.contains("file")) add_sink(sink);
    for (const Json& topic : list_at(pipeline, "publish"))
      if (const std::string port = text_at(topic, "port"); !port.empty()) add_topic(port);
    if (all_.empty()) throw UsageError("map: the pipeline has neither topics nor sinks that write files");
  }
  const Json& all() const noexcept { return all_; }

 private:
  void add_sink(Json sink) {
    if (!sink["file"].is_object()) sink["file"] = {{"path", sink["file"]}};
    ports_.insert(text_at(sink, "port"));
    add(sink, std::filesystem::path(text_at(sink["file"], "path")).filename().string());
  }
  void add_topic(const std::string& port) {
    if (!ports_.insert(port).second) return;
    add({{"port", port}, {"file", Json::object()}}, port + ".npy");
  }
  void add(Json sink, const std::string& name) {
    if (!names_.insert(name).second) throw UsageError(fmt::format("map: two sinks write '{}'", name));
    sink["file"]["path"] = (std::filesystem::path(setup_.folder) / name).string();
    sink["file"].erase("overwrite");
    all_.push_back(std::move(sink));
  }

  const MapFileSetup& setup_;
  Json all_ = Json::array();
  std::set<std::string> ports_, names_;
};

}  // namespace

std::string map_file(const Document& document, const MapFileSetup& setup) {
  const Json from = pipeline_of(Json::parse(json_text(document.root)), setup.pipeline);
  Json to;
  for (const auto& [key, value] : from.items()) {
    const bool is_live =
        key == "publish" || key == "monitor" || key == "sinks" || key == "overrun" || key == "realtime";
    if (!is_live) to[key] = value;
  }
  to["source"] = source_of(from, setup.recording);
  to["sinks"] = Sinks(from, setup).all();
  return to.dump(1) + "\n";
}

}  // namespace iqd
