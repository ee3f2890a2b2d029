// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "radio/file/recording.hpp"

namespace iqd::radio {

/// The data file of a recording. Reads samples, splits them into channels, and converts them. While it is open, no sink
/// overwrites it. One thread.
class SampleFile {
 public:
  /// Throws SetupError if the file cannot be opened.
  explicit SampleFile(const Recording& recording);
  ~SampleFile();
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  /// Of one sample of all channels.
  std::int64_t frame_bytes() const noexcept { return frame_bytes_; }
  /// Reads samples of each channel, from this byte of the file on. Allocates nothing. Returns false, and logs why, if
  /// they cannot be read.
  bool read(std::span<std::byte* const> into, std::int64_t samples, std::int64_t byte);

 private:
  bool read_bytes(std::byte* into, std::int64_t bytes, std::int64_t from);

  bool read_row(std::byte* into, std::int64_t samples, std::int64_t byte);

  std::string path_;
  const DiskFormat& format_;
  std::int64_t frame_bytes_;
  std::int64_t row_bytes_;  // as in Recording
  int file_ = -1;
  std::vector<std::byte> staging_;  // samples as on disk; empty if memory and disk have the same layout
};

}  // namespace iqd::radio
