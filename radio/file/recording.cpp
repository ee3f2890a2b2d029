// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace iqd::radio {
namespace {

namespace fs = std::filesystem;

constexpr std::array<DiskFormat, 3> kDiskFormats{
    {{"cf32_le", 8, Element::cf32}, {"ci16_le", 4, Element::sc16}, {"ci8", 2, Element::sc16}}};
constexpr std::uintmax_t kMostMetaBytes = 256u << 20;

/// Why a file cannot be read; empty if it can.
std::string unreadable(const std::string& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) return "there is no such file";
  if (!fs::is_regular_file(status)) return "not a regular file";
  errno = 0;
  if (!std::ifstream(path, std::ios::binary)) return fmt::format("cannot open: {}", std::strerror(errno));
  return {};
}

/// Reads the whole metadata file. On failure it reports a problem and returns nothing.
std::string read_meta(std::string_view path, const SigmfPaths& paths, std::vector<std::string>& problems) {
  if (std::string why = unreadable(paths.meta); !why.empty()) {
    if (path != paths.meta && path != paths.data && unreadable(std::string(path)).empty())
      why = fmt::format("there is no such file, and {} alone is not a SigMF recording{}", path,
                        path.size() > 6 && path.substr(path.size() - 6) == ".sigmf" ? "; unpack it with tar -xf" : "");
    problems.push_back(
        fmt::format("{}: {}; a recording consists of NAME.sigmf-meta and NAME.sigmf-data", paths.meta, why));
    return {};
  }
  std::error_code error;
  const auto bytes = fs::file_size(paths.meta, error);
  if (error || bytes > kMostMetaBytes) {
    problems.push_back(fmt::format("{}: {} MB cannot be metadata", paths.meta, error ? 0 : bytes >> 20));
    return {};
  }
  std::string text(bytes, '\0');
  std::ifstream(paths.meta, std::ios::binary).read(text.data(), static_cast<std::streamsize>(bytes));
  return text;
}

std::int64_t samples_between(const SigmfCapture& a, const SigmfCapture& b) noexcept {
  return b.sample_start - a.sample_start;
}

/// Samples missing between two captures by their global index, or by their times if one has no index.
std::int64_t lost_between(const SigmfCapture& a, const SigmfCapture& b, double rate_hz) noexcept {
  const std::int64_t present = samples_between(a, b);
  if (a.global_index && b.global_index) return *b.global_index - *a.global_index - present;
  if (!a.time || !b.time) return 0;
  const double elapsed = static_cast<double>(b.time->ns - a.time->ns) * 1e-9;
  const double missing = std::round(elapsed * rate_hz - static_cast<double>(present));
  // A gap must exceed the resolution of the times, and the drift between clocks.
  const auto resolution = static_cast<double>(std::max(a.time->resolution_ns, b.time->resolution_ns)) * 1e-9;
  const double smallest = std::max({1.0, std::floor(resolution * rate_hz), elapsed * 10e-6 * rate_hz});
  return missing >= smallest && missing < static_cast<double>(kMostSigmfIndex) ? static_cast<std::int64_t>(missing) : 0;
}

/// Adds a duration to a time; an overflow leaves the time unchanged.
std::int64_t plus_ns(std::int64_t time_ns, double ns) noexcept {
  constexpr double kMost = 9e18;
  const bool fits = std::fabs(ns) < kMost && std::fabs(static_cast<double>(time_ns) + ns) < kMost;
  return fits ? time_ns + std::llround(ns) : time_ns;
}

/// A segment keeps the time in its metadata; without one, time continues from the neighbouring segment. A time within
/// one sample of the running time does not change it.
void set_times(Recording& r) {
  const auto& captures = r.meta.captures;
  const auto first = std::find_if(captures.begin(), captures.end(), [](const SigmfCapture& c) { return c.time; });
  r.has_time = first != captures.end();
  if (!r.has_time) return;
  const double ns_per_sample = 1e9 / r.meta.rate_hz;
  const auto timed = static_cast<std::size_t>(first - captures.begin());
  const auto length = [&](std::size_t i) {  // from the previous segment to this one
    return static_cast<double>(r.segments[i - 1].samples + r.segments[i].lost) * ns_per_sample;
  };
  r.segments[timed].time_ns = first->time->ns;
  for (std::size_t i = timed; i-- > 0;) r.segments[i].time_ns = plus_ns(r.segments[i + 1].time_ns, -length(i + 1));
  for (std::size_t i = timed + 1; i < captures.size(); ++i) {
    const std::int64_t running = plus_ns(r.segments[i - 1].time_ns, length(i));
    r.segments[i].time_ns = running;
    if (!captures[i].time) continue;
    const double apart = std::fabs(static_cast<double>(captures[i].time->ns) - static_cast<double>(running));
    const double resolution = static_cast<double>(captures[i].time->resolution_ns);
    if (apart >= std::max(ns_per_sample, resolution)) r.segments[i].time_ns = captures[i].time->ns;
  }
}

/// Converts captures to positions in the data file, starting at 0 with the first sample.
void normalise(SigmfMeta& meta) {
  auto& captures = meta.captures;
  // SigMF counts sample_start from core:offset. A start below it was meant from the beginning of the file.
  const bool absolute = captures.empty() || captures.front().sample_start >= meta.offset;
  for (SigmfCapture& c : captures) c.sample_start -= absolute ? meta.offset : 0;
  meta.annotated_end -= absolute ? meta.offset : 0;
  if (captures.empty() || captures.front().sample_start > 0) captures.insert(captures.begin(), SigmfCapture{});
}

/// Removes segments that iqd announced, but whose samples it did not write.
void leave_out_announced(Recording& r, std::int64_t samples) {
  if (r.meta.recorder != kSigmfRecorder) return;
  r.announced = std::erase_if(r.meta.captures, [&](const SigmfCapture& c) { return c.sample_start > samples; });
  r.meta.annotated_end = std::min(r.meta.annotated_end, samples);
}

void check_captures(const Recording& r, std::int64_t samples, std::vector<std::string>& problems) {
  const auto& captures = r.meta.captures;
  for (std::size_t i = 1; i < captures.size(); ++i) {
    const SigmfCapture& a = captures[i - 1];
    const SigmfCapture& b = captures[i];
    if (a.global_index && b.global_index && *b.global_index - *a.global_index < samples_between(a, b)) {
      problems.push_back(fmt::format(
          "{}: at sample {} core:global_index advances by less than the samples in between; a new stream needs "
          "its own recording",
          r.paths.meta, b.sample_start));
      return;
    }
  }
  if (captures.back().sample_start > samples) {
    problems.push_back(fmt::format("{} has a capture that starts at sample {}, but {} has {} samples: it is cut short",
                                   r.paths.meta, captures.back().sample_start, r.paths.data, samples));
  } else if (r.meta.annotated_end > samples) {
    problems.push_back(fmt::format("{} has an annotation up to sample {}, but {} has {} samples: it is cut short",
                                   r.paths.meta, r.meta.annotated_end, r.paths.data, samples));
  }
}

}  // namespace

const DiskFormat* find_disk_format(std::string_view datatype) noexcept {
  const auto* found =
      std::find_if(kDiskFormats.begin(), kDiskFormats.end(), [&](const DiskFormat& f) { return f.name == datatype; });
  return found == kDiskFormats.end() ? nullptr : found;
}

StreamInfo Recording::info() const {
  StreamInfo info;
  if (format) info.element = format->element;
  info.channels = static_cast<int>(meta.channels);
  info.rate_hz = meta.rate_hz;
  for (const SigmfCapture& c : meta.captures) {
    if (!c.frequency_hz) continue;
    info.frequency_hz = *c.frequency_hz;
    break;
  }
  info.time = has_time ? TimeSource::radio : TimeSource::host;
  info.can_wait = true;
  return info;
}

void lay_out(Recording& r, std::int64_t data_bytes, std::vector<std::string>& problems) {
  const std::int64_t frame = r.format->bytes * r.meta.channels;
  normalise(r.meta);
  std::int64_t payload = data_bytes - r.meta.trailing_bytes;
  for (const SigmfCapture& c : r.meta.captures)
    if (payload >= 0) payload -= c.header_bytes;
  if (payload < 0) {
    problems.push_back(fmt::format("{}: {} bytes are fewer than core:trailing_bytes and core:header_bytes together",
                                   r.paths.data, data_bytes));
    return;
  }
  if (payload % frame != 0) {
    problems.push_back(fmt::format(
        "{}: {} bytes of samples are not a whole number of {} samples of {} channel{} ({} bytes each): it is cut short "
        "or {} describes another file",
        r.paths.data, payload, r.meta.datatype, r.meta.channels, r.meta.channels > 1 ? "s" : "", frame, r.paths.meta));
    return;
  }
  const std::int64_t samples = payload / frame;
  const std::size_t before = problems.size();
  leave_out_announced(r, samples);
  check_captures(r, samples, problems);
  if (problems.size() != before) return;
  std::int64_t headers = 0;
  const auto& captures = r.meta.captures;
  for (std::size_t i = 0; i < captures.size(); ++i) {
    headers += captures[i].header_bytes;
    const std::int64_t end = i + 1 < captures.size() ? captures[i + 1].sample_start : samples;
    r.segments.push_back({headers + captures[i].sample_start * frame, end - captures[i].sample_start,
                          i ? lost_between(captures[i - 1], captures[i], r.meta.rate_hz) : 0, 0});
  }
  set_times(r);
}

Recording read_recording(std::string_view path, std::vector<std::string>& problems) {
  Recording r;
  r.paths = sigmf_paths(path);
  const std::string text = read_meta(path, r.paths, problems);
  if (!problems.empty()) return r;
  std::vector<std::string> wrong;
  r.meta = parse_sigmf(text, wrong);
  for (const std::string& w : wrong) problems.push_back(fmt::format("{}: {}", r.paths.meta, w));
  r.format = find_disk_format(r.meta.datatype);
  if (!r.format && !r.meta.datatype.empty()) {
    problems.push_back(fmt::format("{}: core:datatype {} is not supported; iqd reads cf32_le, ci16_le and ci8",
                                   r.paths.meta, r.meta.datatype));
  }
  if (!r.meta.dataset.empty()) r.paths.data = (fs::path(r.paths.meta).parent_path() / r.meta.dataset).string();
  if (const std::string why = unreadable(r.paths.data); !why.empty()) {
    problems.push_back(fmt::format("{}: {}{}", r.paths.data, why,
                                   r.meta.metadata_only ? "; its metadata say that it has no samples" : ""));
  }
  if (!problems.empty()) return r;
  lay_out(r, static_cast<std::int64_t>(fs::file_size(r.paths.data)), problems);
  return r;
}

}  // namespace iqd::radio
