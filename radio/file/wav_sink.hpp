// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/driver.hpp"
#include "radio/file/frame_file.hpp"
#include "radio/file/recording_names.hpp"
#include "radio/file/sample_encoder.hpp"
#include "radio/file/wav_header.hpp"

namespace iqd::radio {

/// Why a port cannot become a WAV file; empty if it can: f32, i16, cf32 or sc16, [n] or [channel][n], at a whole rate.
/// `stored` is the wanted format of its numbers; null: the port's.
std::string unplayable(const PortFormat& format, const DiskFormat* stored = nullptr);

/// Writes a port as sound, f32 (full scale ±1) or i16, or as I and Q; channels interleaved. The length in the header is updated once a
/// second, so that the file can be played after a kill; above 4 GiB it is RF64. Lost samples become silence, at most 10
/// seconds per gap, so that the timing is kept.
/// When the disk is full, recording stops, which is logged once, and `send` returns false from then on.
class WavSink final : public Sink {
 public:
  /// Throws SetupError if the file cannot be created, or exists and must not be overwritten.
  WavSink(const std::string& path, bool overwrite, const PortFormat& format, const DiskFormat* stored = nullptr);
  ~WavSink() override;
  /// The memory and descriptors that one sink needs.
  static Need need(const std::string& path);

  bool send(const Message& message) override;
  /// Throws SetupError if the end cannot be written.
  void finish() override;

 private:
  bool close();
  void note_tuning(const Message& message);
  bool append_silence(std::int64_t frames);
  bool write_header();
  bool stop();

  std::string path_;
  WavFormat format_;
  double period_;  // source samples per item
  FrameFile file_;
  SampleEncoder encoder_;
  bool started_ = false;
  bool stopped_ = false;
  bool finished_ = false;
  std::int64_t retunes_ = 0;
  std::int64_t next_header_ns_ = 0;  // steady clock
};

}  // namespace iqd::radio
