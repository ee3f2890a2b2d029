// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace iqd::radio {

/// Why a file cannot be read; empty if it is a regular file that can be opened.
std::string unreadable(const std::string& path);

/// Pieces of a regular file, for readers of headers. What cannot be read is missing from the end of a piece.
class FileBytes {
 public:
  explicit FileBytes(const std::string& path);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::int64_t size() const noexcept { return size_; }
  std::string read(std::int64_t at, std::size_t bytes) const;

 private:
  int file_;
  std::int64_t size_ = 0;
};

/// A little-endian number within `bytes`; 0 if it is not all there.
template <class T> T number_at(std::string_view bytes, std::size_t at) noexcept {
  T value{};
  if (at <= bytes.size() && bytes.size() - at >= sizeof value) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace iqd::radio
