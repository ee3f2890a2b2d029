// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Changes to the running pipelines: a reload, a request that sets keys.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "daemon/run/change_request.hpp"
#include "daemon/run/pipeline_set.hpp"
#include "net/descriptors.hpp"
#include "pipeline/spec_plan.hpp"

namespace iqd {
namespace {

using Result = ChangeReport::Result;

/// A disconnected radio could be opened neither with the new keys nor with the old ones, and iqd would have to exit.
void require_there(const Pipeline& running, const PipelineSpec& next, const SpecChange& change) {
  if (!change.source || running.state() != SourceState::reconnecting) return;
  const auto claims = running.spec().source->claims();
  const auto is_claimed = [&](const std::string& c) { return std::ranges::find(claims, c) != claims.end(); };
  if (std::ranges::any_of(next.source->claims(), is_claimed))
    throw NotNow(fmt::format("{}: the radio is disconnected: {} cannot change until it is back", running.name(),
                             fmt::join(change.keys, ", ")));
}

/// What is stopped has to be able to start again, so its descriptors and threads are checked first.
void require_means() {
  constexpr int kDescriptors = 32;
  constexpr int kThreads = 8;
  net::require_threads(kThreads);
  const net::FreeDescriptors free(kDescriptors);
}

/// A pipeline that restarts closes its sinks, and its finished recording would prevent the next one.
void require_free(const Pipeline& running, const PipelineSpec& next, const SpecChange& change) {
  const auto& sinks = running.spec().sinks;
  for (const SinkSpec& sink : next.sinks) {
    const std::string kept = sink.options->keeps();
    if (kept.empty() || std::ranges::none_of(sinks, [&](const SinkSpec& s) { return s.options->keeps() == kept; }))
      continue;
    throw SetupError(fmt::format(
        "{}: {} cannot change while {} is recorded: the pipeline would restart, but may not overwrite the recording; "
        "choose another path in the file, or set overwrite: true",
        running.name(), fmt::join(change.keys, ", "), kept));
  }
}

std::string no_pipeline(const std::vector<std::shared_ptr<Pipeline>>& pipelines, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& p : pipelines) names.push_back(p->name());
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  return name.empty() ? "there are several pipelines: name one of " + all
                      : fmt::format("there is no pipeline '{}'; there are: {}", name, all);
}

std::string no_stage(const PipelineSpec& spec, const std::string& name) {
  std::vector<std::string_view> names{"source"};
  for (const StageSpec& s : spec.stages) names.push_back(s.name);
  return fmt::format("{} has no stage '{}'{}; there are: {}", spec.name, name, did_you_mean(name, names),
                     fmt::join(names, ", "));
}

}  // namespace

/// The steps from the running file to another one.
struct PipelineSet::Steps {
  /// What a reload changes in a pipeline.
  struct Reload {
    std::vector<std::string> keys;
    std::vector<std::string> undone;  // as `undone_by`
  };
  struct Renewal {
    std::shared_ptr<Pipeline> running;
    PipelineSpec spec;
    std::vector<std::string> keys;
    std::optional<Reload> reload;
  };
  struct Exchange {
    std::shared_ptr<Pipeline> running;
    Pipeline::Change change;
    std::optional<Reload> reload;
  };
  std::vector<Exchange> changes{};
  std::vector<Renewal> renewals{};                  // pipelines whose source changes
  std::vector<std::shared_ptr<Pipeline>> ends{};    // pipelines that are no longer in the file
  std::vector<PipelineSpec> additions{};            // pipelines that are new in the file
  std::vector<std::shared_ptr<Pipeline>> opened{};  // the new ones that are already open
  bool monitor = false;
};

ChangeReport PipelineSet::reload() {
  if (loaded_->document.file.empty()) return {Result::refused, {"there is no file to reload"}};
  std::unique_ptr<Loaded> next = load(loaded_->document.file);
  const ChangeReport report = go_over(*next, Scope::all);
  if (report.result != Result::applied) return report;
  log_warnings(next->problems);
  overrides_.clear();
  for (const auto& p : pipelines_) origins_.reload(p->name(), {}, wall_ns());
  for (const auto& apply : applies()) apply->forget();
  // The HTTP server keeps its settings.
  next->spec.listen = loaded_->spec.listen;
  next->spec.token_file = loaded_->spec.token_file;
  loaded_ = std::move(next);
  return report;
}

ChangeReport PipelineSet::set(const std::string& pipeline, const std::string& stage, const std::string& keys,
                              SetBy by) {
  std::shared_ptr<Pipeline> at = find(pipeline);
  if (!at) return {Result::unknown, {no_pipeline(pipelines_, pipeline)}};
  const auto& stages = at->spec().stages;
  const auto has_name = [&](const StageSpec& s) { return s.name == stage; };
  if (stage != "source" && std::none_of(stages.begin(), stages.end(), has_name))
    return {Result::unknown, {no_stage(at->spec(), stage)}};

  if (at->finished()) return {Result::refused, {at->spec().name + " has ended: no key can be set"}};

  auto next = std::make_unique<Loaded>();
  std::vector<Override> overrides = overrides_;
  if (auto no = read_request({stage, keys}, loaded_->document, at->spec(), overrides, *next)) return *std::move(no);
  at.reset();  // a pipeline cannot end while this holds it
  const ChangeReport report = go_over(*next, Scope::named);
  if (report.result != Result::applied) return report;
  origins_.set(overrides.back(), by, wall_ns());
  overrides_ = std::move(overrides);
  return report;
}

/// The resources of running pipelines are available to those that replace them. `prepare` checks whether both fit if
/// they coexist for a moment.
Allowance PipelineSet::allowance_of(const Spec& next, Scope scope) const {
  Allowance allowance;
  allowance.spare_files = 0;
  for (const auto& p : pipelines_)
    if (scope == Scope::all ||
        std::ranges::find(next.pipelines, p->name(), &PipelineSpec::name) != next.pipelines.end())
      allowance.take_back(p->sizing());
  return allowance;
}

ChangeReport PipelineSet::go_over(Loaded& next, Scope scope) {
  Problems& problems = next.problems;
  Steps steps;
  try {
    check_spec(next.spec, catalogue(), problems, allowance_of(next.spec, scope));
    if (!problems.empty()) return refused(problems);
    steps = steps_to(next, scope);
    if (!steps.ends.empty() || !steps.renewals.empty()) require_means();
  } catch (const NotNow& e) {
    return {Result::busy, {e.what()}};
  } catch (const std::exception& e) {
    return {Result::refused, {e.what()}};
  }
  if (!problems.empty()) {
    close(steps.opened);
    return refused(problems);
  }
  ChangeReport report;
  try {
    carry_out(steps, report);
  } catch (const std::exception& e) {
    throw Stranded(e.what());
  }
  if (report.lines.empty()) report.lines = {"nothing has changed"};
  return report;
}

/// Prepares all that can be prepared while the old pipelines run.
PipelineSet::Steps PipelineSet::steps_to(Loaded& next, Scope scope) {
  Steps steps;
  steps.monitor = scope == Scope::all &&
                  (next.spec.listen != loaded_->spec.listen || next.spec.token_file != loaded_->spec.token_file);
  std::vector<std::string> kept;
  for (PipelineSpec& spec : next.spec.pipelines) {
    kept.push_back(spec.name);
    const auto here =
        std::find_if(pipelines_.begin(), pipelines_.end(), [&](const auto& p) { return p->spec().name == spec.name; });
    if (here == pipelines_.end()) {
      steps.additions.push_back(std::move(spec));
      continue;
    }
    SpecChange change = compare((*here)->spec(), spec);
    if (change.none()) continue;
    require_there(**here, spec, change);
    std::optional<Steps::Reload> reload;
    if (scope == Scope::all) reload = {change.keys, undone_by(spec, (*here)->spec(), catalogue(), origins_)};
    if (change.source || (scope == Scope::all && (*here)->finished())) {
      require_free(**here, spec, change);
      steps.renewals.push_back({*here, std::move(spec), change.keys, std::move(reload)});
    } else {
      steps.changes.push_back(
          {*here, (*here)->prepare(std::move(spec), std::move(change), next.problems), std::move(reload)});
    }
  }
  if (scope == Scope::named) return steps;
  for (const auto& p : pipelines_)
    if (std::find(kept.begin(), kept.end(), p->spec().name) == kept.end()) steps.ends.push_back(p);
  // A pipeline that ends may hold a port or a radio that a new one needs.
  if (!steps.ends.empty() || !steps.renewals.empty()) return steps;
  for (PipelineSpec& spec : steps.additions) steps.opened.push_back(open(std::move(spec)));
  return steps;
}

void PipelineSet::carry_out(Steps& steps, ChangeReport& report) {
  const auto note = [&](const std::string& pipeline, const std::optional<Steps::Reload>& reload) {
    if (!reload) return;
    origins_.reload(pipeline, reload->keys, wall_ns());
    report.lines.insert(report.lines.end(), reload->undone.begin(), reload->undone.end());
  };
  // A radio may refuse: it is asked before anything else changes.
  std::stable_partition(steps.changes.begin(), steps.changes.end(),
                        [](const auto& c) { return c.change.what.retunes; });
  for (auto& [pipeline, change, reload] : steps.changes) {
    const std::string name = pipeline->spec().name;
    const std::string keys = fmt::format("{}", fmt::join(change.what.keys, ", "));
    const bool exchanged = change.engine != nullptr;
    if (const ChangeOutcome outcome = pipeline->go_over(std::move(change)); !outcome.is_done()) {
      report.result = outcome.answer == ChangeOutcome::Answer::refused ? Result::refused : Result::busy;
      report.lines.push_back(fmt::format("{}: {} unchanged: {}", name, keys, outcome.why));
      return;
    }
    if (keys.find("realtime.") != std::string::npos) grant(pipeline->spec());
    report.lines.push_back(fmt::format("{}: {} changed {}", name, keys, exchanged ? "between two blocks" : "at once"));
    note(name, reload);
  }
  std::vector<PipelineSpec> ended;
  for (auto& ends : steps.ends) {
    report.lines.push_back(ends->spec().name + ": ended");
    ended.push_back(retire(std::move(ends)));
  }
  for (auto& [running, spec, keys, reload] : steps.renewals) {
    const std::string name = spec.name;
    report.lines.push_back(fmt::format("{}: {} changed, pipeline restarted", name, fmt::join(keys, ", ")));
    if (!restart(std::move(running), std::move(spec), report)) return restore(std::move(ended), "", report);
    note(name, reload);
  }
  if (const std::string why = add_all(steps, report); !why.empty()) return restore(std::move(ended), why, report);
  if (steps.monitor) report.lines.emplace_back("monitor: unchanged until iqd is restarted");
}

/// Returns why one of them could not start, and then none has; empty if all have.
std::string PipelineSet::add_all(Steps& steps, ChangeReport& report) {
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
    return e.what();
  }
  for (const auto& pipeline : started) {
    origins_.start(pipeline->name(), wall_ns());
    report.lines.push_back(pipeline->name() + ": started");
  }
  return {};
}

/// Restarts a pipeline with another source. False if that cannot be opened; the former one then runs again.
bool PipelineSet::restart(std::shared_ptr<Pipeline> running, PipelineSpec spec, ChangeReport& report) {
  std::vector<PipelineSpec> before;
  before.push_back(retire(std::move(running)));
  try {
    add(open_whole(std::move(spec)));
    return true;
  } catch (const std::exception& e) {
    restore(std::move(before), e.what(), report);
    return false;
  }
}

/// Restarts pipelines that were ended for one that cannot be opened, without recordings that may not be overwritten.
void PipelineSet::restore(std::vector<PipelineSpec> ended, const std::string& why, ChangeReport& report) {
  report.result = Result::refused;
  if (!why.empty()) report.lines = {why};
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
