// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/command/command_line.hpp"
#include "daemon/command/work_config.hpp"
#include "pipeline/spec/spec.hpp"

namespace iqd {

// Each function adds one command.
void add_run(CommandLine& line);
void add_check(CommandLine& line);
void add_explain(CommandLine& line);
void add_stages(CommandLine& line);
void add_schema(CommandLine& line);
void add_exec(CommandLine& line);
void add_bench(CommandLine& line);
void add_tune(CommandLine& line);
void add_probe(CommandLine& line);
void add_sub(CommandLine& line);
void add_record(CommandLine& line);
void add_convert(CommandLine& line);
void add_join(CommandLine& line);
void add_map(CommandLine& line);
void add_doctor(CommandLine& line);
void add_calibrate(CommandLine& line);
void add_keygen(CommandLine& line);
void add_plot(CommandLine& line);
void add_status(CommandLine& line);
void add_ready(CommandLine& line);
void add_get(CommandLine& line);
void add_set(CommandLine& line);

/// What this program was built with.
const Catalogue& catalogue();

/// If there are problems, writes them to standard error, and all warnings after them; true if there are.
bool report(const Problems& problems);
/// The warnings alone; true if there are any.
bool report_warnings(const Problems& problems);
/// The same to the log of a daemon.
void log_warnings(const Problems& problems);
/// A file as read. If there are problems, do not use the spec.
struct Loaded {
  Problems problems;
  Document document;
  Spec spec;
  std::vector<AddedSink> added{};    // recordings that requests have started
  std::optional<WorkConfig> work{};  // of a worker, which has no pipelines

  void read(Document from, std::span<const Override> overrides = {});
};
std::unique_ptr<Loaded> load(const std::string& file, std::vector<AddedSink> added = {},
                             std::span<const Override> overrides = {});
/// The pipeline with this name; without a name, the only one. Throws UsageError, which begins with the command.
PipelineSpec& choose_pipeline(std::string_view command, Spec& spec, const std::string& name);

}  // namespace iqd
