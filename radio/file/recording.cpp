// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/integer.hpp"
#include "radio/file/file_bytes.hpp"
#include "radio/file/npy_recording.hpp"
#include "radio/file/raw_recording.hpp"
#include "radio/file/recording_names.hpp"
#include "radio/file/sigmf_archive.hpp"
#include "radio/file/sigmf_recording.hpp"
#include "radio/file/wav_recording.hpp"

namespace iqd::radio {
namespace {

constexpr double kMostRate = 1e12;  // as in SigMF's schema
constexpr std::string_view kCompressed[] = {"\x1f\x8b", "BZh", "\xfd\x37zXZ", "\x28\xb5\x2f\xfd", "PK\x03\x04"};

/// Whether a file is a recording of SigMF, by its name and its neighbours.
bool is_sigmf(const std::string& path, const RecordingKeys& keys) {
  const bool named = path.ends_with(".sigmf-meta") || path.ends_with(".sigmf-data");
  const bool has_meta = unreadable(sigmf_paths(path).meta).empty();
  const bool is_file = unreadable(path).empty();
  // Data without metadata are raw samples, if their format is given.
  if (named) return has_meta || keys.format.empty() || path.ends_with(".sigmf-meta");
  return !is_file || (has_meta && keys.format.empty());
}

Recording read_file(const std::string& path, const RecordingKeys& keys, std::vector<std::string>& problems) {
  if (path.ends_with(".sigmf-collection")) return read_collection(path, problems);
  if (const auto part = archive_part(path)) return read_archive(*part, keys, problems);
  if (is_sigmf(path, keys)) return read_sigmf(path, keys, problems);
  if (keys.format.empty())
    if (const std::string meta = meta_of_dataset(path); !meta.empty()) return read_sigmf(meta, keys, problems);
  const FileBytes file(path);
  const std::string start = file.read(0, 512);
  if (is_wav_start(start) || is_wav(path)) return read_wav(path, keys, problems);
  if (is_npy_start(start) || path.ends_with(".npy")) return read_npy_recording(path, keys, problems);
  if (keys.format.empty() && (path.ends_with(".sigmf") || path.find(".sigmf.") != std::string::npos)) {
    for (const std::string_view magic : kCompressed)
      if (start.starts_with(magic)) {
        problems.push_back(path + ": is compressed, so it cannot be played in place; unpack it first (tar -xf)");
        return {};
      }
    return read_archive({path, ""}, keys, problems);
  }
  return read_raw(path, keys, problems);
}

void replace_with(const RecordingKeys& keys, Recording& r) {
  if (keys.rate_hz > 0 && r.rate_hz > 0 && keys.rate_hz != r.rate_hz)
    for (Segment& s : r.segments)
      s.lost = std::llround(std::min(static_cast<double>(s.lost) * (keys.rate_hz / r.rate_hz), 9e15));
  if (keys.rate_hz > 0) r.rate_hz = keys.rate_hz;
  if (keys.frequency_hz)
    for (Segment& s : r.segments) s.frequency_hz = *keys.frequency_hz;
}

}  // namespace

std::int64_t Recording::samples() const noexcept {
  std::int64_t all = 0;
  for (const Segment& s : segments) all += s.samples;
  return all;
}

SampleIndex Recording::length() const noexcept {
  SampleIndex all = samples();
  for (std::size_t s = 1; s < segments.size(); ++s) all = saturated_add(all, segments[s].lost);
  return all;
}

StreamInfo Recording::info() const {
  StreamInfo info;
  if (format) {
    info.element = format->element;
    info.full_scale = format->full_scale;
  }
  info.channels = static_cast<int>(channels);
  info.rate_hz = rate_hz;
  for (const Segment& s : segments) {
    if (!s.frequency_hz) continue;
    info.frequency_hz = *s.frequency_hz;
    break;
  }
  info.time = has_time ? TimeSource::radio : TimeSource::host;
  info.can_wait = true;
  info.hardware = hardware;
  return info;
}

Recording read_recording(const std::string& path, std::vector<std::string>& problems, const RecordingKeys& keys) {
  const std::size_t before = problems.size();
  Recording r = read_file(path, keys, problems);
  replace_with(keys, r);
  if (problems.size() != before) return r;
  if (!(r.rate_hz > 0 && r.rate_hz <= kMostRate))
    problems.push_back(fmt::format("{}: {}", path,
                                   r.rate_hz == 0 ? fmt::format("does not say its sample rate: {}", keys.wording.rate)
                                                  : fmt::format("has an impossible sample rate of {}", r.rate_hz)));
  return r;
}

}  // namespace iqd::radio
