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

/// How samples lie in a data file that iqd reads.
struct DiskFormat {
  std::string_view name;  // in SigMF
  std::int64_t bytes;     // one sample of one channel
  Element element;        // what they become in memory
};
/// Null for a datatype that iqd does not read.
const DiskFormat* find_disk_format(std::string_view datatype) noexcept;

/// Samples that were taken in one go.
struct Segment {
  std::int64_t byte = 0;     // of its first sample in the data file
  std::int64_t samples = 0;  // of each channel
  std::int64_t lost = 0;     // missing between the segment before and this one
  std::int64_t time_ns = 0;  // of its first sample; means nothing where the recording has no times
};

/// A recording whose metadata and data file go together.
struct Recording {
  SigmfPaths paths;
  SigmfMeta meta;
  const DiskFormat* format = nullptr;
  bool has_time = false;
  std::vector<Segment> segments;
  std::size_t announced = 0;  // segments that begin beyond the data, and are left out

  StreamInfo info() const;
};

/// Reads and checks the metadata and lays the segments over the data file. Each thing wrong is appended to `problems`;
/// the recording is of use only where there is none. iqd announces segments before their samples: where it was killed
/// between the two, what a recording of its own says beyond the data is left out. In those of others that is wrong.
Recording read_recording(std::string_view path, std::vector<std::string>& problems);

/// As above for a data file of `data_bytes`, without touching any file.
void lay_out(Recording& recording, std::int64_t data_bytes, std::vector<std::string>& problems);

}  // namespace iqd::radio
