// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/statvfs.h>

#include <set>

#include "daemon/doctor/radio_checks.hpp"

namespace iqd {
namespace {

constexpr double kShortSeconds = 600;
constexpr double kLittleBytes = 1e9;

/// Bytes per second of the source port.
double bytes_per_s(const PipelineSpec& pipeline) {
  Problems unused;
  const StreamInfo stream = pipeline.source->describe(Section("", {}, unused));
  return stream.rate_hz * stream.channels * static_cast<double>(size_of(stream.element));
}

std::string duration(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  return seconds < 7200 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

Finding judge_disk(const std::string& folder, double free_bytes, double bytes_per_s) {
  Finding f{"disk of " + folder, fmt::format("{:.1f} GB free", free_bytes / 1e9), Verdict::ok, ""};
  if (bytes_per_s > 0) f.found += fmt::format(", full after {}", duration(free_bytes / bytes_per_s));
  if (bytes_per_s > 0 ? free_bytes / bytes_per_s >= kShortSeconds : free_bytes >= kLittleBytes) return f;
  f.verdict = Verdict::warn;
  f.mend = fmt::format("du -xsh {}/*  # free space, record to another disk, or record only around a `trigger`", folder);
  return f;
}

Findings check_disks(const Spec& spec) {
  std::set<std::pair<std::string, double>> wanted;  // folder, bytes per second
  for (const PipelineSpec& p : spec.pipelines)
    for (const SinkSpec& s : p.sinks) {
      if (!s.options) continue;
      const std::string path = s.options ? s.options->path() : "";
      if (path.empty()) continue;
      const std::string folder = std::filesystem::path(path).parent_path().string();
      wanted.emplace(folder.empty() ? "." : folder, s.port == "source" ? bytes_per_s(p) : 0);
    }
  Findings all;
  for (const auto& [folder, rate] : wanted) {
    struct statvfs status {};
    if (::statvfs(folder.c_str(), &status) != 0) continue;  // `iqd check` reports a missing folder
    all.push_back(
        judge_disk(folder, static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize), rate));
  }
  return all;
}

}  // namespace iqd
