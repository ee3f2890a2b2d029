// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace iqd::radio {

/// A file that only ever grows by whole frames: what a killed writer leaves behind is never cut within one. Only where
/// frames do not fit pages evenly can the very last frame be zeros then.
class FrameFile {
 public:
  /// Opens or makes the file, locked against other writers; what is in it stays until `cut`. Throws SetupError.
  FrameFile(const std::string& path, std::int64_t frame_bytes);
  ~FrameFile();
  FrameFile(const FrameFile&) = delete;
  FrameFile& operator=(const FrameFile&) = delete;

  /// Whole frames. False when the file takes no more (disk full, or it was removed): then it ends with the last frame
  /// that found room, and `errno` says why.
  bool append(std::span<const std::byte> frames) noexcept;
  /// Frames of zeros, as a hole that takes no room on the disk. False as above.
  bool append_zeros(std::int64_t frames) noexcept;
  std::int64_t frames() const noexcept { return bytes_ / frame_; }
  /// Other bytes in the place of some that are there already. False as above.
  bool rewrite(std::int64_t at, std::span<const std::byte> bytes) noexcept;
  /// Forgets what is behind the first `frames`.
  void cut(std::int64_t frames) noexcept;

  /// Whether another FrameFile holds this path.
  static bool is_locked(const std::string& path) noexcept;

 private:
  bool write(const std::byte* from, std::int64_t bytes) noexcept;
  bool has_name() const noexcept;
  bool was_removed() const noexcept;

  int file_ = -1;
  bool had_name_ = false;  // some file systems do not tell
  std::int64_t frame_;
  std::int64_t bytes_ = 0;
};

}  // namespace iqd::radio
