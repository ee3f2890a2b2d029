// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/exec/exec_outputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "config/reader.hpp"
#include "daemon/command/commands.hpp"
#include "pipeline/stage/stage.hpp"
#include "radio/drivers.hpp"
#include "radio/file/recording_names.hpp"
#include "radio/file/sigmf.hpp"

namespace iqd {
namespace {

std::string port_of(const std::string& port, const PipelineSpec& spec) {
  if (spec.stages.empty()) return port;
  std::vector<std::string> names;
  for (const StageSpec& stage : spec.stages) names.push_back(stage.name);
  return whole_name(port, names, *spec.stages.back().entry);
}

void set_keys(SinkOptions& sink, const std::string& file, const Section& section) {
  const nlohmann::ordered_json keys = {{"path", file}, {"overwrite", true}};
  Problems found;
  const Document document = parse_document(keys.dump(), section.place().file, found);
  read_fields(
      document.root, [&](FieldVisitor& v) { sink.fields(v); }, found);
  for (const Problem& p : found) section.problem(p.path, p.what);
}

}  // namespace

std::vector<std::string> result_ports(const PipelineSpec& spec) {
  std::set<std::string> ports;
  for (const PublishSpec& p : spec.publish) ports.insert(p.port);
  for (const SinkSpec& s : spec.sinks) ports.insert(s.port);
  ports.erase("source");
  if (ports.size() == 1) return {*ports.begin()};
  if (spec.stages.empty()) return {"source"};
  const StageSpec& last = spec.stages.back();
  std::vector<std::string> outputs;
  for (const OutputSpec& o : last.entry->outputs) {
    outputs.push_back(fmt::format("{}.{}", last.name, o.name));
    if (o.name == "out") return {outputs.back()};
  }
  return outputs;
}

std::vector<ExecOutput> name_outputs(const std::vector<PortFile>& out, const PipelineSpec& spec,
                                     const std::vector<std::string>& results) {
  std::vector<ExecOutput> outputs;
  for (const PortFile& item : out) {
    if (item.port.empty() && results.size() != 1)
      throw UsageError(
          fmt::format("exec: say which port {} gets: --port with one of {}", item.file, fmt::join(results, ", ")));
    outputs.push_back({item.port.empty() ? results.front() : port_of(item.port, spec), item.file, item.label});
  }
  return outputs;
}

void refuse_own_input(const std::string& in, const std::vector<ExecOutput>& outputs) {
  if (radio::is_npy(in)) return;  // it is in memory
  const auto is_same = [](const std::string& a, const std::string& b) {
    std::error_code ignored;
    return std::filesystem::equivalent(a, b, ignored);
  };
  for (const ExecOutput& output : outputs) {
    if (is_same(in, output.file) || is_same(radio::sigmf_paths(in).data, radio::recording_files(output.file).front()))
      throw UsageError(fmt::format("exec: {} is the recording being read; choose another name", output.file));
  }
}

void add_output(PipelineSpec& spec, ExecOutput& output, bool one_row, Problems& problems) {
  const auto drivers = all_drivers();
  const DriverEntry& driver = *std::ranges::find(drivers, "file", &DriverEntry::name);
  Section section("", {output.label}, problems);
  std::unique_ptr<SinkOptions> sink;
  if (radio::is_npy(output.file)) {
    sink = array_sink(output.file, one_row, output.array);
  } else {
    sink = driver.make_sink();
    set_keys(*sink, output.file, section);
  }
  output.counts = std::make_shared<RecordingLimit>();
  spec.sinks.push_back({output.port, &driver, limit_sink(std::move(sink), output.counts), std::move(section)});
}

Exit finish_outputs(const std::vector<ExecOutput>& outputs, Exit exit) {
  for (const ExecOutput& output : outputs) {
    if (output.array) write_array(*output.array);
    fmt::print(stderr, "{}: {}\n", output.file, output.counts->summary());
    if (output.counts->refused) exit = Exit::failed;
  }
  return exit;
}

}  // namespace iqd
