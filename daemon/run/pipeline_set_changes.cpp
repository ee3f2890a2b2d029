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
#include "daemon/run/pipeline_set_steps.hpp"
#include "net/descriptors.hpp"
#include "pipeline/spec/pipeline_parts.hpp"
#include "pipeline/spec/spec_monitor.hpp"
#include "pipeline/spec_plan.hpp"

namespace iqd {
namespace {

using Result = ChangeReport::Result;

/// A disconnected radio could be opened neither with the new keys nor with the old ones, and iqd would have to exit.
void require_there(const Pipeline& running, const PipelineSpec& next, const SpecChange& change) {
  if (!change.source || running.state() != SourceState::reconnecting) return;
  const auto claims = running.spec().source->claims();
  const auto is_claimed = [&](const Claim& c) {
    return c.kind == Claim::Kind::radio &&
           std::ranges::any_of(claims, [&](const Claim& own) { return overlap(own, c); });
  };
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

std::vector<std::string> names_of(const std::vector<std::shared_ptr<Pipeline>>& pipelines) {
  std::vector<std::string> names;
  for (const auto& p : pipelines) names.push_back(p->name());
  return names;
}

std::string no_pipeline(const std::vector<std::shared_ptr<Pipeline>>& pipelines, const std::string& name) {
  const std::string all = fmt::format("{}", fmt::join(names_of(pipelines), ", "));
  return name.empty() ? "there are several pipelines: name one of " + all
                      : fmt::format("there is no pipeline '{}'; there are: {}", name, all);
}

/// Why no key of that name can be set: it is an outlet, or nothing.
ChangeReport no_keys(const PipelineSpec& spec, const std::string& name) {
  const auto has_name = [&](const PipelinePart& p) { return p.name == name; };
  if (std::ranges::any_of(parts_of(spec, catalogue()), has_name))
    return {Result::refused, {fmt::format("{} has no live keys: change it in the file and reload", name)}};
  std::vector<std::string_view> names{"source"};
  for (const StageSpec& s : spec.stages) names.push_back(s.name);
  return {Result::unknown,
          {fmt::format("{} has no stage '{}'{}; there are: {}", spec.name, name, did_you_mean(name, names),
                       fmt::join(names, ", "))}};
}

}  // namespace

std::optional<ChangeReport> PipelineSet::refusal_in_window(const Pipeline& pipeline) {
  if (!pipeline.spec().source->window()) return std::nullopt;
  return ChangeReport{
      Result::refused,
      {pipeline.name() + " plays a window of a recording: all windows must have the same keys and sinks"}};
}

ChangeReport PipelineSet::reload() {
  if (loaded_->document.file.empty()) return {Result::refused, {"there is no file to reload"}};
  for (const auto& p : pipelines_)
    if (auto no = refusal_in_window(*p)) return *std::move(no);
  std::unique_ptr<Loaded> next = load(loaded_->document.file, loaded_->added);
  const ChangeReport report = go_over(*next, Scope::all);
  if (report.result != Result::applied) return report;
  log_warnings(next->problems);
  overrides_.clear();
  for (const auto& p : pipelines_) origins_.reload(p->name(), {}, wall_ns());
  for (const auto& apply : applies()) apply->forget();
  keep_port(loaded_->spec, next->spec);
  loaded_ = std::move(next);
  return report;
}

ChangeReport PipelineSet::set(const std::string& pipeline, const std::string& stage, const std::string& keys,
                              SetBy by) {
  std::shared_ptr<Pipeline> at = find(pipeline);
  if (!at) return {Result::unknown, {no_pipeline(pipelines_, pipeline)}};
  const auto& stages = at->spec().stages;
  const auto has_name = [&](const StageSpec& s) { return s.name == stage; };
  if (stage != "source" && std::none_of(stages.begin(), stages.end(), has_name)) return no_keys(at->spec(), stage);

  if (at->finished()) return {Result::refused, {at->spec().name + " has ended: no key can be set"}};
  if (auto no = refusal_in_window(*at)) return *std::move(no);

  auto next = std::make_unique<Loaded>();
  next->added = loaded_->added;
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

/// Makes the whole change. If a part of it fails, undoes what was done before.
ChangeReport PipelineSet::go_over(Loaded& next, Scope scope) {
  std::vector<std::string> order = names_of(look()), next_order;
  for (const PipelineSpec& spec : next.spec.pipelines) next_order.push_back(spec.name);
  Done done;
  ChangeReport report = try_over(next, scope, done);
  if (report.result != Result::applied) {
    undo(done.changed, report);
  } else {
    report.lines = std::move(done.lines);
    for (const auto& [pipeline, reload] : done.reloads) {
      origins_.reload(pipeline, reload.keys, wall_ns());
      report.lines.insert(report.lines.end(), reload.undone.begin(), reload.undone.end());
    }
    if (report.lines.empty()) report.lines = {"nothing has changed"};
    if (scope == Scope::all) order = std::move(next_order);
  }
  put_in_order(order);
  return report;
}

/// Changes pipelines back, since another one could not change.
void PipelineSet::undo(const std::vector<std::string>& changed, ChangeReport& report) {
  if (changed.empty()) return;
  Loaded before;
  before.added = loaded_->added;
  before.read(loaded_->document, overrides_);
  std::erase_if(before.spec.pipelines,
                [&](const PipelineSpec& p) { return std::ranges::find(changed, p.name) == changed.end(); });
  for (PipelineSpec& spec : before.spec.pipelines) spec.file_bytes = find(spec.name)->spec().file_bytes;
  Done done;
  const ChangeReport undone = try_over(before, Scope::named, done);
  for (const std::string& line : done.lines) report.lines.push_back("changed back: " + line);
  if (undone.result == Result::applied) return;
  for (const std::string& line : undone.lines) report.lines.push_back("cannot be changed back: " + line);
}

ChangeReport PipelineSet::try_over(Loaded& next, Scope scope, Done& done) {
  Problems& problems = next.problems;
  Steps steps;
  try {
    check_spec(next.spec, catalogue(), problems, allowance_of(next.spec, scope));
    if (!problems.empty()) return scope == Scope::all ? refused(problems) : refused_request(problems);
    steps = steps_to(next, scope);
    if (!steps.ends.empty() || !steps.renewals.empty()) require_means();
  } catch (const NotNow& e) {
    return {Result::busy, {e.what()}};
  } catch (const std::exception& e) {
    return {Result::refused, {e.what()}};
  }
  if (!problems.empty()) {
    close(steps.opened);
    return scope == Scope::all ? refused(problems) : refused_request(problems);
  }
  try {
    return carry_out(steps, done);
  } catch (const std::exception& e) {
    throw Stranded(e.what());
  }
}

/// Prepares all that can be prepared while the old pipelines run.
PipelineSet::Steps PipelineSet::steps_to(Loaded& next, Scope scope) {
  Steps steps;
  steps.monitor = scope == Scope::all && !same_port(next.spec, loaded_->spec);
  std::vector<std::string> kept;
  for (PipelineSpec& spec : next.spec.pipelines) {
    kept.push_back(spec.name);
    spec.watched = loaded_->spec.has_page();
    const auto here =
        std::find_if(pipelines_.begin(), pipelines_.end(), [&](const auto& p) { return p->spec().name == spec.name; });
    if (here == pipelines_.end()) {
      steps.additions.push_back(std::move(spec));
      continue;
    }
    SpecChange change = compare((*here)->spec(), spec);
    if (change.none() || (change.is_by_others() && !(*here)->is_on_device())) continue;
    require_there(**here, spec, change);
    std::optional<Reload> reload;
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

}  // namespace iqd
