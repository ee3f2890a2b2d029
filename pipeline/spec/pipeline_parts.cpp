// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/pipeline_parts.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>

#include "pipeline/stage/stage.hpp"

namespace iqd {
namespace {

using Kind = PipelinePart::Kind;

PipelinePart part_of(const SinkSpec& sink, const Catalogue&, std::size_t number) {
  const auto with_port = [](const std::string& port, std::shared_ptr<SinkOptions> options) {
    return [port = std::make_shared<std::string>(port), options = std::move(options)](FieldVisitor& v) {
      v.field("port", *port, {.help = "stage.output", .required = true});
      options->fields(v);
    };
  };
  return {Kind::sink, fmt::format("sinks.{}", number), sink.driver->name, with_port(sink.port, sink.options),
          with_port("", sink.driver->make_sink())};
}

PipelinePart part_of(const PublishSpec& publish, const Catalogue& catalogue, std::size_t number) {
  const auto with_entry = [](PublishSpec entry, OutletOptions* options) {
    return [entry = std::make_shared<PublishSpec>(std::move(entry)), options](FieldVisitor& v) {
      publish_fields(*entry, v);
      (options ? options : entry->options.get())->fields(v);
    };
  };
  PublishSpec now{publish.port, publish.dtype, publish.send_empty, nullptr, publish.section};
  PublishSpec fresh{{}, {}, false, catalogue.make_publish(), publish.section};
  return {Kind::publish,
          fmt::format("publish.{}", number),
          {},
          with_entry(std::move(now), publish.options.get()),
          with_entry(std::move(fresh), nullptr)};
}

PipelinePart part_of(const ApplySpec& apply, const Catalogue&, std::size_t number) {
  const auto with_entry = [](const ApplySpec& entry) {
    return [entry = std::make_shared<ApplySpec>(entry)](FieldVisitor& v) { apply_fields(*entry, v); };
  };
  return {Kind::apply, fmt::format("apply.{}", number), {}, with_entry(apply), with_entry({{}, {}, apply.section})};
}

}  // namespace

std::string_view name_of(PipelinePart::Kind kind) {
  static constexpr std::array<std::string_view, 5> kNames{"source", "stage", "publish", "sink", "apply"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::vector<PipelinePart> parts_of(const PipelineSpec& spec, const Catalogue& catalogue) {
  std::vector<PipelinePart> parts;
  parts.push_back({Kind::source, "source", spec.driver->name, [&spec](FieldVisitor& v) { spec.source->fields(v); },
                   [&spec](FieldVisitor& v) { spec.driver->make_source()->fields(v); }});
  for (const StageSpec& stage : spec.stages)
    parts.push_back({Kind::stage, stage.name, stage.entry->name,
                     [&stage](FieldVisitor& v) { stage.as_read->fields(v); },
                     [&stage](FieldVisitor& v) { stage.entry->make()->fields(v); }});
  const std::size_t routes = parts.size();
  const auto add_all = [&](const auto& entries) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      parts.push_back(part_of(entries[i], catalogue, i));
      parts.back().route = parts.size() - 1 - routes;
    }
  };
  add_all(spec.publish);
  add_all(spec.sinks);
  add_all(spec.apply);
  return parts;
}

}  // namespace iqd
