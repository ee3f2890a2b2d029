// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/command/described.hpp"

#include <fmt/format.h>

#include <memory>

#include "base/pool.hpp"
#include "daemon/command/commands.hpp"

namespace iqd {
namespace {

std::string ports_text(const StageEntry& stage) {
  std::string in, out;
  for (const InputSpec& i : stage.inputs) {
    std::string elements;
    for (const Element e : i.elements) elements += fmt::format("{}{}", elements.empty() ? "" : "/", name_of(e));
    in += fmt::format("{}{} {} {}", in.empty() ? "" : ", ", i.name, elements, i.dims);
  }
  for (const OutputSpec& o : stage.outputs) out += fmt::format("{}{}", out.empty() ? "" : ", ", o.name);
  return fmt::format("{} -> {}", in, out);
}

Described of_stage(const StageEntry& stage) {
  return {std::string(stage.name),
          std::string(stage.family),
          std::string(stage.summary),
          ports_text(stage),
          fmt::format("  - {}", stage.sample),
          [&stage](FieldVisitor& v) { stage.make()->fields(v); }};
}

/// The keys that must be given, `rate: …, path: …`.
class RequiredKeys final : public FieldVisitor {
 public:
  void visit(std::string_view key, FieldRef, const FieldInfo& info) override {
    if (info.required) text_ += fmt::format("{}{}: …", text_.empty() ? "" : ", ", key);
  }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

std::string required_of(const FieldList& fields) {
  RequiredKeys keys;
  fields(keys);
  return keys.text();
}

void add_driver(std::vector<Described>& all, const DriverEntry& driver) {
  const std::string name(driver.name), summary(driver.summary);
  if (driver.make_source) {
    const FieldList fields = [make = driver.make_source](FieldVisitor& v) { make()->fields(v); };
    all.push_back({name, "source", summary, "-> source",
                   fmt::format("source:\n  {}: {{{}}}", name, required_of(fields)), fields});
  }
  if (driver.make_sink) {
    const FieldList fields = [make = driver.make_sink](FieldVisitor& v) { make()->fields(v); };
    all.push_back({name, "sink", summary, "stage.output ->",
                   fmt::format("sinks:\n  - {{port: stage.output, {}: {{{}}}}}", name, required_of(fields)), fields});
  }
}

void publish_keys(FieldVisitor& v) {
  Problems none;
  PublishSpec entry{{}, {}, false, nullptr, Section("", {}, none)};
  publish_fields(entry, v);
  catalogue().make_publish()->fields(v);
}

void apply_keys(FieldVisitor& v) {
  Problems none;
  ApplySpec entry{{}, {}, Section("", {}, none)};
  apply_fields(entry, v);
}

void pipeline_keys(FieldVisitor& v) {
  Problems none;
  PipelineSpec spec(Section("", {}, none));
  pipeline_fields(spec, v);
}

void monitor_keys(FieldVisitor& v) {
  Spec spec;
  monitor_fields(spec, v);
}

void pool_keys(FieldVisitor& v) {
  catalogue().make_pool()->fields(v);
}

void work_keys(FieldVisitor& v) {
  WorkConfig().fields(v);
}

}  // namespace

std::vector<Described> all_described() {
  std::vector<Described> all;
  for (const StageEntry& stage : catalogue().stages) all.push_back(of_stage(stage));
  for (const DriverEntry& driver : catalogue().drivers) add_driver(all, driver);
  all.push_back({"publish", "outlet", "sends a port's messages on a topic over ZeroMQ", "stage.output ->",
                 "publish:\n  - {port: stage.output, topic: name, bind: \"tcp://127.0.0.1:5555\"}", publish_keys});
  all.push_back({"apply", "outlet", "sets a live key to the last value of a port", "stage.output ->",
                 "apply:\n  - {port: stage.output, to: stage.key}", apply_keys});
  all.push_back({"pipeline", "file", "the keys of a pipeline besides source, stages and outlets", "source ->",
                 "name: first\nsource: …\nblock: 65536\nstages: …", pipeline_keys});
  all.push_back({"monitor", "file", "metrics, status and changes over HTTP", "-",
                 "monitor: {listen: \"127.0.0.1:9464\"}", monitor_keys});
  all.push_back({"pool", "file", "other hosts that share the blocks of a pipeline: docs/hosts.md", "source ->",
                 "backend: [cpu, pool]\npool: {servers: [\"nats://127.0.0.1:4222\"]}", pool_keys});
  all.push_back({"work", "file", "a worker for pools, in a file of its own: docs/hosts.md", "-",
                 "work: {servers: [\"nats://127.0.0.1:4222\"], pools: [first]}", work_keys});
  return all;
}

}  // namespace iqd
