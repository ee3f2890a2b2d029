// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "daemon/run/daemon.hpp"

namespace iqd {

void add_run(CommandLine& line) {
  struct Arguments {
    std::string file;
    RunOptions options;
  };
  auto a = std::make_shared<Arguments>();
  line.command("run", "run the pipelines of a file", [a] { return run_pipelines(load(a->file), a->options); })
      .option("FILE", &a->file, "pipeline definition (YAML)", {.required = true})
      .option("--status", &a->options.status, "print a status to standard output each second: json, table or none",
              {.one_of = {"json", "table", "none"}})
      .option("--wait-subscribers", &a->options.wait_subscribers,
              "wait for this many subscriptions before reading the first sample")
      .option("--seconds", &a->options.seconds, "stop after this many seconds");
}

}  // namespace iqd
