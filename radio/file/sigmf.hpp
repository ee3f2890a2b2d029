// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "radio/file/iso_time.hpp"
#include "radio/file/wording.hpp"

namespace iqd::radio {

/// Applies from `sample_start` on: the samples up to the next capture have no gap.
struct SigmfCapture {
  std::int64_t sample_start = 0;  // includes core:offset
  std::optional<std::int64_t> global_index;
  std::optional<double> frequency_hz;
  std::optional<IsoTime> time;
  std::int64_t header_bytes = 0;  // bytes before the segment's first sample that are not samples
};

/// A remark on some of the samples.
struct SigmfAnnotation {
  std::int64_t sample_start = 0;
  std::int64_t sample_count = 1;
  std::string label;
  std::string comment;
  std::string members = {};  // JSON of one that was read, with all that SigMF itself defines; it is written as it is

  std::int64_t end() const noexcept { return sample_start + sample_count; }
};

/// The name of the recorder in iqd's recordings.
inline constexpr std::string_view kSigmfRecorder = "iqd";

/// The part of a .sigmf-meta file that iqd reads or writes.
struct SigmfMeta {
  std::string datatype;
  double rate_hz = 0;
  std::int64_t channels = 1;
  std::int64_t offset = 0;
  std::int64_t trailing_bytes = 0;
  bool metadata_only = false;
  std::string dataset;  // the data file's name, unless it is the default
  std::string author;
  std::string description;
  std::string hardware;
  std::string recorder = std::string(kSigmfRecorder);
  std::vector<SigmfCapture> captures;
  std::vector<SigmfAnnotation> annotations;
  std::int64_t annotated_end = 0;  // after reading: no annotation ends after this sample
};

/// The largest accepted sample index or byte count: sums and products of a few fit 64 bits.
inline constexpr std::int64_t kMostSigmfIndex = std::int64_t{1} << 53;
inline constexpr std::int64_t kMostSigmfChannels = 1000;  // as in SigMF's schema

/// Reads metadata; appends each problem to `problems`, with what to do. `rate`: how to say a sample rate
/// that is missing; empty: it may be missing.
SigmfMeta parse_sigmf(std::string_view text, std::vector<std::string>& problems,
                      std::string_view rate = Wording().rate);
/// Returns the text of a .sigmf-meta file, valid against SigMF's schema 1.2.5 if `meta` is.
std::string sigmf_text(const SigmfMeta& meta);

struct SigmfPaths {
  std::string meta;
  std::string data;
};
/// The two files of a recording that is named by either of them, or by the part that their names share.
SigmfPaths sigmf_paths(std::string_view path);

}  // namespace iqd::radio
