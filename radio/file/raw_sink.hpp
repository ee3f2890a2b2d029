// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/driver.hpp"
#include "radio/file/frame_file.hpp"
#include "radio/file/sample_encoder.hpp"

namespace iqd::radio {

/// Writes only samples, as rtl_sdr, hackrf_transfer and GNU Radio's file sink do. The file says neither rate nor
/// frequency nor time, and not where samples are missing; what was lost like this, and what was clipped, is logged at
/// the end. When the disk is full, recording stops, which is logged once, and `send` returns false from then on.
class RawSink final : public Sink {
 public:
  /// Throws SetupError if the file cannot be created, or exists and must not be overwritten.
  RawSink(const std::string& path, bool overwrite, const PortFormat& port, const DiskFormat& format);
  ~RawSink() override;

  bool send(const Message& message) override;
  void finish() override;

 private:
  std::string path_;
  SampleEncoder encoder_;
  FrameFile file_;
  double period_;  // source samples per item
  double missing_ = 0;
  std::int64_t gaps_ = 0;
  bool stopped_ = false;
  bool finished_ = false;
};

/// Logs how many parts a file did not take as they were.
void log_clipped(const std::string& path, std::int64_t clipped);

}  // namespace iqd::radio
