// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/raw_recording.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "radio/file/file_bytes.hpp"
#include "radio/file/name_hints.hpp"

namespace iqd::radio {

void take_whole(Recording& r, std::int64_t begin, std::int64_t bytes) {
  const std::int64_t frame = r.step_bytes();
  r.segments.push_back({.byte = begin, .samples = bytes / frame});
  if (bytes % frame != 0)
    r.remarks.push_back(fmt::format("ends with {} bytes of a sample of {}, which are left out", bytes % frame, frame));
}

Recording read_raw(const std::string& path, const RecordingKeys& keys, std::vector<std::string>& problems) {
  Recording r;
  r.path = r.data = path;
  r.channels = std::max<std::int64_t>(keys.channels, 1);
  const NameHints hints = hints_in(path);
  r.rate_hz = hints.rate_hz;
  r.format = keys.format.empty() ? hints.format : find_raw_format(keys.format);
  if (!r.format) {
    problems.push_back(
        keys.format.empty()
            ? fmt::format("{}: is neither SigMF nor WAV nor a NumPy array, and its name does not say what samples it "
                          "has: {}: {}",
                          path, keys.wording.format, raw_format_names())
            : fmt::format("{}: the format '{}' is not known; iqd reads {}", path, keys.format, raw_format_names()));
    return r;
  }
  take_whole(r, 0, FileBytes(path).size());
  Segment& all = r.segments.front();
  all.frequency_hz = hints.frequency_hz;
  r.has_time = hints.time.has_value();
  if (hints.time) all.time_ns = hints.time->ns;
  return r;
}

}  // namespace iqd::radio
