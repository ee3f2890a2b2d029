// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "daemon/runner.hpp"

namespace iqd {

void add_run(CLI::App& app, Action& action) {
  struct Arguments {
    std::string file;
    RunOptions options;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("run", "run the pipelines of a file");
  c->add_option("FILE", a->file, "pipeline definition (YAML)")->required();
  c->add_option("--status", a->options.status, "a status each second on standard output: json, table or none")
      ->check(CLI::IsMember({"json", "table", "none"}));
  c->add_option("--wait-subscribers", a->options.wait_subscribers,
                "subscriptions to wait for before the first sample is read");
  c->add_option("--seconds", a->options.seconds, "stop after so long");
  c->callback([a, &action] { action = [a] { return run_pipelines(load(a->file), a->options); }; });
}

}  // namespace iqd
