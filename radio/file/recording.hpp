// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "radio/file/disk_format.hpp"
#include "radio/file/sigmf.hpp"
#include "radio/file/wording.hpp"

namespace iqd::radio {

/// Samples without a gap.
struct Segment {
  std::int64_t byte = 0;                    // of its first sample in the data file
  std::int64_t samples = 0;                 // of each channel
  std::int64_t lost = 0;                    // missing between the segment before and this one
  std::int64_t time_ns = 0;                 // of its first sample; meaningless if the recording has no times
  std::optional<double> frequency_hz = {};  // from here on, if known
};

/// What a user says about a file: what the file does not say, or a rate and a frequency that replace the file's.
struct RecordingKeys {
  std::string format{};  // of a raw file
  double rate_hz = 0;    // 0: the file's
  std::optional<double> frequency_hz{};
  std::int64_t channels = 0;  // of a raw file, or of a WAV file; 0: the file's
  Wording wording{};          // of problems
};

/// Where a file has which samples. Each reader of a container fills it in; FileSource plays it.
struct Recording {
  std::string path;                    // what was opened, for messages
  std::string data;                    // the file with the samples
  const DiskFormat* format = nullptr;  // null: not known, so not usable
  std::int64_t channels = 1;
  std::int64_t row_bytes = 0;  // 0: interleaved; otherwise from a channel's sample to the next channel's
  double rate_hz = 0;
  bool has_time = false;
  std::vector<Segment> segments;
  std::size_t announced = 0;                 // segments that begin beyond the data, and are ignored
  std::vector<SigmfAnnotation> annotations;  // which are not played
  std::vector<std::string> remarks;          // to be logged when it is played
  std::string hardware;
  std::string author;
  std::string description;

  /// From one sample of a channel to the next.
  std::int64_t step_bytes() const noexcept { return row_bytes ? format->bytes : format->bytes * channels; }
  std::int64_t samples() const noexcept;
  /// The same with those that are missing between segments.
  SampleIndex length() const noexcept;
  StreamInfo info() const;
};

/// Reads and checks what a file says about its samples: SigMF, by either of its files, the name that they share, or an
/// archive; WAV; a NumPy array; anything else as raw samples. Appends each problem to `problems`; the recording is
/// usable only if there is none.
Recording read_recording(const std::string& path, std::vector<std::string>& problems, const RecordingKeys& keys = {});

}  // namespace iqd::radio
