// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "base/error.hpp"
#include "pipeline/spec.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace iqd {

/// What the chosen subcommand does, once the command line has been read.
using Action = std::function<Exit()>;

// Each adds one subcommand, which sets the action when it is chosen.
void add_run(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_stages(CLI::App& app, Action& action);
void add_schema(CLI::App& app, Action& action);
void add_exec(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);
void add_probe(CLI::App& app, Action& action);
void add_sub(CLI::App& app, Action& action);
void add_record(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_calibrate(CLI::App& app, Action& action);
void add_keygen(CLI::App& app, Action& action);

/// What this program was built with.
const Catalogue& catalogue();

/// Writes every problem to standard error; true where there was one.
bool report(const Problems& problems);
/// A file as read. Where there are problems, the spec is not to be used.
struct Loaded {
  std::shared_ptr<Problems> kept = std::make_shared<Problems>();
  Problems& problems = *kept;  // the spec's sections complain here; its pipelines keep it
  Document document;
  Spec spec;

  void read(Document from, std::span<const Override> overrides = {});
};
std::unique_ptr<Loaded> load(const std::string& file);

}  // namespace iqd
