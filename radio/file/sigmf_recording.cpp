// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/sigmf_recording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/integer.hpp"
#include "radio/file/file_bytes.hpp"

namespace iqd::radio {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostMetaBytes = 256 << 20;

/// Reads a whole metadata file. On failure it reports a problem and returns nothing.
std::string read_meta(const std::string& path, const SigmfPaths& paths, std::vector<std::string>& problems) {
  if (std::string why = unreadable(paths.meta); !why.empty()) {
    const bool by_stem = path != paths.meta && path != paths.data;
    problems.push_back(
        by_stem ? fmt::format("{}: {}, and no recording {} either", path, unreadable(path), paths.meta)
                : fmt::format("{}: {}; a recording consists of NAME.sigmf-meta and NAME.sigmf-data", paths.meta, why));
    return {};
  }
  const FileBytes file(paths.meta);
  if (file.size() > kMostMetaBytes) {
    problems.push_back(fmt::format("{}: {} MB cannot be metadata", paths.meta, file.size() >> 20));
    return {};
  }
  return file.read(0, static_cast<std::size_t>(file.size()));
}

/// Finds the samples that are missing before a capture, by its global index, or else by its time. Captures without
/// them are skipped: the last one that has an index, or a time, is compared.
class GapFinder {
 public:
  explicit GapFinder(double rate_hz) : rate_hz_(rate_hz) {}

  std::int64_t lost_before(const SigmfCapture& c) noexcept {
    std::int64_t lost = 0;
    if (indexed_ && c.global_index) {
      const std::int64_t present = saturated_add(c.sample_start - indexed_->sample_start, since_index_);
      lost = std::max<std::int64_t>(saturated_sub(*c.global_index - *indexed_->global_index, present), 0);
    } else if (timed_ && c.time) {
      lost = by_time(c);
    }
    since_index_ = c.global_index ? 0 : saturated_add(since_index_, lost);
    since_time_ = c.time ? 0 : saturated_add(since_time_, lost);
    if (c.global_index) indexed_ = &c;
    if (c.time) timed_ = &c;
    return lost;
  }

 private:
  std::int64_t by_time(const SigmfCapture& c) const noexcept {
    const double elapsed = static_cast<double>(c.time->ns - timed_->time->ns) * 1e-9;
    const auto present = static_cast<double>(saturated_add(c.sample_start - timed_->sample_start, since_time_));
    const double missing = std::round(elapsed * rate_hz_ - present);
    // A gap must exceed the resolution of the times, and the drift between clocks.
    const auto resolution = static_cast<double>(std::max(timed_->time->resolution_ns, c.time->resolution_ns)) * 1e-9;
    const double smallest = std::max({1.0, std::floor(resolution * rate_hz_), elapsed * 10e-6 * rate_hz_});
    const bool is_gap = missing >= smallest && missing < static_cast<double>(kMostSigmfIndex);
    return is_gap ? static_cast<std::int64_t>(missing) : 0;
  }

  double rate_hz_;
  const SigmfCapture* indexed_ = nullptr;  // the last capture with an index
  const SigmfCapture* timed_ = nullptr;    // the last one with a time
  std::int64_t since_index_ = 0;           // samples known to be missing since then
  std::int64_t since_time_ = 0;
};

/// Adds a duration to a time; an overflow leaves the time unchanged.
std::int64_t plus_ns(std::int64_t time_ns, double ns) noexcept {
  constexpr double kMost = 9e18;
  const bool fits = std::fabs(ns) < kMost && std::fabs(static_cast<double>(time_ns) + ns) < kMost;
  return fits ? time_ns + std::llround(ns) : time_ns;
}

/// A segment keeps the time in its metadata; without one, time continues from the neighbouring segment. A time within
/// one sample of the running time does not change it.
void set_times(Recording& r, const std::vector<SigmfCapture>& captures) {
  const auto first = std::find_if(captures.begin(), captures.end(), [](const SigmfCapture& c) { return c.time; });
  r.has_time = first != captures.end();
  if (!r.has_time) return;
  const double ns_per_sample = 1e9 / r.rate_hz;
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
  for (SigmfAnnotation& a : meta.annotations) a.sample_start -= absolute ? meta.offset : 0;
  if (captures.empty() || captures.front().sample_start > 0) captures.insert(captures.begin(), SigmfCapture{});
}

/// Removes captures that iqd announced, but whose samples it did not write; returns how many.
std::size_t leave_out_announced(SigmfMeta& meta, std::int64_t samples) {
  if (meta.recorder != kSigmfRecorder) return 0;
  const std::size_t removed =
      std::erase_if(meta.captures, [&](const SigmfCapture& c) { return c.sample_start > samples; });
  std::erase_if(meta.annotations, [&](const SigmfAnnotation& a) { return a.end() > samples; });
  meta.annotated_end = std::min(meta.annotated_end, samples);
  return removed;
}

void check_captures(const SigmfMeta& meta, const SigmfPaths& paths, std::int64_t samples,
                    std::vector<std::string>& problems) {
  const auto& captures = meta.captures;
  const SigmfCapture* last = nullptr;  // with an index
  for (const SigmfCapture& c : captures) {
    if (!c.global_index) continue;
    if (last && *c.global_index - *last->global_index < c.sample_start - last->sample_start) {
      problems.push_back(fmt::format(
          "{}: at sample {} core:global_index advances by less than the samples in between; a new stream needs "
          "its own recording",
          paths.meta, c.sample_start));
      return;
    }
    last = &c;
  }
  if (captures.back().sample_start > samples) {
    problems.push_back(fmt::format("{} has a capture that starts at sample {}, but {} has {} samples: it is cut short",
                                   paths.meta, captures.back().sample_start, paths.data, samples));
  } else if (meta.annotated_end > samples) {
    problems.push_back(fmt::format("{} has an annotation up to sample {}, but {} has {} samples: it is cut short",
                                   paths.meta, meta.annotated_end, paths.data, samples));
  }
}

Recording described_by(const SigmfMeta& meta) {
  Recording r;
  r.format = find_disk_format(meta.datatype);
  r.channels = meta.channels;
  r.rate_hz = meta.rate_hz;
  r.hardware = meta.hardware;
  r.author = meta.author;
  r.description = meta.description;
  return r;
}

/// How many bytes are samples; negative, with a problem, if not even the headers fit.
std::int64_t payload_of(const SigmfMeta& meta, const SigmfPaths& paths, std::int64_t bytes,
                        std::vector<std::string>& problems) {
  std::int64_t payload = bytes - meta.trailing_bytes;
  for (const SigmfCapture& c : meta.captures)
    if (payload >= 0) payload -= c.header_bytes;
  if (payload < 0)
    problems.push_back(fmt::format("{}: {} bytes are fewer than core:trailing_bytes and core:header_bytes together",
                                   paths.data, bytes));
  return payload;
}

}  // namespace

Recording lay_out(SigmfMeta meta, const SigmfPaths& paths, const FilePart& data, std::vector<std::string>& problems) {
  Recording r = described_by(meta);
  r.path = paths.meta;
  r.data = data.path;
  if (!r.format) return r;
  const std::int64_t frame = r.step_bytes();
  normalise(meta);
  const std::int64_t payload = payload_of(meta, paths, data.bytes, problems);
  if (payload < 0) return r;
  if (payload % frame != 0) {
    problems.push_back(fmt::format(
        "{}: {} bytes of samples are not a whole number of {} samples of {} channel{} ({} bytes each): it is cut short "
        "or {} describes another file",
        paths.data, payload, meta.datatype, meta.channels, meta.channels > 1 ? "s" : "", frame, paths.meta));
    return r;
  }
  const std::int64_t samples = payload / frame;
  const std::size_t before = problems.size();
  r.announced = leave_out_announced(meta, samples);
  check_captures(meta, paths, samples, problems);
  if (problems.size() != before) return r;
  r.annotations = std::move(meta.annotations);
  std::int64_t headers = 0;
  GapFinder gaps(r.rate_hz);
  const auto& captures = meta.captures;
  for (std::size_t i = 0; i < captures.size(); ++i) {
    headers += captures[i].header_bytes;
    const std::int64_t end = i + 1 < captures.size() ? captures[i + 1].sample_start : samples;
    r.segments.push_back({.byte = data.begin + headers + captures[i].sample_start * frame,
                          .samples = end - captures[i].sample_start,
                          .lost = gaps.lost_before(captures[i]),
                          .frequency_hz = captures[i].frequency_hz});
  }
  set_times(r, captures);
  return r;
}

SigmfMeta parse_meta(const std::string& text, const std::string& file, const RecordingKeys& keys,
                     std::vector<std::string>& problems) {
  std::vector<std::string> wrong;
  SigmfMeta meta = parse_sigmf(text, wrong, keys.rate_hz > 0 ? "" : keys.wording.rate);
  for (const std::string& w : wrong) problems.push_back(fmt::format("{}: {}", file, w));
  if (meta.rate_hz == 0) meta.rate_hz = keys.rate_hz;
  if (!keys.format.empty() || keys.channels > 0)
    problems.push_back(fmt::format("{}: says its own format and channels; leave out `format` and `channels`", file));
  if (meta.datatype.empty() || find_disk_format(meta.datatype)) return meta;
  problems.push_back(
      fmt::format("{}: core:datatype {} is not supported; iqd reads c (complex) or r (real) with f32, f64, i8, i16, "
                  "i32, u8, u16 or u32, and _le or _be: cf32_le, ci16_le, ri16_be, cu8 …",
                  file, meta.datatype));
  return meta;
}

Recording read_sigmf(const std::string& path, const RecordingKeys& keys, std::vector<std::string>& problems) {
  SigmfPaths paths = sigmf_paths(path);
  const std::string text = read_meta(path, paths, problems);
  if (!problems.empty()) return {};
  SigmfMeta meta = parse_meta(text, paths.meta, keys, problems);
  if (!meta.dataset.empty()) paths.data = (fs::path(paths.meta).parent_path() / meta.dataset).string();
  if (const std::string why = unreadable(paths.data); !why.empty()) {
    problems.push_back(meta.metadata_only ? fmt::format("{}: holds metadata only (core:metadata_only), without samples "
                                                        "that could be played: {}: {}",
                                                        paths.meta, paths.data, why)
                                          : fmt::format("{}: {}", paths.data, why));
  }
  if (!problems.empty()) return described_by(meta);  // for the checks of what depends on it
  return lay_out(std::move(meta), paths, {paths.data, 0, FileBytes(paths.data).size()}, problems);
}

std::string meta_of_dataset(const std::string& data) {
  const fs::path beside = fs::path(data).replace_extension(".sigmf-meta");
  const FileBytes file(beside.string());
  if (file.size() == 0 || file.size() > kMostMetaBytes) return {};
  std::vector<std::string> ignored;
  const SigmfMeta meta = parse_sigmf(file.read(0, static_cast<std::size_t>(file.size())), ignored, "");
  return meta.dataset == fs::path(data).filename().string() ? beside.string() : std::string();
}

Recording read_collection(const std::string& path, std::vector<std::string>& problems) {
  if (const std::string why = unreadable(path); !why.empty()) {
    problems.push_back(fmt::format("{}: {}", path, why));
    return {};
  }
  const FileBytes file(path);
  const auto root = nlohmann::json::parse(file.read(0, static_cast<std::size_t>(std::min(file.size(), kMostMetaBytes))),
                                          nullptr, false);
  std::vector<std::string> names;
  const auto pointer = nlohmann::json::json_pointer("/collection/core:streams");
  if (root.is_object() && root.contains(pointer) && root[pointer].is_array())
    for (const auto& stream : root[pointer])
      if (stream.is_object() && stream.contains("name") && stream["name"].is_string() && names.size() < 20)
        names.push_back(stream["name"].get<std::string>());
  problems.push_back(
      fmt::format("{}: is a SigMF collection, which has no samples itself; name one of its recordings{}{}", path,
                  names.empty() ? "" : ": ", fmt::join(names, ", ")));
  return {};
}

}  // namespace iqd::radio
