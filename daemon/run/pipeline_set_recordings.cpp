// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Recordings that requests start: sinks that are added to a running pipeline, and removed when they are over.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "daemon/run/change_request.hpp"
#include "daemon/run/pipeline_set_steps.hpp"
#include "pipeline/spec/spec_change.hpp"
#include "radio/file/file_driver.hpp"
#include "radio/file/sigmf.hpp"

namespace iqd {
namespace {

using Result = ChangeReport::Result;

constexpr std::size_t kMostRecordings = 8;
/// For the last samples to arrive, and for another try if a change was not possible.
constexpr std::int64_t kSlackNs = 1'000'000'000;

std::string no_such_pipeline(const std::string& name) {
  return name.empty() ? "there are several pipelines: name one as `pipeline`"
                      : fmt::format("there is no pipeline '{}'", name);
}

/// The files of an archive that was not completed, to be appended to a message.
std::string parts_of(const std::string& path) {
  const radio::SigmfPaths parts = radio::sigmf_paths(std::filesystem::path(path).replace_extension(".part").string());
  std::string text;
  for (const std::string& part : {parts.data, parts.meta})
    if (std::error_code error; std::filesystem::exists(part, error))
      text += (text.empty() ? ": its samples are in " : " and ") + part;
  return text;
}

}  // namespace

ChangeReport PipelineSet::record(const RecordingRequest& request) {
  const std::shared_ptr<Pipeline> at = find(request.pipeline);
  if (!at) return {Result::unknown, {no_such_pipeline(request.pipeline)}};
  if (at->finished()) return {Result::refused, {at->name() + " has ended: nothing can be recorded"}};
  if (auto no = refusal_in_window(*at)) return *std::move(no);
  if (recordings_.sinks().size() >= kMostRecordings)
    return {Result::busy, {fmt::format("{} recordings run already", kMostRecordings)}};
  Recordings::Recording recording;
  at->visit_plan([&](const Plan& plan) { recording = recordings_.make(request, plan, wall_ns()); });
  std::vector<AddedSink> sinks = recordings_.sinks();
  sinks.push_back(recording.sink);
  ChangeReport report = change_sinks(recording.pipeline, std::move(sinks));
  if (report.result != Result::applied) return report;
  recording.ends_ns = steady_ns() + static_cast<std::int64_t>(request.seconds * 1e9) + kSlackNs;
  report.lines = {fmt::format("{}: recording {} for {:g} s", recording.pipeline, request.port, request.seconds),
                  recording.name};
  recordings_.add(std::move(recording));
  loaded_->added = recordings_.sinks();
  return report;
}

ChangeReport PipelineSet::end_recording(std::int64_t now_ns) {
  const Recordings::Recording* const over = recordings_.over(now_ns);
  if (!over) return {};
  const std::string name = over->name, pipeline = over->pipeline;
  const std::shared_ptr<Pipeline> at = find(pipeline);
  ChangeReport report;
  // The sinks of a pipeline that has ended have ended with it.
  if (at && !at->finished()) report = change_sinks(pipeline, recordings_.sinks(name));
  if (report.result == Result::busy) {
    recordings_.postpone(name, now_ns + kSlackNs);
    return report;
  }
  for (const std::string& line : report.lines)
    if (report.result != Result::applied) log::warn("{}: cannot be closed: {}", name, line);
  recordings_.close(name);
  loaded_->added = recordings_.sinks();
  return report;
}

/// Says how those have ended whose files are closed.
void PipelineSet::tidy_recordings() {
  for (const Recordings::Recording& recording : recordings_.closing()) {
    const std::shared_ptr<Pipeline> at = find(recording.pipeline);
    const bool is_whole = radio::existing_file(recording.path) == recording.path;
    if (!is_whole && at && at->has_retired()) continue;
    if (is_whole)
      log::info("{}: recorded {}", recording.pipeline, recording.name);
    else
      log::warn("{}: {} is not complete{}", recording.pipeline, recording.name, parts_of(recording.path));
    recordings_.remove(recording.name);
  }
}

/// Replaces the sinks that are not in the file.
ChangeReport PipelineSet::change_sinks(const std::string& pipeline, std::vector<AddedSink> sinks) {
  const std::shared_ptr<Pipeline> at = find(pipeline);
  auto next = std::make_unique<Loaded>();
  next->added = std::move(sinks);
  next->read(loaded_->document, overrides_);
  if (!next->problems.empty()) return refused_request(next->problems);
  std::erase_if(next->spec.pipelines, [&](const PipelineSpec& p) { return p.name != pipeline; });
  for (PipelineSpec& spec : next->spec.pipelines) {
    keep_programs(at->spec(), spec);
    spec.file_bytes = at->spec().file_bytes;
  }
  ChangeReport report = go_over(*next, Scope::named);
  if (report.result == Result::applied) loaded_->added = next->added;
  return report;
}

}  // namespace iqd
