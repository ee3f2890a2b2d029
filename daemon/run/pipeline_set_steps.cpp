// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Carries out the steps of a change.
#include "daemon/run/pipeline_set_steps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/clock.hpp"

namespace iqd {
namespace {

using Result = ChangeReport::Result;

bool is_applied(const ChangeReport& report) {
  return report.result == Result::applied;
}

}  // namespace

void PipelineSet::Done::add(const std::string& pipeline, std::string line, std::optional<Reload>&& reload) {
  changed.push_back(pipeline);
  lines.push_back(std::move(line));
  if (reload) reloads.emplace_back(pipeline, *std::move(reload));
}

/// Stops at the first step that fails, and reports why. What `done` has then is still to be undone.
ChangeReport PipelineSet::carry_out(Steps& steps, Done& done) {
  // A radio may refuse: it is asked before anything else changes.
  std::stable_partition(steps.changes.begin(), steps.changes.end(),
                        [](const auto& c) { return c.change.what.retunes; });
  for (Exchange& step : steps.changes)
    if (ChangeReport report = exchange(step, done); !is_applied(report)) return report;
  std::vector<PipelineSpec> ended;
  for (auto& ends : steps.ends) {
    done.lines.push_back(ends->spec().name + ": ended");
    ended.push_back(retire(std::move(ends)));
  }
  ChangeReport report;
  for (auto step = steps.renewals.begin(); step != steps.renewals.end() && is_applied(report); ++step)
    report = restart(*step, done);
  if (is_applied(report)) report = add_all(steps, done);
  if (!is_applied(report)) restore(std::move(ended), report);
  if (steps.monitor) done.lines.emplace_back("monitor: unchanged until iqd is restarted");
  return report;
}

/// Changes a pipeline while it runs.
ChangeReport PipelineSet::exchange(Exchange& step, Done& done) {
  auto& [pipeline, change, reload] = step;
  const std::string name = pipeline->spec().name;
  const std::string keys = fmt::format("{}", fmt::join(change.what.keys, ", "));
  const bool exchanged = change.engine != nullptr;
  if (const ChangeOutcome outcome = pipeline->go_over(std::move(change)); !outcome.is_done())
    return {outcome.answer == ChangeOutcome::Answer::refused ? Result::refused : Result::busy,
            {fmt::format("{}: {} unchanged: {}", name, keys, outcome.why)}};
  if (keys.find("realtime.") != std::string::npos) grant(pipeline->spec());
  done.add(name, fmt::format("{}: {} changed {}", name, keys, exchanged ? "between two blocks" : "at once"),
           std::move(reload));
  return {};
}

/// Restarts a pipeline with another source. If that cannot be opened, the former one runs again.
ChangeReport PipelineSet::restart(Renewal& step, Done& done) {
  const std::string name = step.spec.name;
  std::vector<PipelineSpec> before;
  before.push_back(retire(std::move(step.running)));
  try {
    add(open_whole(std::move(step.spec)));
  } catch (const std::exception& e) {
    ChangeReport report{Result::refused, {e.what()}};
    restore(std::move(before), report);
    return report;
  }
  done.add(name, fmt::format("{}: {} changed, pipeline restarted", name, fmt::join(step.keys, ", ")),
           std::move(step.reload));
  return {};
}

/// Starts all new pipelines, or none.
ChangeReport PipelineSet::add_all(Steps& steps, Done& done) {
  std::vector<std::shared_ptr<Pipeline>> started;
  try {
    if (steps.opened.empty())
      for (PipelineSpec& spec : steps.additions) steps.opened.push_back(open_whole(std::move(spec)));
    for (auto& opened : steps.opened) {
      add(opened);
      started.push_back(std::move(opened));
    }
  } catch (const std::exception& e) {
    for (auto& pipeline : started) retire(std::move(pipeline));
    std::erase(steps.opened, nullptr);
    close(steps.opened);
    return {Result::refused, {e.what()}};
  }
  for (const auto& pipeline : started) {
    origins_.start(pipeline->name(), wall_ns());
    done.lines.push_back(pipeline->name() + ": started");
  }
  return {};
}

/// Restarts pipelines that were ended for one that cannot be opened, without recordings that may not be overwritten.
void PipelineSet::restore(std::vector<PipelineSpec> ended, ChangeReport& report) {
  for (PipelineSpec& spec : ended) {
    const std::string name = spec.name;
    for (const SinkSpec& sink : spec.sinks)
      if (const std::string kept = sink.options->keeps(); !kept.empty())
        report.lines.push_back(fmt::format("{}: {} has ended", name, kept));
    std::erase_if(spec.sinks, [](const SinkSpec& s) { return !s.options->keeps().empty(); });
    try {
      add(open_whole(std::move(spec)));
    } catch (const std::exception& e) {
      throw std::runtime_error(
          fmt::format("{}: cannot be restarted with its old settings: {}; exiting to be restarted", name, e.what()));
    }
    report.lines.push_back(name + ": restarted with its old settings");
  }
}

}  // namespace iqd
