// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec.hpp"

#include <fmt/format.h>

#include <set>

#include "base/pool.hpp"
#include "config/reader.hpp"
#include "pipeline/spec/spec_apply.hpp"
#include "pipeline/spec/spec_backends.hpp"
#include "pipeline/spec/spec_drivers.hpp"
#include "pipeline/spec/spec_entry.hpp"
#include "pipeline/spec/spec_monitor.hpp"
#include "pipeline/spec/spec_pool.hpp"
#include "pipeline/spec/spec_shares.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {
namespace {

/// Entries of a list (stages, publish entries, pipelines, …): far more than can run at the same time.
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

bool is_list(const Node& node, Problems& problems) {
  if (node.kind() == Node::Kind::sequence) return true;
  if (node) problems.push_back({node.place(), node.path(), fmt::format("expected a list, found {}", node.found())});
  return false;
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

/// An entry that names no stage of this build. Other entries may still name its ports.
StageSpec unread_stage(const Node& keys, std::string name, Connections from, Problems& problems) {
  Section section(keys.path(), keys.place(), problems);
  if (keys["from"]) section.note("from", keys.key_place("from"));
  return {nullptr, std::move(name), std::move(from), {}, Node(), std::move(section), nullptr, /*is_wrong=*/true, {}};
}

/// An entry that is not `stage: keys` may be meant as any stage that it mentions.
StageSpec unread_entry(const Node& item, Problems& problems) {
  StageSpec stage = unread_stage(item, item.scalar(), {}, problems);
  for (const auto& [key, value] : item.entries()) {
    stage.other_names.push_back(key);
    if (key == "name" || value["name"]) stage.name = key == "name" ? value.scalar() : value["name"].scalar();
  }
  return stage;
}

void read_stage(const Node& item, PipelineSpec& spec, const Catalogue& catalogue, std::span<const Override> overrides,
                std::set<std::string>& names, Problems& problems) {
  const auto entry = only_entry(item, "a stage", problems);
  if (!entry) return spec.stages.push_back(unread_entry(item, problems));
  const std::string& key = entry->first;
  std::string name = entry->second["name"] ? entry->second["name"].scalar() : key;
  const Node node = overridden(entry->second, spec.name, name, overrides);
  const StageEntry* stage = find_stage(key, catalogue.stages);
  if (!stage) {
    const auto known = names_of(catalogue.stages);
    problems.push_back({item.key_place(key), node.path(),
                        fmt::format("unknown stage{}; `iqd stages` lists all", did_you_mean(key, known))});
    spec.stages.push_back(unread_stage(node, std::move(name), read_from(node["from"], problems), problems));
    if (!node["name"]) spec.stages.back().other_names.emplace_back(nearest(key, known));
    return;
  }
  const std::size_t before = problems.size();
  std::unique_ptr<Stage> made = stage->make();
  std::vector<std::string> backend;
  Section section = read_keys(
      node, item, key,
      [&](FieldVisitor& v) {
        made->fields(v);
        stage_backend_field(backend, v);
      },
      problems, kStageReserved);
  Connections from = read_from(node["from"], problems);
  const bool is_wrong = problems.size() > before;
  const bool simple = !name.empty() && name.find_first_of(". ~\t") == name.npos && name != "source";
  if (!simple)
    section.problem("name",
                    fmt::format("'{}' cannot be a name: letters, digits, - and _ only, and not 'source'", name));
  if (!names.insert(name).second)
    section.problem(node["name"] ? "name" : "",
                    fmt::format("there is already a '{}': give this one its own `name:`", name));
  spec.stages.push_back({stage,
                         std::move(name),
                         std::move(from),
                         std::move(backend),
                         node,
                         std::move(section),
                         std::move(made),
                         is_wrong,
                         {}});
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

void read_list(const Node& node, Problems& problems, const std::function<void(const Node&)>& each) {
  if (!is_list(node, problems)) return;
  const std::vector<Node> items = node.items();
  if (items.size() > kMostItems)
    return problems.push_back(
        {node.place(), node.path(), fmt::format("has {} entries; at most {} are allowed", items.size(), kMostItems)});
  for (const Node& item : items) {
    if (are_enough(problems)) return;
    each(item);
  }
}

void read_added(const AddedSink& sink, PipelineSpec& spec, const Catalogue& catalogue, Problems& problems) {
  const std::size_t before = spec.sinks.size();
  read_sink(sink.entry, spec, catalogue, problems);
  if (sink.is_open && spec.sinks.size() > before && spec.sinks.back().options) spec.sinks.back().options->note_open();
}

/// What a file's pipelines get besides their own keys.
struct Requested {
  std::span<const Override> overrides;
  std::span<const AddedSink> sinks;
};

PipelineSpec read_pipeline(const Node& node, bool nested, const Catalogue& catalogue, const Requested& requested,
                           Problems& problems) {
  PipelineSpec spec(Section(node.path(), node.place(), problems));
  static constexpr std::string_view kReserved[] = {"source", "stages",  "publish", "sinks",
                                                   "apply",  "overrun", "pool",    "monitor"};
  const std::span<const std::string_view> reserved(kReserved, nested ? 7 : 8);
  OverrunField overrun;
  spec.section = read_fields(
      node,
      [&](FieldVisitor& v) {
        pipeline_fields(spec, v);
        v.field("overrun", overrun.choice, {.help = "what happens to samples when there is no room for them"});
      },
      problems, reserved);
  if (overrun.choice != OverrunField::Choice::source)
    spec.overrun = overrun.choice == OverrunField::Choice::drop ? Overrun::drop : Overrun::wait;
  if (node.kind() != Node::Kind::map && node.kind() != Node::Kind::null) return spec;  // there is nothing to read
  read_source(node["source"], spec, catalogue, requested.overrides, problems);
  std::set<std::string> names;
  read_list(node["stages"], problems,
            [&](const Node& n) { read_stage(n, spec, catalogue, requested.overrides, names, problems); });
  read_pool(node, spec, catalogue, problems);
  check_backends(spec);
  if (spec.backend.empty()) spec.backend = {"auto"};  // for the rest of the checks
  read_list(node["publish"], problems, [&](const Node& n) { read_publish(n, spec, catalogue, problems); });
  read_list(node["sinks"], problems, [&](const Node& n) { read_sink(n, spec, catalogue, problems); });
  for (const AddedSink& sink : requested.sinks)
    if (sink.pipeline == spec.name) read_added(sink, spec, catalogue, problems);
  read_list(node["apply"], problems, [&](const Node& n) { read_apply(n, spec, problems); });
  return spec;
}

}  // namespace

PipelineSpec read_chain(const Node& node, const Catalogue& catalogue, Problems& problems) {
  static constexpr std::string_view kReserved[] = {"stages"};
  PipelineSpec spec(Section(node.path(), node.place(), problems));
  spec.section = read_fields(
      node, [&](FieldVisitor& v) { pipeline_fields(spec, v); }, problems, kReserved);
  std::set<std::string> names;
  read_list(node["stages"], problems, [&](const Node& n) { read_stage(n, spec, catalogue, {}, names, problems); });
  return spec;
}

Spec read_spec(const Document& document, const Catalogue& catalogue, Problems& problems,
               std::span<const Override> overrides, std::span<const AddedSink> added) {
  const Requested requested{overrides, added};
  Spec spec;
  spec.is_whole = !document.is_damaged;
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
  if (root["work"]) {
    static constexpr std::string_view kReserved[] = {"work", "monitor"};
    read_fields(
        root, [](FieldVisitor&) {}, problems, kReserved);
    spec.work = root["work"];
  } else if (root["pipelines"]) {
    static constexpr std::string_view kReserved[] = {"pipelines", "monitor"};
    read_fields(
        root, [](FieldVisitor&) {}, problems, kReserved);
    std::set<std::string> names;
    read_list(root["pipelines"], problems, [&](const Node& n) {
      if (document.is_damaged && n.kind() == Node::Kind::null) return;
      PipelineSpec pipeline = read_pipeline(n, true, catalogue, requested, problems);
      if (!names.insert(pipeline.name).second)
        pipeline.section.problem(
            "name", fmt::format("there is already a pipeline '{}': each needs its own `name:`", pipeline.name));
      spec.pipelines.push_back(std::move(pipeline));
    });
    if (spec.pipelines.empty() && spec.is_whole)
      problems.push_back({root.key_place("pipelines"), "pipelines", "the list is empty"});
  } else {
    spec.pipelines.push_back(read_pipeline(root, false, catalogue, requested, problems));
  }
  find_live_keys(spec);
  divide_devices(spec);
  read_monitor(root["monitor"], spec, problems);
  sort_by_place(problems, before);
  return spec;
}

const StageSpec* stage_named(const PipelineSpec& spec, std::string_view name) {
  const auto stage = std::ranges::find(spec.stages, name, &StageSpec::name);
  return stage == spec.stages.end() ? nullptr : &*stage;
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
