// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <utility>

namespace iqd {

/// A file descriptor, closed by the destructor.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int file) noexcept : file_(file) {}
  FileHandle(FileHandle&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept {
    reset(std::exchange(other.file_, -1));
    return *this;
  }
  ~FileHandle() { reset(); }

  /// -1: none.
  int get() const noexcept { return file_; }
  void reset(int file = -1) noexcept {
    if (file_ >= 0) ::close(file_);
    file_ = file;
  }

 private:
  int file_ = -1;
};

}  // namespace iqd
