// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "config/describe.hpp"
#include "daemon/commands.hpp"

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

Exit show(const StageEntry& stage) {
  const auto made = stage.make();
  fmt::print("{} ({}): {}\n\nports   {}\n\n", stage.name, stage.family, stage.summary, ports_text(stage));
  fmt::print("{}\n", text_table([&](FieldVisitor& v) { made->fields(v); }));
  fmt::print("sample\n  - {}\n", stage.sample);
  return Exit::ok;
}

Exit list(bool markdown) {
  if (markdown) fmt::print("| stage | family | ports | what |\n| --- | --- | --- | --- |\n");
  for (const StageEntry& s : all_stages()) {
    if (markdown)
      fmt::print("| `{}` | {} | {} | {} |\n", s.name, s.family, ports_text(s), s.summary);
    else
      fmt::print("{:<26} {:<12} {}\n", s.name, s.family, s.summary);
  }
  return Exit::ok;
}

Exit run(const std::string& name, bool markdown) {
  if (name.empty()) return list(markdown);
  const StageEntry* stage = find_stage(name);
  if (!stage) {
    std::vector<std::string_view> names;
    for (const StageEntry& s : all_stages()) names.push_back(s.name);
    throw UsageError(fmt::format("there is no stage '{}'{}", name, did_you_mean(name, names)));
  }
  if (!markdown) return show(*stage);
  const auto made = stage->make();
  fmt::print("{}", markdown_table([&](FieldVisitor& v) { made->fields(v); }));
  return Exit::ok;
}

}  // namespace

void add_stages(CLI::App& app, Action& action) {
  auto name = std::make_shared<std::string>();
  auto markdown = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("stages", "list the stages, or show one: its ports, keys and a sample");
  c->add_option("NAME", *name, "of a stage");
  c->add_flag("--markdown", *markdown, "as a table for the documentation");
  c->callback([=, &action] { action = [=] { return run(*name, *markdown); }; });
}

}  // namespace iqd
