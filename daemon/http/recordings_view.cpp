// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/recordings_view.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/log.hpp"
#include "radio/file/recording_names.hpp"

namespace iqd {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr double kShortestS = 1e-3;
constexpr double kLongestS = 86400;

HttpAnswer no_folder() {
  return refusal(409, {"no recordings can be made: set `monitor: recordings` to a folder"});
}

/// A name in the folder, and no way out of it.
bool is_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.find('/') == name.npos && name.find('\0') == name.npos;
}

struct Entry {
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t time_s = 0;
  std::string state = "done";
};

/// Nothing unless it is a regular file.
std::optional<Entry> entry_at(const fs::path& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  return Entry{path.filename().string(), facts.st_size, facts.st_mtime};
}

/// Whether a file is a recording that runs, or belongs to it: NAME.part.sigmf-data to NAME.sigmf, NAME.json to NAME.npy.
bool runs(const std::string& file, const std::vector<RunningRecording>& running) {
  return std::ranges::any_of(running, [&](const RunningRecording& r) {
    return file == r.name || file.starts_with(fs::path(r.name).stem().string() + '.');
  });
}

constexpr std::string_view kPartOfArchive = ".part.sigmf-data";

/// A file, and those that belong to it: the files beside an array, and what remains of an archive that was not completed.
std::vector<std::string> files_of(const std::string& name) {
  if (radio::is_npy(name)) return radio::recording_files(name);
  if (!name.ends_with(kPartOfArchive)) return {name};
  const std::string stem = name.substr(0, name.size() - kPartOfArchive.size());
  return {name, stem + ".part.sigmf-meta", stem + ".sigmf.part"};
}

bool is_part(const std::string& name) {
  return name.ends_with(kPartOfArchive) || name.ends_with(".part.sigmf-meta") || name.ends_with(".sigmf.part");
}

/// While an archive is recorded, its samples are in a file of their own.
Entry entry_of(const fs::path& folder, const RunningRecording& recording) {
  const std::string part = fs::path(recording.name).stem().string().append(kPartOfArchive);
  Entry entry = entry_at(folder / part).value_or(entry_at(folder / recording.name).value_or(Entry()));
  entry.name = recording.name;
  entry.state = recording.is_closing ? "closing" : "recording";
  return entry;
}

/// Without those that run.
std::vector<Entry> files_in(const fs::path& folder, const std::vector<RunningRecording>& running) {
  std::vector<Entry> all;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    const std::string name = i->path().filename().string();
    if (!is_name(name) || runs(name, running)) continue;
    if (auto entry = entry_at(i->path())) all.push_back(std::move(*entry));
  }
  return all;
}

/// The newest first. Files that belong to another one are not listed.
std::vector<Entry> entries_in(const fs::path& folder, const std::vector<RunningRecording>& running) {
  std::vector<Entry> all = files_in(folder, running);
  std::set<std::string> belonging;
  for (Entry& entry : all) {
    const std::vector<std::string> files = files_of(entry.name);
    belonging.insert(files.begin() + 1, files.end());
    if (is_part(entry.name)) entry.state = "unfinished";
  }
  std::erase_if(all, [&](const Entry& entry) { return belonging.contains(entry.name); });
  for (const RunningRecording& recording : running) all.push_back(entry_of(folder, recording));
  std::ranges::stable_sort(all, std::ranges::greater(), [](const Entry& e) { return std::pair(e.time_s, e.name); });
  return all;
}

json entry_json(const Entry& entry) {
  return {{"name", entry.name}, {"bytes", entry.bytes}, {"time_s", entry.time_s}, {"state", entry.state}};
}

std::string json_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

/// What a body asks for; otherwise why it is refused.
std::optional<RecordingRequest> asked_recording(const HttpCall& call, HttpAnswer& no) {
  const json body = json::parse(call.body, nullptr, false);
  if (!body.is_object() || !body.contains("port") || !body["port"].is_string()) {
    no = refusal(400, {"expected {\"port\": \"stage.output\", \"seconds\": 10}"});
    return std::nullopt;
  }
  const json seconds = body.value("seconds", json());
  if (!seconds.is_number() || !(seconds.get<double>() >= kShortestS) || !(seconds.get<double>() <= kLongestS)) {
    no = refusal(422, {fmt::format("seconds is a number from {} to {}", kShortestS, kLongestS)});
    return std::nullopt;
  }
  const json pipeline = body.value("pipeline", json(""));
  return RecordingRequest{pipeline.is_string() ? pipeline.get<std::string>() : "?", body["port"].get<std::string>(),
                          seconds.get<double>(), std::string(call.recordings)};
}

}  // namespace

HttpAnswer list_recordings(const HttpCall& call) {
  if (call.recordings.empty()) return no_folder();
  json all = json::array();
  for (const Entry& entry : entries_in(call.recordings, call.service.recording())) all.push_back(entry_json(entry));
  return {200, json_text({{"recordings", std::move(all)}})};
}

HttpAnswer start_recording(const HttpCall& call) {
  if (call.recordings.empty()) return no_folder();
  HttpAnswer no;
  const std::optional<RecordingRequest> request = asked_recording(call, no);
  if (!request) return no;
  ChangeReport report = call.service.record(*request);
  if (report.result != ChangeReport::Result::applied || report.lines.empty()) return changed_answer(report);
  Entry entry;
  entry.name = report.lines.back();
  entry.state = "recording";
  report.lines.pop_back();
  log::info("http: {} started a recording: {}, {:g} s, as {}", call.from, request->port, request->seconds, entry.name);
  return {200, json_text({{"applied", report.lines}, {"recording", entry_json(entry)}})};
}

HttpAnswer fetch_recording(const HttpCall& call) {
  if (call.recordings.empty()) return no_folder();
  const std::string name(call.names[0]);
  const fs::path path = fs::path(call.recordings) / name;
  if (!is_name(name) || !entry_at(path)) return refusal(404, {"there is no such recording"});
  HttpAnswer answer;
  answer.type = "application/octet-stream";
  answer.header = "Content-Disposition: attachment\r\n";
  answer.file = path.string();
  return answer;
}

HttpAnswer delete_recording(const HttpCall& call) {
  if (call.recordings.empty()) return no_folder();
  const std::string name(call.names[0]);
  const fs::path path = fs::path(call.recordings) / name;
  if (runs(name, call.service.recording())) return refusal(409, {name + " is being recorded"});
  if (!is_name(name) || !entry_at(path)) return refusal(404, {"there is no such recording"});
  if (::unlink(path.c_str()) != 0) return refusal(422, {fmt::format("{}: {}", name, std::strerror(errno))});
  for (const std::string& file : files_of(name)) ::unlink((fs::path(call.recordings) / file).c_str());
  log::info("http: {} deleted {}", call.from, name);
  return {200, json_text({{"applied", {name + " deleted"}}})};
}

}  // namespace iqd
