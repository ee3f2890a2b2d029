// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/recordings.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

#include "config/document.hpp"

namespace iqd {
namespace {

namespace fs = std::filesystem;

/// The port of a plan; null if there is none.
const PlanPort* find_port(const Plan& plan, const std::string& name) {
  const auto exact = std::ranges::find(plan.ports, name, &PlanPort::name);
  if (exact != plan.ports.end()) return &*exact;
  const auto of_stage = [&](const PlanPort& p) { return p.name.starts_with(name + '.'); };
  const auto first = std::ranges::find_if(plan.ports, of_stage);
  return first == plan.ports.end() ? nullptr : &*first;
}

/// A stream of samples that SigMF can store; other ports become arrays.
bool is_samples(const PlanPort& port) {
  const Element element = port.shape.element;
  return port.shape.axis == Axis::stream && port.shape.item.empty() && port.shape.rows.size() < 2 &&
         element != Element::f16 && element != Element::i64;
}

std::string safe(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return !std::isalnum(c) && c != '.' && c != '-' && c != '_'; }, '_');
  return text;
}

/// False for names that the file system does not take, too: opening such a file says why.
bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// A name that no recording has: none that is whole, and none that an iqd has begun that ended.
std::string free_name(const fs::path& folder, const std::string& stem, const char* ending,
                      const std::vector<RunningRecording>& running) {
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::find(running, name + ending, &RunningRecording::name) != running.end() ||
           is_there(folder / (name + ending)) || is_there(folder / (name + ".part.sigmf-meta"));
  };
  std::string name = stem;
  // If so many are taken, opening the file fails.
  for (int number = 2; is_taken(name) && number < 1000; ++number) name = fmt::format("{}-{}", stem, number);
  return name + ending;
}

/// The sink as in a file. A stream ends exactly; other ports when the recording is over.
nlohmann::json entry_of(const RecordingRequest& request, const std::string& path, bool is_stream) {
  nlohmann::json file = {{"path", path}};
  if (is_stream) file["trigger"] = {{"when", "time > 1970-01-02T00:00:00Z"}, {"post", request.seconds}, {"count", 1}};
  return {{"port", request.port}, {"file", file}};
}

}  // namespace

Recordings::Recording Recordings::make(const RecordingRequest& request, const Plan& plan, std::int64_t wall_ns) const {
  const PlanPort* const port = find_port(plan, request.port);
  const bool is_stream = !port || is_samples(*port);
  const auto seconds = static_cast<std::time_t>(wall_ns / 1'000'000'000);
  const std::string stem =
      safe(fmt::format("{}-{}-{:%Y%m%dT%H%M%SZ}", plan.pipeline, request.port, fmt::gmtime(seconds)));
  Recording recording;
  recording.pipeline = plan.pipeline;
  recording.name = free_name(request.folder, stem, is_stream ? ".sigmf" : ".npy", running());
  recording.path = (fs::path(request.folder) / recording.name).string();
  Problems none;
  recording.sink.pipeline = plan.pipeline;
  recording.sink.entry = parse_document(entry_of(request, recording.path, is_stream).dump(), "recording", none).root;
  return recording;
}

void Recordings::add(Recording recording) {
  recording.sink.is_open = true;
  const std::lock_guard lock(mutex_);
  all_.push_back(std::move(recording));
}

void Recordings::close(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(all_, name, &Recording::name);
  if (at != all_.end()) at->is_closing = true;
}

void Recordings::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::erase_if(all_, [&](const Recording& r) { return r.name == name; });
}

void Recordings::postpone(const std::string& name, std::int64_t ends_ns) {
  const auto at = std::ranges::find(all_, name, &Recording::name);
  if (at != all_.end()) at->ends_ns = ends_ns;
}

const Recordings::Recording* Recordings::over(std::int64_t now_ns) const {
  const auto at = std::ranges::find_if(all_, [&](const Recording& r) { return !r.is_closing && r.ends_ns <= now_ns; });
  return at == all_.end() ? nullptr : &*at;
}

std::vector<AddedSink> Recordings::sinks(const std::string& but) const {
  std::vector<AddedSink> sinks;
  for (const Recording& r : all_)
    if (!r.is_closing && r.name != but) sinks.push_back(r.sink);
  return sinks;
}

std::vector<Recordings::Recording> Recordings::closing() const {
  std::vector<Recording> closing;
  std::ranges::copy_if(all_, std::back_inserter(closing), &Recording::is_closing);
  return closing;
}

std::vector<RunningRecording> Recordings::running() const {
  const std::lock_guard lock(mutex_);
  std::vector<RunningRecording> running;
  for (const Recording& r : all_) running.push_back({r.name, r.is_closing});
  return running;
}

}  // namespace iqd
