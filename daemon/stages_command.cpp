// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "config/describe.hpp"
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

Exit show_stages(const std::string& name, bool markdown) {
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

void add_stages(CommandLine& line) {
  struct Arguments {
    std::string name;
    bool markdown = false;
  };
  auto a = std::make_shared<Arguments>();
  line.command("stages", "list the stages, or show one: its ports, keys and a sample",
               [a] { return show_stages(a->name, a->markdown); })
      .option("NAME", &a->name, "name of a stage")
      .option("--markdown", &a->markdown, "print a table for the documentation");
}

}  // namespace iqd
