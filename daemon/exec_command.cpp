// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "config/quantity.hpp"
#include "daemon/command/array_port.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/command/stage_keys.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {
namespace {

struct Arguments {
  std::string stage;
  std::vector<std::string> config, in, out;
  std::string backend = "auto";
  std::string rate = "1";
  std::int64_t block = 0;
  bool whole = false;
};

/// `port=file` by the stage's name of the port; a stage's only port may also be called `alias`.
template <class Specs>
std::vector<std::string> files_of(const std::vector<std::string>& items, const Specs& specs, std::string_view alias) {
  std::vector<std::string> files(specs.size());
  for (const std::string& item : items) {
    const auto equals = item.find('=');
    const std::string name = equals == item.npos ? std::string(alias) : item.substr(0, equals);
    std::string known;
    std::size_t at = specs.size();
    for (std::size_t s = 0; s < specs.size(); ++s) {
      known += fmt::format("{}{}", s ? ", " : "", specs[s].name);
      if (specs[s].name == name || (specs.size() == 1 && name == alias)) at = s;
    }
    if (at == specs.size()) throw UsageError(fmt::format("there is no port '{}'; available: {}", name, known));
    if (!files[at].empty()) throw UsageError(fmt::format("port '{}' is given twice", specs[at].name));
    files[at] = item.substr(equals == item.npos ? 0 : equals + 1);
  }
  return files;
}

Exit execute(const Arguments& a) {
  const StageEntry* found = find_stage(a.stage);
  if (!found) throw UsageError(fmt::format("there is no stage '{}'; `iqd stages` lists them", a.stage));
  Problems problems;
  const StageEntry own = configured(*found, keys_of(a.config), problems);
  if (report(problems)) return Exit::configuration;
  const StageEntry* const entry = &own;
  std::string why;
  const auto rate = parse_quantity(a.rate, Unit::rate, why);
  if (!rate) throw UsageError("--rate: " + why);
  if (*rate < 0) throw UsageError(fmt::format("--rate: must not be negative, is {}", a.rate));
  if (a.backend != "auto" && a.backend != "cpu" && !a.backend.starts_with("cuda"))
    throw UsageError(fmt::format("--backend: '{}' is not one of auto, cpu, cuda, cuda:N", a.backend));

  const std::vector<std::string> in = files_of(a.in, entry->inputs, "in");
  const std::vector<std::string> out = files_of(a.out, entry->outputs, "out");
  std::vector<NpyArray> arrays;
  std::vector<InputSpec> given;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].empty() && entry->inputs[i].optional) continue;
    if (in[i].empty())
      throw UsageError(
          fmt::format("input '{}' is missing: --in {}=file.npy", entry->inputs[i].name, entry->inputs[i].name));
    arrays.push_back(read_npy(in[i]));
    given.push_back(entry->inputs[i]);
  }
  given = agreed(arrays, std::move(given));
  std::vector<StageInput> inputs;
  for (std::size_t i = 0; i < arrays.size(); ++i) inputs.push_back(as_input(arrays[i], given[i], *rate));
  // If the first input is one item, so are the outputs.
  const bool one_item = !in.front().empty() && is_one_item(arrays.front(), given.front());
  StageRunner::Options options;
  for (std::size_t o = 0; o < out.size(); ++o)
    if (!out[o].empty()) options.outputs.emplace_back(entry->outputs[o].name);
  StageRunner runner(*entry, keys_of(a.config), std::move(inputs), a.whole ? 0 : a.block, a.backend, problems, options);
  if (report(problems)) return Exit::configuration;
  for (const StageOutput& output : runner.run())
    for (std::size_t o = 0; o < out.size(); ++o)
      if (entry->outputs[o].name == output.name) write_output(out[o], output, one_item);
  return Exit::ok;
}

}  // namespace

void add_exec(CommandLine& line) {
  auto a = std::make_shared<Arguments>();
  line.command("exec", "run one stage on NumPy files, without a daemon", [a] { return execute(*a); })
      .option("STAGE", &a->stage, "`iqd stages` lists them", {.required = true})
      .option("--config", &a->config, "key=value, or a YAML file with the stage's keys")
      .option("--in", &a->in, "port=x.npy", {.required = true})
      .option("--out", &a->out, "port=y.npy", {.required = true})
      .option("--backend", &a->backend, "auto, cpu, cuda or cuda:N")
      .option("--rate", &a->rate, "sample rate of the input, for keys in Hz")
      .option("--block", &a->block, "cut the stream into blocks of this many samples", {.positive = true})
      .option("--whole", &a->whole, "process one block (the default)", {.excludes = "--block"});
}

}  // namespace iqd
