// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/pool.hpp"
#include "config/describe.hpp"
#include "daemon/command/commands.hpp"

namespace iqd {
namespace {

using nlohmann::json;

json list_of(json items) {
  return {{"type", "array"}, {"items", std::move(items)}};
}

json text(const char* description) {
  return {{"type", "string"}, {"description", description}};
}

/// A map with exactly one of these keys, such as `source:` and the items of `stages:`.
json one_of(json properties) {
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"minProperties", 1},
          {"maxProperties", 1},
          {"additionalProperties", false}};
}

json stage_schema() {
  json stages = json::object();
  for (const StageEntry& entry : catalogue().stages) {
    const auto stage = entry.make();
    std::vector<std::string> backend;
    json s = schema_of([&](FieldVisitor& v) {
      stage->fields(v);
      stage_backend_field(backend, v);
    });
    s["description"] = entry.summary;
    s["properties"]["name"] = text("name of this stage in the pipeline");
    s["properties"]["from"] = {{"description", "the ports that its inputs read"},
                               {"type", json::array({"string", "object"})}};
    if (!s.contains("required")) s["type"] = json::array({"object", "null"});
    stages[std::string(entry.name)] = std::move(s);
  }
  return one_of(std::move(stages));
}

json pipeline_schema() {
  Problems none;
  PipelineSpec spec(Section("", {}, none));
  json s = schema_of([&](FieldVisitor& v) { pipeline_fields(spec, v); });
  json sources = json::object(), sinks = json::object();
  for (const DriverEntry& d : catalogue().drivers) {
    if (d.make_source) {
      const auto options = d.make_source();
      sources[std::string(d.name)] = schema_of([&](FieldVisitor& v) { options->fields(v); });
    }
    if (d.make_sink) {
      const auto options = d.make_sink();
      sinks[std::string(d.name)] = schema_of([&](FieldVisitor& v) { options->fields(v); });
    }
  }
  const auto options = catalogue().make_publish();
  PublishSpec entry{{}, {}, false, nullptr, Section("", {}, none)};
  json publish = schema_of([&](FieldVisitor& v) {
    publish_fields(entry, v);
    options->fields(v);
  });
  ApplySpec setting{{}, {}, Section("", {}, none)};
  json apply = schema_of([&](FieldVisitor& v) { apply_fields(setting, v); });
  const auto pool = catalogue().make_pool();
  sinks["port"] = text("stage.output");
  json sink = one_of(std::move(sinks));
  sink["minProperties"] = sink["maxProperties"] = 2;
  sink["required"] = {"port"};
  json& p = s["properties"];
  p["source"] = one_of(std::move(sources));
  p["overrun"] = {{"enum", {"auto", "drop", "wait"}}};
  p["stages"] = list_of(stage_schema());
  p["publish"] = list_of(std::move(publish));
  p["sinks"] = list_of(std::move(sink));
  p["apply"] = list_of(std::move(apply));
  p["pool"] = schema_of([&](FieldVisitor& v) { pool->fields(v); });
  s["required"] = {"source"};
  return s;
}

json schema() {
  Spec spec;
  json pipeline = pipeline_schema();
  const json monitor = schema_of([&](FieldVisitor& v) { monitor_fields(spec, v); });
  json single = {{"$ref", "#/$defs/pipeline"}};
  json several = {{"type", "object"},
                  {"properties", {{"pipelines", list_of({{"$ref", "#/$defs/pipeline"}})}, {"monitor", monitor}}},
                  {"required", {"pipelines"}},
                  {"additionalProperties", false}};
  pipeline["properties"]["monitor"] = monitor;
  WorkConfig work;
  const json worker = {
      {"type", "object"},
      {"properties", {{"work", schema_of([&](FieldVisitor& v) { work.fields(v); })}, {"monitor", monitor}}},
      {"required", {"work"}},
      {"additionalProperties", false}};
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "iqd pipeline"},
          {"$defs", {{"pipeline", std::move(pipeline)}}},
          {"anyOf", json::array({std::move(single), std::move(several), worker})}};
}

void print_keys(std::string_view heading, const FieldList& fields) {
  fmt::print("\n{}\n\n{}", heading, markdown_table(fields));
}

/// The keys of all but the stages, for the documentation.
void print_markdown() {
  Problems none;
  PipelineSpec pipeline(Section("", {}, none));
  Spec file;
  PublishSpec entry{{}, {}, false, nullptr, Section("", {}, none)};
  ApplySpec apply{{}, {}, Section("", {}, none)};
  const auto publish = catalogue().make_publish();
  print_keys("## A pipeline", [&](FieldVisitor& v) { pipeline_fields(pipeline, v); });
  for (const DriverEntry& d : catalogue().drivers) {
    if (!d.make_source) continue;
    const auto options = d.make_source();
    print_keys(fmt::format("## `source: {}`", d.name), [&](FieldVisitor& v) { options->fields(v); });
  }
  print_keys("## An entry of `publish`", [&](FieldVisitor& v) {
    publish_fields(entry, v);
    publish->fields(v);
  });
  for (const DriverEntry& d : catalogue().drivers) {
    if (!d.make_sink) continue;
    const auto options = d.make_sink();
    print_keys(fmt::format("## An entry of `sinks` with `{}`", d.name), [&](FieldVisitor& v) { options->fields(v); });
  }
  print_keys("## An entry of `apply`", [&](FieldVisitor& v) { apply_fields(apply, v); });
  print_keys("## `pool`", [](FieldVisitor& v) { catalogue().make_pool()->fields(v); });
  print_keys("## `monitor`", [&](FieldVisitor& v) { monitor_fields(file, v); });
  print_keys("## `work`, in a file of its own", [](FieldVisitor& v) { WorkConfig().fields(v); });
}

}  // namespace

void add_schema(CommandLine& line) {
  auto markdown = std::make_shared<bool>(false);
  const Action print = [markdown] {
    if (*markdown)
      print_markdown();
    else
      std::puts(schema().dump(2).c_str());
    return Exit::ok;
  };
  line.command("schema", "print the JSON schema of a pipeline file, for editors", print)
      .option("--markdown", markdown.get(), "print the keys as tables for the documentation");
}

}  // namespace iqd
