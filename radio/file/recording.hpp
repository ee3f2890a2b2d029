// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/driver.hpp"
#include "radio/file/sigmf.hpp"

namespace iqd::radio {

/// The layout of samples in a data file that iqd reads.
struct DiskFormat {
  std::string_view name;  // in SigMF
  std::int64_t bytes;     // one sample of one channel
  Element element;        // type in memory
};
/// Returns null for a datatype that iqd does not read.
const DiskFormat* find_disk_format(std::string_view datatype) noexcept;

/// Samples without a gap.
struct Segment {
  std::int64_t byte = 0;     // of its first sample in the data file
  std::int64_t samples = 0;  // of each channel
  std::int64_t lost = 0;     // missing between the segment before and this one
  std::int64_t time_ns = 0;  // of its first sample; meaningless if the recording has no times
};

/// A recording whose metadata match the data file.
struct Recording {
  SigmfPaths paths;
  SigmfMeta meta;
  const DiskFormat* format = nullptr;
  bool has_time = false;
  std::vector<Segment> segments;
  std::size_t announced = 0;  // segments that begin beyond the data, and are ignored

  StreamInfo info() const;
};

/// Reads and checks the metadata, and maps the segments to the data file. Appends each problem to `problems`; the
/// recording is usable only if there is none. iqd writes a segment's metadata before its samples. So after a kill, its
/// recordings may have metadata beyond the data, which are ignored. In recordings of other programs they are a problem.
Recording read_recording(std::string_view path, std::vector<std::string>& problems);

/// The same for a data file of `data_bytes`, without access to any file.
void lay_out(Recording& recording, std::int64_t data_bytes, std::vector<std::string>& problems);

}  // namespace iqd::radio
