// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "radio/file/iso_time.hpp"

namespace iqd::radio {

/// From `sample_start` on, these hold: the samples up to the next capture were taken in one go.
struct SigmfCapture {
  std::int64_t sample_start = 0;  // core:offset included
  std::optional<std::int64_t> global_index;
  std::optional<double> frequency_hz;
  std::optional<IsoTime> time;
  std::int64_t header_bytes = 0;  // no samples: they stand before the segment's first
};

/// Something that was noticed in the samples.
struct SigmfAnnotation {
  std::int64_t sample_start = 0;
  std::int64_t sample_count = 1;
  std::string label;
  std::string comment;

  std::int64_t end() const noexcept { return sample_start + sample_count; }
};

/// How iqd's recordings call their recorder.
inline constexpr std::string_view kSigmfRecorder = "iqd";

/// What a .sigmf-meta file says, as far as iqd reads or writes it.
struct SigmfMeta {
  std::string datatype;
  double rate_hz = 0;
  std::int64_t channels = 1;
  std::int64_t offset = 0;
  std::int64_t trailing_bytes = 0;
  bool metadata_only = false;
  std::string dataset;  // the data file's name where it is not the usual one
  std::string author;
  std::string description;
  std::string hardware;
  std::string recorder = std::string(kSigmfRecorder);
  std::vector<SigmfCapture> captures;
  std::vector<SigmfAnnotation> annotations;  // to be written; of those that are read there is the next only
  std::int64_t annotated_end = 0;            // no annotation reaches beyond this sample
};

/// The largest sample index or byte count that is believed: sums and products of a few stay within 64 bits.
inline constexpr std::int64_t kMostSigmfIndex = std::int64_t{1} << 53;
inline constexpr std::int64_t kMostSigmfChannels = 1000;  // as in SigMF's schema

/// Reads metadata; each thing wrong with it is appended to `problems`, with what to do.
SigmfMeta parse_sigmf(std::string_view text, std::vector<std::string>& problems);
/// The text of a .sigmf-meta file, valid against SigMF's schema 1.2.5 where `meta` is.
std::string sigmf_text(const SigmfMeta& meta);

struct SigmfPaths {
  std::string meta;
  std::string data;
};
/// The two files of a recording that is named by either of them, or by what their names have in common.
SigmfPaths sigmf_paths(std::string_view path);

}  // namespace iqd::radio
