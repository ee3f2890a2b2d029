// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "config/reader.hpp"
#include "pipeline/spec/calibration_table.hpp"
#include "pipeline/spec/spec_apply.hpp"
#include "pipeline/spec/spec_backends.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {
namespace {

/// Of a list of stages, publish entries, pipelines, …: far more than run at the same time.
constexpr std::size_t kMostItems = 4096;
constexpr std::string_view kStageReserved[] = {"name", "from", "backend"};

struct OverrunField {
  enum class Choice : int { source, drop, wait } choice = Choice::source;
};
std::span<const std::string_view> enum_names(OverrunField::Choice) {
  static constexpr std::string_view names[] = {"auto", "drop", "wait"};
  return names;
}

std::vector<std::string_view> names_of(std::span<const StageEntry> stages) {
  std::vector<std::string_view> names;
  for (const StageEntry& e : stages) names.push_back(e.name);
  return names;
}

/// The drivers that can do it: be a source, or a sink.
template <class Make>
std::vector<std::string_view> names_of(std::span<const DriverEntry> drivers, Make DriverEntry::*make) {
  std::vector<std::string_view> names;
  for (const DriverEntry& d : drivers)
    if (d.*make) names.push_back(d.name);
  return names;
}

/// The one key of a map that names what is meant: a driver, a stage.
std::optional<std::pair<std::string, Node>> only_entry(const Node& node, std::string_view what, Problems& problems) {
  const auto entries = node.entries();
  if (entries.size() == 1) return entries.front();
  problems.push_back({node.place(), node.path(),
                      fmt::format("expected one key, the name of {}, found {}", what,
                                  entries.empty() ? node.found() : fmt::format("{} keys", entries.size()))});
  return std::nullopt;
}

bool is_list(const Node& node, Problems& problems) {
  if (node.kind() == Node::Kind::sequence) return true;
  if (node) problems.push_back({node.place(), node.path(), fmt::format("expected a list, found {}", node.found())});
  return false;
}

/// A stage, driver or the like may be written without keys: `- conjugate:`.
Section read_optional(const Node& node, const Node& parent, std::string_view key,
                      const std::function<void(FieldVisitor&)>& fields, Problems& problems,
                      std::span<const std::string_view> reserved = {}) {
  if (node.kind() != Node::Kind::null) return read_fields(node, fields, problems, reserved);
  Section section = read_fields(parent["~"], fields, problems, reserved);
  return Section(node.path(), parent.key_place(key), problems);
}

Connections read_from(const Node& node, Problems& problems) {
  Connections from;
  if (node.kind() == Node::Kind::scalar) from[""] = node.scalar();
  for (const auto& [input, port] : node.entries()) {
    if (port.kind() == Node::Kind::scalar) {
      from[input] = port.scalar();
    } else if (!are_enough(problems)) {
      problems.push_back({port.place(), port.path(), "expected stage.output, found " + port.found()});
    }
  }
  if (node && from.empty() && node.kind() != Node::Kind::map)
    problems.push_back(
        {node.place(), node.path(), "expected stage.output or {input: stage.output}, found " + node.found()});
  return from;
}

/// The keys of a stage, or of the source, with those that hold instead.
Node overridden(Node keys, const std::string& name, const PipelineSpec& spec, std::span<const Override> overrides) {
  for (const Override& o : overrides)
    if (o.pipeline == spec.name && o.stage == name) keys = with_entries(keys, o.keys);
  return keys;
}

void read_stage(const Node& item, PipelineSpec& spec, const Catalogue& catalogue, std::span<const Override> overrides,
                std::set<std::string>& names, Problems& problems) {
  const auto entry = only_entry(item, "a stage", problems);
  if (!entry) return;
  const std::string& key = entry->first;
  std::string name = entry->second["name"] ? entry->second["name"].scalar() : key;
  const Node node = overridden(entry->second, name, spec, overrides);
  const StageEntry* stage = find_stage(key, catalogue.stages);
  if (!stage) {
    const auto known = names_of(catalogue.stages);
    problems.push_back(
        {item.key_place(key), node.path(),
         fmt::format("there is no stage of this name{}; `iqd stages` lists them", did_you_mean(key, known))});
    return;
  }
  std::unique_ptr<Stage> made = stage->make();
  Section section = read_optional(
      node, item, key, [&](FieldVisitor& v) { made->fields(v); }, problems, kStageReserved);
  const bool simple = !name.empty() && name.find_first_of(". ~\t") == name.npos && name != "source";
  if (!simple)
    section.problem("name",
                    fmt::format("'{}' cannot be a name: letters, digits, - and _ only, and not 'source'", name));
  if (!names.insert(name).second)
    section.problem(node["name"] ? "name" : "",
                    fmt::format("there is a '{}' already: give this one a `name:` of its own", name));
  const std::string backend = node["backend"] ? node["backend"].scalar() : "";
  if (!backend.empty()) check_backend(backend, section);
  spec.stages.push_back(
      {stage, std::move(name), read_from(node["from"], problems), backend, node, std::move(section), std::move(made)});
}

void read_source(const Node& node, PipelineSpec& spec, const Catalogue& catalogue, std::span<const Override> overrides,
                 Problems& problems) {
  if (!node) {
    const auto known = names_of(catalogue.drivers, &DriverEntry::make_source);
    problems.push_back({node.place(), node.path(), fmt::format("is required: one of {}", fmt::join(known, ", "))});
    return;
  }
  const auto entry = only_entry(node, "a driver", problems);
  if (!entry) return;
  const auto found = std::find_if(catalogue.drivers.begin(), catalogue.drivers.end(),
                                  [&](const DriverEntry& d) { return d.name == entry->first && d.make_source; });
  if (found == catalogue.drivers.end()) {
    const auto known = names_of(catalogue.drivers, &DriverEntry::make_source);
    problems.push_back({node.key_place(entry->first), entry->second.path(),
                        fmt::format("this iqd has no such source{}; it has {}", did_you_mean(entry->first, known),
                                    fmt::join(known, ", "))});
    return;
  }
  spec.driver = &*found;
  spec.source = found->make_source();
  spec.source_section = read_optional(
      overridden(entry->second, "source", spec, overrides), node, entry->first,
      [&](FieldVisitor& v) { spec.source->fields(v); }, problems);
  if (const std::string path = spec.source->calibration(); !path.empty()) {
    const std::filesystem::path here = std::filesystem::path(node.place().file).parent_path();
    if (auto table = load_calibration((here / path).string(), problems))
      spec.calibration = std::make_shared<CalibrationTable>(*table);
  }
}

void read_publish(const Node& item, PipelineSpec& spec, const Catalogue& catalogue, Problems& problems) {
  PublishSpec publish{{}, {}, false, catalogue.make_publish(), Section("", {}, problems)};
  publish.section = read_fields(
      item,
      [&](FieldVisitor& v) {
        publish_fields(publish, v);
        publish.options->fields(v);
      },
      problems);
  if (item.kind() != Node::Kind::map) return;
  if (!publish.dtype.empty() && !element_named(publish.dtype))
    publish.section.problem("dtype",
                            fmt::format("'{}' is not an element type: sc16 cf32 f32 f16 i32 i16 i8 u8", publish.dtype));
  spec.publish.push_back(std::move(publish));
}

void read_sink(const Node& item, PipelineSpec& spec, const Catalogue& catalogue, Problems& problems) {
  SinkSpec sink{{}, nullptr, nullptr, Section(item.path(), item.place(), problems)};
  const auto known = names_of(catalogue.drivers, &DriverEntry::make_sink);
  bool is_known = true;
  const auto entries = item.entries();
  const auto places = item.key_places();
  for (std::size_t i = 0; i < entries.size() && !are_enough(problems); ++i) {
    const auto& [key, node] = entries[i];
    sink.section.note(key, places[i]);
    const auto driver = std::find_if(catalogue.drivers.begin(), catalogue.drivers.end(),
                                     [&k = key](const DriverEntry& d) { return d.name == k && d.make_sink; });
    if (key == "port") {
      sink.port = node.scalar();
    } else if (driver == catalogue.drivers.end()) {
      is_known = false;
      sink.section.problem(key, fmt::format("is neither `port` nor a sink of this iqd{}", did_you_mean(key, known)));
    } else if (sink.driver) {
      sink.section.problem(key, "one sink an entry: make a second entry for this one");
    } else {
      sink.driver = &*driver;
      sink.options = driver->make_sink();
      sink.section = read_optional(
          node, item, key, [&](FieldVisitor& v) { sink.options->fields(v); }, problems);
    }
  }
  if (sink.port.empty()) sink.section.problem("", "needs `port: stage.output`");
  if (!sink.driver && is_known)
    sink.section.problem("", fmt::format("needs a sink: one of {}", fmt::join(known, ", ")));
  if (sink.driver && !sink.port.empty()) spec.sinks.push_back(std::move(sink));
}

void read_list(const Node& node, Problems& problems, const std::function<void(const Node&)>& each) {
  if (!is_list(node, problems)) return;
  const std::vector<Node> items = node.items();
  if (items.size() > kMostItems)
    return problems.push_back(
        {node.place(), node.path(), fmt::format("has {} entries; {} are the most", items.size(), kMostItems)});
  for (const Node& item : items) {
    if (are_enough(problems)) return;
    each(item);
  }
}

PipelineSpec read_pipeline(const Node& node, bool nested, const Catalogue& catalogue,
                           std::span<const Override> overrides, Problems& problems) {
  PipelineSpec spec(Section(node.path(), node.place(), problems));
  static constexpr std::string_view kReserved[] = {"source", "stages",  "publish", "sinks",
                                                   "apply",  "overrun", "monitor"};
  const std::span<const std::string_view> reserved(kReserved, nested ? 6 : 7);
  OverrunField overrun;
  spec.section = read_fields(
      node,
      [&](FieldVisitor& v) {
        pipeline_fields(spec, v);
        v.field("overrun", overrun.choice, {.help = "what happens to samples that there is no room for"});
      },
      problems, reserved);
  if (overrun.choice != OverrunField::Choice::source)
    spec.overrun = overrun.choice == OverrunField::Choice::drop ? Overrun::drop : Overrun::wait;
  read_source(node["source"], spec, catalogue, overrides, problems);
  std::set<std::string> names;
  const std::size_t before_stages = problems.size();
  read_list(node["stages"], problems,
            [&](const Node& n) { read_stage(n, spec, catalogue, overrides, names, problems); });
  spec.stages_are_wrong = problems.size() > before_stages;
  check_backends(spec);
  if (spec.backend.empty()) spec.backend = {"auto"};  // for the rest of the checks
  read_list(node["publish"], problems, [&](const Node& n) { read_publish(n, spec, catalogue, problems); });
  read_list(node["sinks"], problems, [&](const Node& n) { read_sink(n, spec, catalogue, problems); });
  read_list(node["apply"], problems, [&](const Node& n) { read_apply(n, spec, problems); });
  return spec;
}

}  // namespace

Spec read_spec(const Document& document, const Catalogue& catalogue, Problems& problems,
               std::span<const Override> overrides) {
  Spec spec;
  const std::size_t before = problems.size();
  const Node& root = document.root;
  if (root.kind() != Node::Kind::map) {
    if (problems.empty())
      problems.push_back(
          {{document.file, 1, 1},
           "",
           fmt::format("expected a pipeline (a map with source, stages, publish), found {}", root.found())});
    return spec;
  }
  if (root["pipelines"]) {
    static constexpr std::string_view kReserved[] = {"pipelines", "monitor"};
    read_fields(
        root, [](FieldVisitor&) {}, problems, kReserved);
    std::set<std::string> names;
    read_list(root["pipelines"], problems, [&](const Node& n) {
      PipelineSpec pipeline = read_pipeline(n, true, catalogue, overrides, problems);
      if (!names.insert(pipeline.name).second)
        pipeline.section.problem(
            "name", fmt::format("there is a pipeline '{}' already: each needs a `name:` of its own", pipeline.name));
      spec.pipelines.push_back(std::move(pipeline));
    });
    if (spec.pipelines.empty())
      problems.push_back({root.key_place("pipelines"), "pipelines", "no pipeline in the list"});
  } else {
    spec.pipelines.push_back(read_pipeline(root, false, catalogue, overrides, problems));
  }
  find_live_keys(spec);
  if (root["monitor"])
    spec.monitor = read_fields(
        root["monitor"], [&](FieldVisitor& v) { monitor_fields(spec, v); }, problems);
  sort_by_place(problems, before);
  return spec;
}

std::vector<RouteSpec> routes_of(const PipelineSpec& spec) {
  std::vector<RouteSpec> routes;
  for (const PublishSpec& p : spec.publish) routes.emplace_back(&p);
  for (const SinkSpec& s : spec.sinks) routes.emplace_back(&s);
  for (const ApplySpec& a : spec.apply) routes.emplace_back(&a);
  return routes;
}

std::unique_ptr<Stage> StageSpec::make() const {
  std::unique_ptr<Stage> stage = entry->make();
  Problems known;
  if (node.kind() == Node::Kind::map)
    read_fields(
        node, [&](FieldVisitor& v) { stage->fields(v); }, known, kStageReserved);
  stage->keep_program(*as_read);
  return stage;
}

}  // namespace iqd
