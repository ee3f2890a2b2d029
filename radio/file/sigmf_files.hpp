// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "radio/file/frame_file.hpp"
#include "radio/file/replaced_file.hpp"
#include "radio/file/sigmf.hpp"

namespace iqd::radio {

/// The two files of a recording, written so that it is valid at any moment: samples wait in memory until the metadata
/// of their capture are on disk. Writing metadata takes at most 1/20 of the time. One thread.
///
/// When the disk is full, recording stops, which is logged once. From then on, all calls that return a bool return
/// false.
class SigmfFiles {
 public:
  static constexpr std::size_t kMostHeldBytes = 64u << 20;

  /// Replaces existing files. Throws SetupError if they cannot be created.
  SigmfFiles(SigmfPaths paths, SigmfMeta meta, std::int64_t frame_bytes);

  /// The next frames begin a capture.
  void add(SigmfCapture capture);
  void add(SigmfAnnotation annotation);
  /// Writes whole frames, or holds them until the metadata are written.
  bool put(std::span<const std::byte> frames);
  /// Writes changed metadata and held frames, unless metadata were written too recently.
  bool flush_if_due();
  /// The same at once, and for the last time.
  void finish();
  bool has_stopped() const noexcept { return stopped_; }
  const SigmfPaths& paths() const noexcept { return paths_; }

 private:
  bool flush();
  bool write_held();
  bool stop(const std::string& file);

  SigmfPaths paths_;
  ReplacedFile meta_file_;
  SigmfMeta meta_;
  FrameFile data_;
  std::vector<std::byte> held_;  // frames that wait for the metadata of their capture
  bool meta_stale_ = false;
  std::int64_t next_meta_ns_ = 0;  // steady clock; earliest next write of the metadata
  bool finishes_ = false;
  bool stopped_ = false;
};

}  // namespace iqd::radio
