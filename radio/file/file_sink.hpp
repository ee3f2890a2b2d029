// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/driver.hpp"
#include "radio/file/awaited_annotations.hpp"
#include "radio/file/capture_log.hpp"
#include "radio/file/sample_encoder.hpp"
#include "radio/file/sigmf_files.hpp"

namespace iqd::radio {

struct FileSinkSettings {
  std::string path = {};
  bool overwrite = false;
  std::string description = {};
  std::string author = {};
  std::string hardware = {};
  std::string format = {};  // of the samples, such as cu8 (find_raw_format); empty: as the port has them
  std::vector<SigmfAnnotation> annotations = {};  // of the samples that will be recorded, in order
};

/// Why a port cannot be recorded; empty if it can: [n] or [channel][n] with an element type that SigMF supports.
/// `stored` is the wanted format of the samples; null: the port's.
std::string unrecordable(const PortFormat& format, const DiskFormat* stored = nullptr);

/// Records a port as SigMF, valid at any moment. A new segment begins at every gap and every retune, and its metadata
/// are on disk before its first sample. A message's trigger becomes an annotation, once its samples are written. If
/// gaps come faster than metadata can be written, samples wait in memory, and are written just after the metadata of
/// all their segments: a kill in between leaves segments that begin beyond the last sample. Samples also wait while
/// file descriptors are short. When the disk is full, recording stops, which is logged once, and `send` returns false
/// from then on.
class FileSink final : public Sink {
 public:
  /// Throws SetupError if the files cannot be created, or exist and must not be overwritten.
  FileSink(const FileSinkSettings& settings, const PortFormat& format);
  ~FileSink() override;
  /// The memory and descriptors that one sink needs.
  static Need need(const std::string& path, const PortFormat& format);

  bool send(const Message& message) override;
  /// Throws SetupError if the end cannot be written.
  void finish() override;

 private:
  bool close();
  bool record(const Message& message, std::int64_t first, std::int64_t count);
  bool append(const Message& message, std::int64_t first, std::int64_t count);
  void begin(std::optional<SigmfCapture> capture);
  void show_annotations();

  SampleEncoder encoder_;
  SigmfFiles files_;
  CaptureLog captures_;
  AwaitedAnnotations awaited_;
  std::int64_t items_ = 0;  // recorded or held
  bool finished_ = false;
};

}  // namespace iqd::radio
