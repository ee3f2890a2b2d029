// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

namespace iqd::fuzz {

/// A file in memory only, for code that reads files by path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content = {}) : file_(::memfd_create("iqd-fuzz", MFD_CLOEXEC)) {
    // Some files are refused if others may read them.
    if (file_ < 0 || ::fchmod(file_, S_IRUSR | S_IWUSR) != 0) std::abort();
    fill(content);
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void fill(std::string_view content) {
    const bool good = ::ftruncate(file_, 0) == 0 &&
                      ::pwrite(file_, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size());
    if (!good) std::abort();
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace iqd::fuzz
