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

/// Whether a path is that of a WAV file: by its end.
bool is_wav(std::string_view path);
/// Why such a port makes no WAV file; empty where it does: f32 or i16, [n] or [channel][n], at a whole rate.
std::string unplayable(const PortFormat& format);

/// Writes a port as sound: f32 (full scale ±1) or i16, channels interleaved. The header says once a second how long the
/// file is, so a process that is killed leaves one that can be played; above 4 GiB it is RF64. What was lost is
/// silence, so that the time stays right, of 10 seconds at most.
/// When the disk is full recording ends, is logged once, and `send` is false from then on.
class WavSink final : public Sink {
 public:
  /// Throws SetupError where the file cannot be made, or is there and is not to be overwritten.
  WavSink(const std::string& path, bool overwrite, const PortFormat& format);
  ~WavSink() override;
  /// What one takes of the host.
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
  double period_;  // source samples from item to item
  FrameFile file_;
  std::vector<std::byte> staging_;
  bool started_ = false;
  bool stopped_ = false;
  std::int64_t next_header_ns_ = 0;  // steady clock
};

}  // namespace iqd::radio
