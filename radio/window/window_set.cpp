// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/window/window_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/integer.hpp"
#include "radio/window/message_file.hpp"

namespace iqd::radio {
namespace {

namespace fs = std::filesystem;

/// Makes the messages of windows those of one stream.
class Joint {
 public:
  /// False if it has no items: what it reports, the next message does.
  bool take(Message& m) noexcept {
    lose(m.gap);
    reported_ = saturated_add(reported_, m.gap);
    if (m.tuned >= 0) tuned_ = m.tuned;
    if (m.time == TimeSource::host) m.time_ns = host_time_of(m);
    if (m.extent == 0) return false;
    m.seq = seq_++;
    m.block += first_block_;
    m.gap = std::exchange(gap_, 0);
    m.dropped = dropped_;
    m.tuned = std::exchange(tuned_, -1);
    return true;
  }
  /// What was lost after the window's last message is in none of them.
  void end(const Manifest& window) noexcept {
    first_block_ += static_cast<std::uint64_t>(window.blocks);
    lose(std::max<std::int64_t>(window.lost + window.missing - std::exchange(reported_, 0), 0));
  }

 private:
  void lose(std::int64_t samples) noexcept {
    gap_ = saturated_add(gap_, samples);
    dropped_ = saturated_add(dropped_, samples);
  }
  /// A recording without times is played at the host's; windows are so at different ones.
  std::int64_t host_time_of(const Message& m) noexcept {
    if (!timed_) {
      timed_ = true;
      sample_ = m.sample;
      time_ns_ = m.time_ns;
    }
    const double since_ns = static_cast<double>(m.sample - sample_) * 1e9 / std::max(m.format->rate_hz, 1e-3);
    return saturated_add(time_ns_, std::llround(std::min(since_ns, 4e18)));
  }

  std::uint64_t first_block_ = 0, seq_ = 0;
  std::int64_t gap_ = 0, dropped_ = 0;
  std::int64_t reported_ = 0;  // gaps of the window's messages
  SampleIndex tuned_ = -1;
  bool timed_ = false;
  SampleIndex sample_ = 0;    // the sample that…
  std::int64_t time_ns_ = 0;  // …has this time
};

/// Why the results are not those of the manifest; empty if they are.
std::string fault_of(const std::string& results, const Manifest& manifest) {
  std::error_code failed;
  if (const auto bytes = fs::file_size(results, failed); failed || static_cast<std::int64_t>(bytes) != manifest.bytes)
    return failed ? failed.message() : fmt::format("has {} bytes, not {}", bytes, manifest.bytes);
  try {
    MessageFile file(results, manifest.format);
    for (Message m; file.next(m);) continue;
    return file.hash() == manifest.results ? "" : "has other results than its manifest says";
  } catch (const SetupError&) {
    return "is damaged";
  }
}

/// What two windows must have in common, and do not.
std::string difference(const Manifest& a, const Manifest& b) {
  if (a.version != b.version) return fmt::format("was made by iqd {}, not {}", b.version, a.version);
  if (a.pipeline != b.pipeline) return "is of another pipeline file";
  if (a.data != b.data) return "is of another recording, or that has changed";
  if (a.entry != b.entry || a.format != b.format) return "is of another sink or port";
  if (a.warmed != b.warmed) return "was started warm, or not, unlike the others";
  return {};
}

}  // namespace

std::string WindowSet::results(std::int64_t window) const {
  return results_path((fs::path(folder_) / name_).string(), window, count_);
}

std::vector<WindowSet> WindowSet::in(const std::string& folder, std::int64_t count,
                                     std::vector<std::string>& unreadable) {
  static const std::regex form(R"((.+)\.([0-9]{1,7})-of-([0-9]{1,7})\.json)");
  std::map<std::string, WindowSet> found;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    const std::string file = entry.path().filename().string();
    std::smatch parts;
    if (!std::regex_match(file, parts, form) || std::stoll(parts[3]) != count) continue;
    const auto set_of = [&](const std::string& name) -> WindowSet& {
      return found.try_emplace(name, WindowSet(folder, name, count)).first->second;
    };
    WindowSet& set = set_of(parts[1]);
    try {
      Manifest manifest = read_manifest(entry.path().string());
      const std::int64_t window = std::stoll(parts[2]);
      for (const std::string& sink : manifest.sinks) set_of(sink);
      if (manifest.window == window && manifest.windows == count)
        set.windows_[window] = std::move(manifest);
      else
        unreadable.push_back(fmt::format("{}: is the manifest of window {} of {}", entry.path().string(),
                                         manifest.window, manifest.windows));
    } catch (const SetupError& e) {
      unreadable.emplace_back(e.what());
    }
  }
  if (failed) throw SetupError(fmt::format("{}: {}", folder, failed.message()));
  std::vector<WindowSet> all;
  for (auto& [name, set] : found) all.push_back(std::move(set));
  return all;
}

std::vector<std::int64_t> WindowSet::missing(bool lossy) const {
  std::vector<std::int64_t> missing;
  for (std::int64_t w = 0; w < count_; ++w)
    if (is_missing(w, lossy)) missing.push_back(w);
  return missing;
}

bool WindowSet::is_missing(std::int64_t window, bool lossy) const {
  const auto at = windows_.find(window);
  if (at == windows_.end() || (at->second.lost != 0 && !lossy)) return true;
  std::error_code failed;
  const auto bytes = fs::file_size(results(window), failed);
  return failed || static_cast<std::int64_t>(bytes) != at->second.bytes;
}

std::vector<std::string> WindowSet::faults() const {
  std::vector<std::string> faults;
  const Manifest& first = windows_.begin()->second;
  SampleIndex end = first.sample;
  for (const auto& [window, manifest] : windows_) {
    const std::string file = results(window);
    const auto add = [&faults, &file](const std::string& what) { faults.push_back(fmt::format("{}: {}", file, what)); };
    if (const std::string what = difference(first, manifest); !what.empty()) add(what);
    if (manifest.sample != end)
      add(fmt::format("begins at sample {}, but the window before it ends at {}", manifest.sample, end));
    end = saturated_add(manifest.sample, manifest.samples);
    if (const std::string what = fault_of(file, manifest); !what.empty()) add(what);
  }
  return faults;
}

std::vector<std::string> WindowSet::remarks() const {
  std::vector<std::string> remarks;
  std::set<std::string> devices;
  for (const auto& [window, manifest] : windows_) {
    devices.insert(manifest.device);
    if (manifest.lost > 0)
      remarks.push_back(fmt::format("{}: {} samples have no results", results(window), manifest.lost));
  }
  if (devices.size() > 1) remarks.push_back(fmt::format("{}: not exact: other devices", name_));
  if (windows_.begin()->second.warmed)
    remarks.push_back(fmt::format("{}: not exact: stages with a state settled in each window", name_));
  return remarks;
}

void WindowSet::join(Sink& sink) const {
  Joint joint;
  const PortFormat& format = windows_.begin()->second.format;
  for (const auto& [window, manifest] : windows_) {
    MessageFile file(results(window), format);
    for (Message m; file.next(m);)
      if (joint.take(m) && !sink.send(m)) throw SetupError(fmt::format("{}: takes no more results", name_));
    joint.end(manifest);
    if (file.hash() != manifest.results) throw SetupError(results(window) + ": was replaced during the join");
  }
  sink.finish();
}

}  // namespace iqd::radio
