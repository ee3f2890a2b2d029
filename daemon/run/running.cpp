// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/running.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "daemon/run/change_request.hpp"
#include "net/descriptors.hpp"
#include "pipeline/real_time.hpp"
#include "pipeline/spec_plan.hpp"

namespace iqd {
namespace {

using Result = ChangeReport::Result;

/// How long the readers of a pipeline that ends are waited for, and then its radio.
constexpr std::int64_t kDrainNs = 3'000'000'000;
constexpr std::int64_t kRetireNs = 3'500'000'000;

/// A radio that is away could be opened neither otherwise nor as it was, and all pipelines would end over it.
void require_there(const Pipeline& running, const PipelineSpec& next, const SpecChange& change) {
  if (!change.source || running.state() != SourceState::reconnecting) return;
  const auto claims = running.spec().source->claims();
  const auto is_claimed = [&](const std::string& c) { return std::ranges::find(claims, c) != claims.end(); };
  if (std::ranges::any_of(next.source->claims(), is_claimed))
    throw SetupError(fmt::format("{}: the radio is away: {} cannot change before it is back", running.name(),
                                 fmt::join(change.keys, ", ")));
}

/// What ends has to be able to begin again: what that takes is asked for before.
void require_means() {
  constexpr int kDescriptors = 32;
  constexpr int kThreads = 8;
  net::require_threads(kThreads);
  const net::FreeDescriptors free(kDescriptors);
}

/// A pipeline that begins anew closes its sinks, and a recording of its own would be in the way of the next.
void require_free(const Pipeline& running, const PipelineSpec& next, const SpecChange& change) {
  const auto& sinks = running.spec().sinks;
  for (const SinkSpec& sink : next.sinks) {
    const std::string kept = sink.options->keeps();
    if (kept.empty() || std::ranges::none_of(sinks, [&](const SinkSpec& s) { return s.options->keeps() == kept; }))
      continue;
    throw SetupError(fmt::format(
        "{}: {} cannot change while {} is recorded: the pipeline would begin anew, and the recording may not be "
        "overwritten; choose another path for it in the file, or set overwrite: true",
        running.name(), fmt::join(change.keys, ", "), kept));
  }
}

bool wait_for(const Pipeline& pipeline, std::int64_t until) {
  while (!pipeline.finished() && steady_ns() < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return pipeline.finished();
}

}  // namespace

/// What it takes to go over to another file.
struct Running::Steps {
  struct Renewal {
    std::shared_ptr<Pipeline> running;
    PipelineSpec spec;
    std::vector<std::string> keys;
  };
  std::vector<std::pair<std::shared_ptr<Pipeline>, Pipeline::Change>> changes{};
  std::vector<Renewal> renewals{};                  // of pipelines whose source changes
  std::vector<std::shared_ptr<Pipeline>> ends{};    // that the file has no more
  std::vector<PipelineSpec> additions{};            // that it has now
  std::vector<std::shared_ptr<Pipeline>> opened{};  // of these, already
  bool monitor = false;
};

bool Running::set_up() {
  std::vector<std::shared_ptr<Pipeline>> opened;
  try {
    for (PipelineSpec& spec : loaded_->spec.pipelines) opened.push_back(open(std::move(spec)));
  } catch (...) {
    close(opened);
    throw;
  }
  if (report(loaded_->problems)) {
    close(opened);
    return false;
  }
  const std::lock_guard lock(list_);
  pipelines_ = std::move(opened);
  return true;
}

/// What was opened before something else could not be.
void Running::close(std::vector<std::shared_ptr<Pipeline>>& opened) {
  while (!opened.empty()) {
    const PipelineSpec& last = opened.back()->spec();
    watch_->call(last.name + ": the call that closes the radio", last.realtime.hang_s, [&] { opened.pop_back(); });
  }
}

std::shared_ptr<Pipeline> Running::open(PipelineSpec spec) {
  Problems& problems = spec.section.problems();
  grant(spec);
  return std::make_shared<Pipeline>(std::move(spec), catalogue(), problems, watch_);
}

/// Throws SetupError also for problems that show only now.
std::shared_ptr<Pipeline> Running::open_whole(PipelineSpec spec) {
  const Problems& problems = spec.section.problems();
  const std::size_t before = problems.size();
  std::shared_ptr<Pipeline> opened = open(std::move(spec));
  if (problems.size() > before) throw SetupError(problems[before].text());
  return opened;
}

/// Memory is locked before it is taken; what threads get is said once.
void Running::grant(const PipelineSpec& spec) {
  if (spec.realtime.lock_memory && !is_memory_locked_) is_memory_locked_ = ::mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
  try {
    log_real_time(spec.name, spec.realtime, is_memory_locked_);
  } catch (const std::exception& e) {
    log::warn("{}: it cannot be found out what its threads get: {}", spec.name, e.what());
  }
}

void Running::start() {
  for (const auto& p : pipelines_) p->start();
}

std::vector<std::shared_ptr<Pipeline>> Running::look() const {
  const std::lock_guard lock(list_);
  return pipelines_;
}

std::string Running::hung() const {
  std::string hangs = watch_->overdue();
  for (const auto& p : look())
    if (const std::string radio = hangs.empty() ? p->radio_hangs() : ""; !radio.empty())
      hangs = fmt::format("{}: {}", p->name(), radio);
  return hangs;
}

std::shared_ptr<Pipeline> Running::find(const std::string& name) const {
  for (const auto& p : pipelines_)
    if (p->spec().name == name || (name.empty() && pipelines_.size() == 1)) return p;
  return nullptr;
}

std::vector<std::shared_ptr<ApplyOutlet>> Running::applies() const {
  std::vector<std::shared_ptr<ApplyOutlet>> all;
  for (const auto& p : pipelines_)
    for (auto& apply : p->applies()) all.push_back(std::move(apply));
  return all;
}

void Running::tidy() {
  for (const auto& p : pipelines_) p->tidy();
}

ChangeReport Running::reload() {
  if (loaded_->document.file.empty()) return {Result::refused, {"there is no file to read again"}};
  std::unique_ptr<Loaded> next = load(loaded_->document.file);
  const ChangeReport report = go_over(*next, Scope::all);
  if (report.result != Result::applied) return report;
  overrides_.clear();
  for (const auto& apply : applies()) apply->forget();
  // The door goes on as it was opened.
  next->spec.listen = loaded_->spec.listen;
  next->spec.token_file = loaded_->spec.token_file;
  loaded_ = std::move(next);
  return report;
}

ChangeReport Running::set(const std::string& pipeline, const std::string& stage, const std::string& keys) {
  std::shared_ptr<Pipeline> at = find(pipeline);
  if (!at)
    return {Result::unknown,
            {pipeline.empty() ? "there are several pipelines: name one" : "there is no pipeline '" + pipeline + "'"}};
  const auto& stages = at->spec().stages;
  const auto has_name = [&](const StageSpec& s) { return s.name == stage; };
  if (stage != "source" && std::none_of(stages.begin(), stages.end(), has_name))
    return {Result::unknown, {fmt::format("{} has no stage '{}'", at->spec().name, stage)}};

  if (at->finished()) return {Result::refused, {at->spec().name + " has ended: there is nothing to set"}};

  auto next = std::make_unique<Loaded>();
  std::vector<Override> overrides = overrides_;
  if (auto no = read_request({stage, keys}, loaded_->document, at->spec(), overrides, *next)) return *std::move(no);
  at.reset();  // whoever holds a pipeline keeps it from ending
  const ChangeReport report = go_over(*next, Scope::named);
  if (report.result == Result::applied) overrides_ = std::move(overrides);
  return report;
}

/// What the pipelines at work have is there for those that take their place. Whether one fits beside the other, where
/// both are there for a moment, is asked when it is made ready.
Allowance Running::allowance_of(const Spec& next, Scope scope) const {
  Allowance allowance;
  allowance.spare_files = 0;
  for (const auto& p : pipelines_)
    if (scope == Scope::all ||
        std::ranges::find(next.pipelines, p->name(), &PipelineSpec::name) != next.pipelines.end())
      allowance.take_back(p->sizing());
  return allowance;
}

ChangeReport Running::go_over(Loaded& next, Scope scope) {
  Problems& problems = next.problems;
  Steps steps;
  try {
    if (problems.empty()) check_spec(next.spec, catalogue(), problems, allowance_of(next.spec, scope));
    if (!problems.empty()) return refused(problems);
    steps = steps_to(next, scope);
    if (!steps.ends.empty() || !steps.renewals.empty()) require_means();
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

/// Makes ready what can be made ready beside what runs.
Running::Steps Running::steps_to(Loaded& next, Scope scope) {
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
    if (change.source || (scope == Scope::all && (*here)->finished())) {
      require_free(**here, spec, change);
      steps.renewals.push_back({*here, std::move(spec), change.keys});
    } else {
      steps.changes.emplace_back(*here, (*here)->prepare(std::move(spec), std::move(change), next.problems));
    }
  }
  if (scope == Scope::named) return steps;
  for (const auto& p : pipelines_)
    if (std::find(kept.begin(), kept.end(), p->spec().name) == kept.end()) steps.ends.push_back(p);
  // What ends may hold what begins: a port, a radio.
  if (!steps.ends.empty() || !steps.renewals.empty()) return steps;
  for (PipelineSpec& spec : steps.additions) steps.opened.push_back(open(std::move(spec)));
  return steps;
}

void Running::carry_out(Steps& steps, ChangeReport& report) {
  for (auto& [pipeline, change] : steps.changes) {
    const std::string name = pipeline->spec().name;
    const std::string keys = fmt::format("{}", fmt::join(change.what.keys, ", "));
    const bool exchanged = change.engine != nullptr;
    if (const std::string why = pipeline->go_over(std::move(change)); !why.empty()) {
      report.result = Result::busy;
      report.lines.push_back(fmt::format("{}: {} as before: {}", name, keys, why));
      return;
    }
    if (keys.find("realtime.") != std::string::npos) grant(pipeline->spec());
    report.lines.push_back(fmt::format("{}: {}{}", name, keys, exchanged ? ", between two blocks" : ", at once"));
  }
  std::vector<PipelineSpec> ended;
  for (auto& ends : steps.ends) {
    report.lines.push_back(ends->spec().name + ": ended");
    ended.push_back(retire(std::move(ends)));
  }
  for (auto& [running, spec, keys] : steps.renewals) {
    report.lines.push_back(fmt::format("{}: {}, started anew", spec.name, fmt::join(keys, ", ")));
    if (!start_anew(std::move(running), std::move(spec), report)) return take_up_again(std::move(ended), "", report);
  }
  if (const std::string why = add_all(steps, report); !why.empty()) return take_up_again(std::move(ended), why, report);
  if (steps.monitor) report.lines.emplace_back("monitor: stays as it is until a restart");
}

/// What keeps one of them from starting, after which none has; else empty.
std::string Running::add_all(Steps& steps, ChangeReport& report) {
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
  for (const auto& pipeline : started) report.lines.push_back(pipeline->spec().name + ": started");
  return {};
}

/// Ends a pipeline and closes all that it has. Gives its spec back.
PipelineSpec Running::retire(std::shared_ptr<Pipeline>&& pipeline) {
  const std::int64_t began = steady_ns();
  pipeline->stop();
  if (!wait_for(*pipeline, began + kDrainNs)) pipeline->interrupt();
  if (!wait_for(*pipeline, began + kRetireNs)) {
    const std::string stage = pipeline->slow_stage(1.0);
    throw std::runtime_error(fmt::format("{}: {} does not let go; ending, to be started anew", pipeline->spec().name,
                                         stage.empty() ? "the radio" : "stage '" + stage + "'"));
  }
  {
    const std::lock_guard lock(list_);
    std::erase(pipelines_, pipeline);
  }
  while (pipeline.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PipelineSpec spec = std::move(pipeline->spec());
  spec.has_run = true;
  pipeline.reset();
  return spec;
}

/// A pipeline with another source. False where that cannot be opened, and the one before was taken up again.
bool Running::start_anew(std::shared_ptr<Pipeline> running, PipelineSpec spec, ChangeReport& report) {
  std::vector<PipelineSpec> before;
  before.push_back(retire(std::move(running)));
  try {
    add(open_whole(std::move(spec)));
    return true;
  } catch (const std::exception& e) {
    take_up_again(std::move(before), e.what(), report);
    return false;
  }
}

/// What has ended for something that cannot be opened goes on as it was, but for recordings that may not be
/// overwritten.
void Running::take_up_again(std::vector<PipelineSpec> ended, const std::string& why, ChangeReport& report) {
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
          fmt::format("{}: cannot go on as it was: {}; ending, to be started anew", name, e.what()));
    }
    report.lines.push_back(name + ": started again as it was");
  }
}

void Running::add(std::shared_ptr<Pipeline> opened) {
  opened->start();
  const std::lock_guard lock(list_);
  pipelines_.push_back(std::move(opened));
}

}  // namespace iqd
