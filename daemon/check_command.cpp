// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "config/reader.hpp"
#include "daemon/command/commands.hpp"
#include "pipeline/spec_plan.hpp"
#include "pipeline/stage/cuda_half.hpp"

namespace iqd {
namespace {

/// Whether the stage runs on the CPU, whatever devices exist.
bool is_on_host(const PlanStep& step, const PipelineSpec& spec) {
  const StageSpec* const stage = stage_named(spec, step.name);
  const bool own = stage && !stage->backend.empty();
  return (own ? stage->backend : spec.backend).front() == "cpu" || !find_cuda_half(step.entry->name);
}

/// Prints what could not be checked, since this machine has no compiler. False if `run` would fail here.
bool say_untried(const std::vector<Plan>& plans, const Spec& spec) {
  bool can_run = true;
  for (std::size_t p = 0; p < plans.size(); ++p)
    for (const PlanStep& step : plans[p].steps) {
      const std::string why = step.stage->untried();
      if (why.empty()) continue;
      fmt::print(stderr, "iqd: {}: stage '{}' was not compiled: {}\n", plans[p].pipeline, step.name, why);
      can_run = can_run && !is_on_host(step, spec.pipelines[p]);
    }
  return can_run;
}

Exit check(const std::string& file, bool strict) {
  const auto loaded = load(file);
  const Problems& problems = loaded->problems;
  const std::vector<Plan> plans = check_spec(loaded->spec, catalogue(), loaded->problems);
  check_calibrations(loaded->spec);
  sort_by_place(loaded->problems);
  if (report(problems)) return Exit::configuration;
  if (report_warnings(problems) && strict) return Exit::configuration;
  if (!say_untried(plans, loaded->spec)) return Exit::failed;
  const std::size_t warnings = problems.warnings().size();
  const std::string found = loaded->work ? fmt::format("work for {} pool(s)", loaded->work->pools.size())
                                         : fmt::format("{} pipeline(s)", loaded->spec.pipelines.size());
  fmt::print("{}: ok, {}{}\n", file, found, warnings ? fmt::format(", {} warning(s)", warnings) : "");
  return Exit::ok;
}

}  // namespace

void add_check(CommandLine& line) {
  struct Arguments {
    std::string file;
    bool strict = false;
  };
  auto a = std::make_shared<Arguments>();
  line.command("check", "report everything that is wrong with a file; opens no device",
               [a] { return check(a->file, a->strict); })
      .option("FILE", &a->file, "pipeline definition (YAML)", {.required = true})
      .option("--strict", &a->strict, "fail also after a warning");
}

}  // namespace iqd
