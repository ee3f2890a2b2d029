// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "radio/file/file_sink.hpp"

namespace iqd::radio {

/// Records NAME.sigmf, a tar file with both files of a SigMF recording. While it records these are NAME.part.sigmf-meta
/// and NAME.part.sigmf-data, valid at any moment; at the end they are packed, and removed. If that fails, they stay, and
/// it is logged.
class ArchiveSink final : public Sink {
 public:
  /// As FileSink.
  ArchiveSink(const FileSinkSettings& settings, const PortFormat& format);
  ~ArchiveSink() override;

  bool send(const Message& message) override { return sink_.send(message); }
  /// Throws SetupError if the end cannot be written.
  void finish() override;

 private:
  bool close();
  std::string path_;
  SigmfPaths parts_;
  FileSink sink_;
  bool finished_ = false;
};

}  // namespace iqd::radio
