// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/command/commands.hpp"
#include "daemon/exec/exec_input.hpp"
#include "daemon/exec/exec_outputs.hpp"
#include "daemon/exec/exec_request.hpp"
#include "daemon/run/daemon.hpp"
#include "pipeline/spec_plan.hpp"

namespace iqd {
namespace {

using nlohmann::ordered_json;

constexpr const char* kComposed = "command line";
/// Longer recordings are cut into blocks of the usual length unless the command line says something else.
constexpr std::int64_t kWholeMost = 1 << 22;
constexpr std::int64_t kMostBlock = 1 << 28;
constexpr std::int64_t kUsualBlock = 65536;

/// A pipeline of the stages; its source is replaced.
ordered_json document_of(const std::vector<ExecStage>& stages) {
  ordered_json list = ordered_json::array();
  for (const ExecStage& stage : stages) {
    ordered_json keys = ordered_json::parse(stage.keys);
    keys["name"] = stage.name;
    list.push_back({{stage.entry, std::move(keys)}});
  }
  return {{"name", "exec"}, {"source", {{"generate", {{"rate", "1 S/s"}}}}}, {"stages", std::move(list)}};
}

std::unique_ptr<Loaded> compose(const std::vector<ExecStage>& stages) {
  auto loaded = std::make_unique<Loaded>();
  Document document = parse_document(document_of(stages).dump(), kComposed, loaded->problems);
  if (loaded->problems.empty()) loaded->read(std::move(document));
  return loaded;
}

bool reads_source(const StageSpec& stage, bool first) {
  return (first && stage.from.empty()) ||
         std::ranges::any_of(stage.from, [](const auto& connection) { return connection.second == "source"; });
}

/// What all stages that read the source take; if there is nothing, what the first of them takes.
InputSpec reader_of(const PipelineSpec& spec) {
  InputSpec reader{.name = "in", .elements = {Element::sc16, Element::cf32, Element::f32, Element::i16, Element::u8}};
  bool found = false;
  for (const StageSpec& stage : spec.stages) {
    if (!reads_source(stage, &stage == &spec.stages.front()) || !stage.as_read->load(stage.section)) continue;
    const std::vector<InputSpec> inputs = stage.as_read->inputs(*stage.entry);
    if (inputs.empty()) continue;
    if (!std::exchange(found, true)) {
      reader.elements = inputs.front().elements;
      continue;
    }
    std::vector<Element> both;
    std::ranges::copy_if(reader.elements, std::back_inserter(both), [&](Element e) { return inputs.front().takes(e); });
    if (!both.empty()) reader.elements = both;
  }
  return reader;
}

/// The pipeline alone: without its radio, its readers and everything that depends on the time of day.
void isolate(Loaded& loaded, const ExecRequest& request) {
  Spec& spec = loaded.spec;
  std::vector<PipelineSpec> only;
  only.push_back(std::move(choose_pipeline("exec", spec, request.pipeline)));
  spec.pipelines = std::move(only);
  spec.listen.clear();
  spec.token_file.clear();
  spec.monitor.reset();
  PipelineSpec& pipeline = spec.pipelines.front();
  pipeline.publish.clear();
  pipeline.sinks.clear();
  pipeline.apply.clear();
  pipeline.overrun = Overrun::wait;
  pipeline.realtime = RealTime{};
  pipeline.short_blocks = true;
  if (!request.backend.empty()) pipeline.backend = {request.backend};
}

/// What the command line says, and what the pipeline's own source does.
ExecHints hints_of(const ExecRequest& request, const PipelineSpec& spec) {
  const auto [rate_hz, frequency_hz] = radio_of(request);
  ExecHints hints;
  if (!request.rate.empty()) hints.rate_hz = rate_hz;
  if (!request.frequency.empty()) hints.frequency_hz = frequency_hz;
  hints.format = request.format;
  hints.channels = request.channels;
  if (request.file.empty() || !spec.source) return hints;
  Problems unused;
  const StreamInfo own = spec.source->describe(Section("", {}, unused));
  if (own.rate_hz > 0) hints.usual_rate_hz = own.rate_hz;
  hints.usual_frequency_hz = own.frequency_hz;
  return hints;
}

void set_block(PipelineSpec& spec, const ExecRequest& request, const std::string& file,
               std::optional<std::int64_t> samples) {
  if (request.block > 0) {
    if (request.block > kMostBlock) throw UsageError(fmt::format("--block: at most {} samples", kMostBlock));
    spec.block = request.block;
    return;
  }
  if (request.whole && !samples)
    throw UsageError(fmt::format("--whole: the length of {} is not known; use --block", file));
  if (request.whole && *samples > kMostBlock)
    throw UsageError(
        fmt::format("--whole: {} has {} samples; a block has at most {}; use --block", file, *samples, kMostBlock));
  const bool whole = request.whole || (request.file.empty() && samples && *samples <= kWholeMost);
  if (whole) {
    spec.block = std::max<std::int64_t>(*samples, 1);
    spec.lanes = 1;
  } else if (request.file.empty()) {
    spec.block = kUsualBlock;
  }
}

/// The only input may be named as the first stage names it.
void refuse_other_input(const std::vector<ExecStage>& stages, const PortFile& in) {
  if (in.port.empty() || in.port == "in") return;
  const std::string_view name = stages.empty() ? "in" : find_stage(stages.front().entry)->inputs.front().name;
  if (in.port != name) throw UsageError(fmt::format("there is no port '{}'; available: {}", in.port, name));
}

/// The driver of a source that the command line made.
const DriverEntry& recording_driver() {
  static const DriverEntry driver{.name = "recording", .summary = "IN of iqd exec"};
  return driver;
}

}  // namespace

Exit run_on_recording(const ExecRequest& request, const std::vector<ExecStage>& stages, const std::vector<PortFile>& in,
                      const std::vector<PortFile>& out) {
  if (in.size() != 1) throw UsageError("exec: expected one recording; a stage with several inputs takes arrays");
  refuse_other_input(stages, in.front());
  auto loaded = request.file.empty() ? compose(stages) : load(request.file);
  const auto refused = [&] {
    name_places(loaded->problems, kComposed, stages);
    return report(loaded->problems);
  };
  if (refused()) return Exit::configuration;
  const std::vector<std::string> results = result_ports(choose_pipeline("exec", loaded->spec, request.pipeline));
  const ExecHints hints = hints_of(request, choose_pipeline("exec", loaded->spec, request.pipeline));
  isolate(*loaded, request);
  PipelineSpec& spec = loaded->spec.pipelines.front();
  const std::string& recording = in.front().file;
  spec.source_section = Section("", {recording}, loaded->problems);
  spec.driver = &recording_driver();
  ExecInput input = open_recording(recording, reader_of(spec), hints, *spec.source_section);
  set_block(spec, request, recording, input.samples);
  spec.source = std::move(input.source);
  std::vector<ExecOutput> outputs = name_outputs(out, spec, results);
  refuse_twice(out);
  refuse_own_input(recording, outputs);
  for (ExecOutput& output : outputs) add_output(spec, output, input.one_row, loaded->problems);
  if (loaded->problems.empty()) check_spec(loaded->spec, catalogue(), loaded->problems);
  if (refused()) return Exit::configuration;
  const Exit exit = run_pipelines(std::move(loaded), {.status = "none"});
  return exit == Exit::configuration ? exit : finish_outputs(outputs, exit);
}

}  // namespace iqd
