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

#include "base/log.hpp"

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
  bool is_recording = false;
};

/// Nothing unless it is a regular file.
std::optional<Entry> entry_at(const fs::path& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  return Entry{path.filename().string(), facts.st_size, facts.st_mtime, false};
}

/// While an archive is recorded, its samples are in a file of their own.
Entry entry_of_recording(const fs::path& folder, const std::string& name) {
  const std::string part = fs::path(name).stem().string() + ".part.sigmf-data";
  Entry entry = entry_at(folder / part).value_or(entry_at(folder / name).value_or(Entry()));
  entry.name = name;
  entry.is_recording = true;
  return entry;
}

std::vector<Entry> entries_in(const fs::path& folder, const std::vector<std::string>& recording) {
  std::vector<Entry> all;
  for (const std::string& name : recording) all.push_back(entry_of_recording(folder, name));
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    const std::string name = i->path().filename().string();
    if (!is_name(name) || name.find(".part") != name.npos || std::ranges::find(recording, name) != recording.end())
      continue;
    if (auto entry = entry_at(i->path())) all.push_back(std::move(*entry));
  }
  std::ranges::stable_sort(all, std::ranges::greater(), [](const Entry& e) { return std::pair(e.time_s, e.name); });
  return all;
}

json entry_json(const Entry& entry) {
  return {{"name", entry.name},
          {"bytes", entry.bytes},
          {"time_s", entry.time_s},
          {"state", entry.is_recording ? "recording" : "done"}};
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
  entry.is_recording = true;
  report.lines.pop_back();
  for (const std::string& line : report.lines) log::info("http: {} asked: {} as {}", call.from, line, entry.name);
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
  const std::vector<std::string> recording = call.service.recording();
  if (std::ranges::find(recording, name) != recording.end()) return refusal(409, {name + " is being recorded"});
  if (!is_name(name) || !entry_at(path)) return refusal(404, {"there is no such recording"});
  if (::unlink(path.c_str()) != 0) return refusal(422, {fmt::format("{}: {}", name, std::strerror(errno))});
  log::info("http: {} deleted {}", call.from, name);
  return {200, json_text({{"applied", {name + " deleted"}}})};
}

}  // namespace iqd
