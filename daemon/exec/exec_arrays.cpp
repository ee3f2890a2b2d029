// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "daemon/command/array_port.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/exec/exec_request.hpp"
#include "pipeline/plan/shape_check.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {
namespace {

/// A file for each port, by the stage's name of the port; a stage's only port (null: there are several) may also be
/// called `alias` or be left out.
template <class Specs> std::vector<std::string> files_of(const std::vector<PortFile>& given, const Specs& specs,
                                                         const typename Specs::value_type* only,
                                                         std::string_view alias) {
  std::vector<std::string> files(specs.size());
  for (const PortFile& item : given) {
    const std::string name = item.port.empty() ? std::string(alias) : item.port;
    std::string known;
    std::size_t at = specs.size();
    for (std::size_t s = 0; s < specs.size(); ++s) {
      known += fmt::format("{}{}", s ? ", " : "", specs[s].name);
      if (specs[s].name == name || (&specs[s] == only && name == alias)) at = s;
    }
    if (at == specs.size())
      throw UsageError(item.port.empty()
                           ? fmt::format("{}: say for which port, as --{} {}={}; available: {}", item.file, alias,
                                         specs.empty() ? "" : specs.front().name, item.file, known)
                           : fmt::format("there is no port '{}'; available: {}", name, known));
    if (!files[at].empty()) throw UsageError(fmt::format("port '{}' is given twice", specs[at].name));
    files[at] = item.file;
  }
  return files;
}

/// The arrays of the first stage's inputs.
struct Arrays {
  std::vector<StageInput> inputs;
  bool one_item = false;  // the first input is one item, so its results are, too
};

Arrays read_arrays(const std::vector<PortFile>& from, const StageEntry& entry, double rate) {
  const std::vector<std::string> in = files_of(from, entry.inputs, only_input(entry.inputs), "in");
  std::vector<NpyArray> arrays;
  std::vector<InputSpec> given;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].empty() && entry.inputs[i].optional) continue;
    if (in[i].empty())
      throw UsageError(
          fmt::format("input '{}' is missing: --in {}=file.npy", entry.inputs[i].name, entry.inputs[i].name));
    arrays.push_back(read_npy(in[i]));
    given.push_back(entry.inputs[i]);
  }
  given = agreed(arrays, std::move(given));
  Arrays read;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    read.inputs.push_back(as_input(arrays[i], given[i], rate));
    read.inputs.back().name = given[i].name;
  }
  read.one_item = !in.front().empty() && is_one_item(arrays.front(), given.front());
  return read;
}

/// A stage with its connections, which are a port or a map of ports.
ChainedStage chained(const ExecStage& stage, std::span<const ExecStage> before) {
  auto keys = nlohmann::ordered_json::parse(stage.keys);
  Connections from;
  if (keys.contains("from")) {
    const nlohmann::ordered_json written = keys["from"];
    keys.erase("from");
    if (written.is_string()) from[""] = written;
    if (written.is_object())
      for (const auto& [input, port] : written.items())
        if (port.is_string()) from[input] = port;
    if (from.empty()) throw UsageError(stage.label + ": from: expected stage.output or {input: stage.output}");
  }
  const StageEntry& entry = *find_stage(stage.entry);
  if (!from.empty()) return {&entry, keys.dump(), std::move(from), stage.name};
  std::vector<const StageEntry*> entries;
  for (const ExecStage& s : before) entries.push_back(find_stage(s.entry));
  return {&entry, keys.dump(), usual_connections(entry, entries), stage.name};
}

/// The wanted ports, each with its file.
std::vector<PortFile> ports_of(const std::vector<PortFile>& to, const std::vector<ExecStage>& stages) {
  const StageEntry& last = *find_stage(stages.back().entry);
  std::vector<std::string> names;
  for (const ExecStage& stage : stages) names.push_back(stage.name);
  std::vector<PortFile> ports;
  for (const PortFile& item : to) {
    const std::string port = whole_name(item.port.empty() ? "out" : item.port, names, last);
    if (port == "out")
      throw UsageError(fmt::format("{}: {} has several outputs; say which: --out {}={}", item.file, stages.back().label,
                                   last.outputs.front().name, item.file));
    if (std::ranges::find(ports, port, &PortFile::port) != ports.end())
      throw UsageError(fmt::format("port '{}' is given twice", port));
    ports.push_back({port, item.file});
  }
  return ports;
}

/// Says which stage of the command line a problem belongs to.
bool report_stages(Problems& problems, const std::vector<ExecStage>& stages) {
  for (Problem& p : problems) {
    const auto stage = std::ranges::find_if(
        stages, [&](const ExecStage& s) { return p.place.file == s.name || p.place.file == s.entry; });
    if (stage == stages.end()) continue;  // of a program that the stage runs
    p.place = {stage->label};
    if (!p.path.empty()) p.what = std::exchange(p.path, {}) + ": " + p.what;
  }
  return report(problems);
}

}  // namespace

Exit run_on_arrays(const ExecRequest& request, const std::vector<ExecStage>& stages, const std::vector<PortFile>& from,
                   const std::vector<PortFile>& to) {
  Problems problems;
  const ExecStage& first = stages.front();
  const StageEntry entry = configured(*find_stage(first.entry), first.keys, problems);
  if (report_stages(problems, stages)) return Exit::configuration;
  StageRunner::Options options;
  std::vector<PortFile> ports;
  if (stages.size() > 1) {
    for (std::size_t s = 1; s < stages.size(); ++s)
      options.behind.push_back(chained(stages[s], std::span(stages).first(s)));
    ports = ports_of(to, stages);
    for (const PortFile& port : ports) options.ports.push_back(port.port);
  } else {
    const std::vector<std::string> out =
        files_of(to, entry.outputs, entry.outputs.size() == 1 ? &entry.outputs.front() : nullptr, "out");
    for (std::size_t o = 0; o < out.size(); ++o)
      if (!out[o].empty()) ports.push_back({std::string(entry.outputs[o].name), out[o]});
    for (const PortFile& port : ports) options.outputs.push_back(port.port);
  }
  refuse_twice(ports);
  Arrays arrays = read_arrays(from, entry, request.rate.empty() ? 1 : radio_of(request).first);
  const std::string backend = request.backend.empty() ? "auto" : request.backend;
  StageRunner runner(entry, first.keys, arrays.inputs, request.block, backend, problems, options);
  if (report_stages(problems, stages)) return Exit::configuration;
  const std::vector<StageOutput> outputs = runner.run();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const bool in_order = stages.size() > 1;
    for (std::size_t p = 0; p < ports.size(); ++p)
      if (in_order ? p == o : ports[p].port == outputs[o].name)
        write_output(ports[p].file, outputs[o], arrays.one_item);
  }
  return Exit::ok;
}

}  // namespace iqd
