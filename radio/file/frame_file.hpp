// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace iqd::radio {

/// A file that grows only by whole frames: after a kill, no frame is cut. If frames do not divide pages evenly, the
/// very last frame may be zeros after a kill.
class FrameFile {
 public:
  /// Opens or creates the file, and locks it against other writers; its content stays until `cut`. Throws SetupError.
  FrameFile(const std::string& path, std::int64_t frame_bytes);
  ~FrameFile();
  FrameFile(const FrameFile&) = delete;
  FrameFile& operator=(const FrameFile&) = delete;

  /// Appends whole frames. Returns false if the file takes no more (disk full, or removed): then it ends with the last
  /// frame that fit, and `errno` has the reason.
  bool append(std::span<const std::byte> frames) noexcept;
  /// Appends frames of zeros, as a hole without disk space. Returns false as above.
  bool append_zeros(std::int64_t frames) noexcept;
  std::int64_t frames() const noexcept { return bytes_ / frame_; }
  /// Replaces existing bytes. Returns false as above.
  bool rewrite(std::int64_t at, std::span<const std::byte> bytes) noexcept;
  /// Truncates the file to `frames`.
  void cut(std::int64_t frames) noexcept;
  /// Waits until the disk has it all. Returns false as above.
  bool sync() const noexcept;

  /// Whether another FrameFile holds this path.
  static bool is_locked(const std::string& path) noexcept;

 private:
  bool write(const std::byte* from, std::int64_t bytes) noexcept;
  bool has_name() const noexcept;
  bool is_at(const std::string& path) const noexcept;
  bool was_removed() const noexcept;

  int file_ = -1;
  bool had_name_ = false;  // some file systems do not report it
  std::int64_t frame_;
  std::int64_t bytes_ = 0;
};

}  // namespace iqd::radio
