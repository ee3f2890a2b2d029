// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/driver.hpp"
#include "radio/file/recording.hpp"

namespace iqd::radio {

struct FileSourceSettings {
  bool repeat = false;  // goes on from the start without end; sample index and time grow on
  bool pace = false;    // at the sample rate, by the steady clock; gaps pass at once
};

/// Plays a recording. A call never reaches over the end of a segment; what a gap lost, and that a segment was taken at
/// another frequency, is told with its first samples. `receive` allocates nothing.
class FileSource final : public Source {
 public:
  /// `recording` has no problems. Throws SetupError where its data cannot be opened.
  FileSource(Recording recording, FileSourceSettings settings);
  ~FileSource() override;
  /// What one takes of the host, at most.
  static Need need(const std::string& path, const StreamInfo& stream);
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  StreamInfo info() const override;
  Received receive(std::span<std::byte* const> into, std::int64_t most) override;
  void interrupt() noexcept override;

 private:
  bool next_segment();
  std::int64_t wait_until_due(std::int64_t wanted);
  bool read(std::span<std::byte* const> into, std::int64_t samples);
  bool read_bytes(std::byte* into, std::int64_t bytes, std::int64_t from);
  std::int64_t time_ns() const noexcept;

  Recording recording_;
  FileSourceSettings settings_;
  int file_ = -1;
  bool direct_ = false;             // memory and disk look the same
  std::vector<std::byte> staging_;  // samples as on disk, before they are parted into channels
  std::size_t segment_ = 0;
  std::int64_t position_ = 0;   // in the segment
  std::int64_t lost_ = 0;       // since the last samples that were given out
  std::int64_t rounds_ = 0;     // whole ones
  long double round_ns_ = 0;    // by the recording's clock
  double frequency_hz_;         // of what was given out last
  std::int64_t given_ = 0;      // samples since the start
  std::int64_t start_ns_ = -1;  // steady clock, of the first of them
  std::mutex mutex_;
  std::condition_variable interruption_;
  bool interrupted_ = false;  // under mutex_
};

}  // namespace iqd::radio
