// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/pipeline_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "pipeline/real_time.hpp"

namespace iqd {
namespace {

bool wait_for(const Pipeline& pipeline, std::int64_t until) {
  while (!pipeline.finished() && steady_ns() < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return pipeline.finished();
}

}  // namespace

bool PipelineSet::set_up() {
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
  for (const auto& p : opened) origins_.start(p->name(), wall_ns());
  const std::lock_guard lock(list_);
  pipelines_ = std::move(opened);
  return true;
}

/// Closes what was opened before something else failed to open.
void PipelineSet::close(std::vector<std::shared_ptr<Pipeline>>& opened) {
  while (!opened.empty()) {
    const PipelineSpec& last = opened.back()->spec();
    watch_->call(last.name + ": the call that closes the radio", last.realtime.hang_s, [&] { opened.pop_back(); });
  }
}

std::shared_ptr<Pipeline> PipelineSet::open(PipelineSpec spec) {
  Problems& problems = spec.section.problems();
  grant(spec);
  return std::make_shared<Pipeline>(std::move(spec), catalogue(), problems, watch_);
}

/// Throws SetupError also for problems found while opening.
std::shared_ptr<Pipeline> PipelineSet::open_whole(PipelineSpec spec) {
  const Problems& problems = spec.section.problems();
  const std::size_t before = problems.size();
  std::shared_ptr<Pipeline> opened = open(std::move(spec));
  if (problems.size() > before) throw SetupError(problems[before].text());
  return opened;
}

/// Locks memory before it is allocated, and logs once what the threads were granted.
void PipelineSet::grant(const PipelineSpec& spec) {
  if (spec.realtime.lock_memory && !is_memory_locked_) is_memory_locked_ = ::mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
  try {
    log_real_time(spec.name, spec.realtime, is_memory_locked_);
  } catch (const std::exception& e) {
    log::warn("{}: cannot determine what its threads are granted: {}", spec.name, e.what());
  }
}

void PipelineSet::start() {
  for (const auto& p : pipelines_) p->start();
}

std::vector<std::shared_ptr<Pipeline>> PipelineSet::look() const {
  const std::lock_guard lock(list_);
  return pipelines_;
}

void PipelineSet::visit_parts(const std::function<void(const AskedPart&)>& visit) const {
  for (const auto& p : look())
    p->visit_parts([&](const PipelinePart& part, const DeviceKeys& device) {
      visit({p->name(), part, device, origins_});
    });
}

std::string PipelineSet::hung() const {
  std::string hangs = watch_->overdue();
  for (const auto& p : look())
    if (const std::string radio = hangs.empty() ? p->radio_hangs() : ""; !radio.empty())
      hangs = fmt::format("{}: {}", p->name(), radio);
  return hangs;
}

std::shared_ptr<Pipeline> PipelineSet::find(const std::string& name) const {
  for (const auto& p : pipelines_)
    if (p->spec().name == name || (name.empty() && pipelines_.size() == 1)) return p;
  return nullptr;
}

std::vector<std::shared_ptr<ApplyOutlet>> PipelineSet::applies() const {
  std::vector<std::shared_ptr<ApplyOutlet>> all;
  for (const auto& p : pipelines_)
    for (auto& apply : p->applies()) all.push_back(std::move(apply));
  return all;
}

void PipelineSet::tidy() {
  for (const auto& p : pipelines_) p->tidy();
  tidy_recordings();
}

/// Ends a pipeline and closes all it has. Returns its spec.
PipelineSpec PipelineSet::retire(std::shared_ptr<Pipeline>&& pipeline) {
  const std::int64_t began = steady_ns();
  pipeline->stop();
  if (!wait_for(*pipeline, began + kDrainNs)) pipeline->interrupt();
  if (!wait_for(*pipeline, began + kRetireNs)) {
    const std::string stage = pipeline->slow_stage(1.0);
    throw std::runtime_error(fmt::format("{}: {} does not stop; exiting to be restarted", pipeline->spec().name,
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

void PipelineSet::add(std::shared_ptr<Pipeline> opened) {
  opened->start();
  const std::lock_guard lock(list_);
  pipelines_.push_back(std::move(opened));
}

/// A pipeline that was restarted keeps its place.
void PipelineSet::put_in_order(const std::vector<std::string>& names) {
  const std::lock_guard lock(list_);
  std::ranges::stable_sort(pipelines_, {},
                           [&](const auto& p) { return std::ranges::find(names, p->name()) - names.begin(); });
}

}  // namespace iqd
