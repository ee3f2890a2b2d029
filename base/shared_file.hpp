// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "base/file_handle.hpp"

namespace iqd {

/// Memory that another process may map too, as a file without a name. Its size never changes, so no access fails,
/// whatever the other process does. Full of zeros; pages take memory when they are first written.
class SharedFile {
 public:
  enum class Other { may_write, may_only_read };
  /// Throws SetupError.
  SharedFile(const char* name, std::size_t bytes, Other other);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return bytes_; }
  /// What the other process gets; -1 after `close`.
  int file() const noexcept { return file_.get(); }
  /// The other process has it.
  void close() noexcept { file_.reset(); }

 private:
  FileHandle file_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace iqd
