// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/driver.hpp"
#include "radio/file/frame_file.hpp"
#include "radio/file/wav_header.hpp"

namespace iqd::radio {

/// Whether a path names a WAV file, by its suffix.
bool is_wav(std::string_view path);
/// Why a port cannot become a WAV file; empty if it can: f32 or i16, [n] or [channel][n], at a whole rate.
std::string unplayable(const PortFormat& format);

/// Writes a port as sound: f32 (full scale ±1) or i16, channels interleaved. The length in the header is updated once a
/// second, so that the file can be played after a kill; above 4 GiB it is RF64. Lost samples become silence, at most 10
/// seconds per gap, so that the timing is kept.
/// When the disk is full, recording stops, which is logged once, and `send` returns false from then on.
class WavSink final : public Sink {
 public:
  /// Throws SetupError if the file cannot be created, or exists and must not be overwritten.
  WavSink(const std::string& path, bool overwrite, const PortFormat& format);
  ~WavSink() override;
  /// The memory and descriptors that one sink needs.
  static Need need(const std::string& path);

  bool send(const Message& message) override;
  void finish() override;

 private:
  bool append(const std::byte* samples, std::int64_t frames);
  bool append_silence(std::int64_t frames);
  bool write_header();
  bool stop();

  std::string path_;
  WavFormat format_;
  double period_;  // source samples per item
  FrameFile file_;
  std::vector<std::byte> staging_;
  bool started_ = false;
  bool stopped_ = false;
  std::int64_t next_header_ns_ = 0;  // steady clock
};

}  // namespace iqd::radio
