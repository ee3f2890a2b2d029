// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "daemon/commands.hpp"

namespace iqd {
namespace {

Exit check(const std::string& file) {
  const auto loaded = load(file);
  check_spec(loaded->spec, catalogue(), loaded->problems);
  if (report(loaded->problems)) return Exit::configuration;
  fmt::print("{}: ok, {} pipeline(s)\n", file, loaded->spec.pipelines.size());
  return Exit::ok;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto file = std::make_shared<std::string>();
  CLI::App* c = app.add_subcommand("check", "say everything that is wrong with a file; opens no device");
  c->add_option("FILE", *file, "pipeline definition (YAML)")->required();
  c->callback([file, &action] { action = [file] { return check(*file); }; });
}

}  // namespace iqd
