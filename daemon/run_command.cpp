// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "daemon/run/daemon.hpp"
#include "daemon/work/work_daemon.hpp"

namespace iqd {
namespace {

struct WindowOptions {
  std::string window, warm;

  /// As keys of the source of all pipelines.
  std::vector<Override> overrides(Problems& problems) const {
    nlohmann::ordered_json keys = nlohmann::ordered_json::object();
    if (!window.empty()) keys["window"] = window;
    if (!warm.empty()) keys["warm"] = warm;
    if (keys.empty()) return {};
    return {{"", "source", parse_document(keys.dump(), "the command line", problems).root}};
  }
};

}  // namespace

void add_run(CommandLine& line) {
  struct Arguments {
    std::string file;
    RunOptions options;
    WindowOptions window;
  };
  auto a = std::make_shared<Arguments>();
  const auto run = [a] {
    Problems problems;
    const std::vector<Override> overrides = a->window.overrides(problems);
    if (report(problems)) return Exit::configuration;
    auto loaded = load(a->file, {}, overrides);
    if (loaded->work) return run_worker(std::move(loaded), a->options.seconds);
    return run_pipelines(std::move(loaded), a->options);
  };
  line.command("run", "run the pipelines of a file", run)
      .option("FILE", &a->file, "pipeline definition (YAML)", {.required = true})
      .option("--status", &a->options.status, "print a status to standard output each second: json, table or none",
              {.one_of = {"json", "table", "none"}})
      .option("--wait-subscribers", &a->options.wait_subscribers,
              "wait for this many subscriptions before reading the first sample")
      .option("--seconds", &a->options.seconds, "stop after this many seconds")
      .option("--window", &a->window.window,
              "K/N: only the K-th of N windows of the recording, from 0; sinks keep its results for `iqd join`")
      .option("--warm", &a->window.warm, "so much before the window, stages with a state begin: samples or a time");
}

}  // namespace iqd
