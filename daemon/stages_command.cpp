// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "config/describe.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/command/described.hpp"

namespace iqd {
namespace {

void show(const Described& d) {
  fmt::print("{} ({}): {}\n\nports   {}\n\n", d.name, d.family, d.summary, d.ports);
  fmt::print("{}\n", text_table(d.fields));
  fmt::print("sample\n{}\n", d.sample);
}

Exit list(const std::vector<Described>& all) {
  for (const Described& d : all) fmt::print("{:<26} {:<12} {}\n", d.name, d.family, d.summary);
  return Exit::ok;
}

/// Each with the JSON schema of its keys.
Exit list_as_json(const std::vector<Described>& all) {
  nlohmann::ordered_json list = nlohmann::json::array();
  for (const Described& d : all)
    list.push_back({{"name", d.name},
                    {"family", d.family},
                    {"summary", d.summary},
                    {"ports", d.ports},
                    {"sample", d.sample},
                    {"keys", schema_of(d.fields)}});
  fmt::print("{}\n", list.dump(2));
  return Exit::ok;
}

/// Only the stages: the page of the keys lists the others.
Exit list_as_markdown(const std::vector<Described>& all) {
  fmt::print("| stage | family | ports | what |\n| --- | --- | --- | --- |\n");
  for (const Described& d : all)
    if (find_stage(d.name)) fmt::print("| `{}` | {} | {} | {} |\n", d.name, d.family, d.ports, d.summary);
  return Exit::ok;
}

/// A driver may be a source and a sink, and a family has several members.
std::vector<Described> named(const std::vector<Described>& all, const std::string& name) {
  std::vector<Described> found;
  for (const Described& d : all)
    if (d.name == name) found.push_back(d);
  return found;
}

[[noreturn]] void refuse(const std::vector<Described>& all, const std::string& name) {
  std::set<std::string_view> names;
  for (const Described& d : all) names.insert({d.name, d.family});
  const std::vector<std::string_view> listed(names.begin(), names.end());
  throw UsageError(fmt::format("there is no stage, source, sink or family '{}'{}", name, did_you_mean(name, listed)));
}

Exit show_stages(const std::string& name, bool markdown, bool as_json) {
  if (markdown && as_json) throw UsageError("give either --markdown or --json");
  const std::vector<Described> all = all_described();
  const auto list_of = as_json ? list_as_json : markdown ? list_as_markdown : list;
  if (name.empty()) return list_of(all);
  const std::vector<Described> found = named(all, name);
  if (found.empty()) {
    std::vector<Described> family;
    std::ranges::copy_if(all, std::back_inserter(family), [&](const Described& d) { return d.family == name; });
    if (family.empty()) refuse(all, name);
    return list_of(family);
  }
  if (as_json) return list_as_json(found);
  for (const Described& d : found) {
    if (&d != &found.front()) fmt::print("\n");
    if (markdown)
      fmt::print("{}", markdown_table(d.fields));
    else
      show(d);
  }
  return Exit::ok;
}

}  // namespace

void add_stages(CommandLine& line) {
  struct Arguments {
    std::string name;
    bool markdown = false;
    bool json = false;
  };
  auto a = std::make_shared<Arguments>();
  line.command("stages", "list the stages, sources, sinks and outlets, or show one: its ports, keys and a sample",
               [a] { return show_stages(a->name, a->markdown, a->json); })
      .option("NAME", &a->name, "name of a stage, a source, a sink, publish, apply, pipeline or monitor; or a family")
      .option("--markdown", &a->markdown, "print a table for the documentation")
      .option("--json", &a->json, "print a list with the same facts, and the JSON schema of the keys");
}

}  // namespace iqd
