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

/// What this program was built with.
const Catalogue& catalogue();

/// Writes every problem to standard error; true where there was one.
bool report(const Problems& problems);
/// Reads a file. Problems have been reported where it has none.
struct Loaded {
  Problems problems;  // the spec's sections point here: keep it as long as the spec
  Spec spec;
};
std::unique_ptr<Loaded> load(const std::string& file);

}  // namespace iqd
