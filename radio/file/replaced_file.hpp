// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

namespace iqd::radio {

/// Whether a write may succeed later: descriptors are short for the moment.
bool is_passing(int error) noexcept;

/// A text file that is replaced as a whole: a reader finds either the old or the new text, even after a kill. While it
/// is written it has no name, if the file system supports that, so a kill leaves nothing behind.
class ReplacedFile {
 public:
  explicit ReplacedFile(std::string path) : path_(std::move(path)) {}

  /// Returns false, with `errno`, if there is no room for it; then the old file remains.
  bool write(const std::string& text) const;
  /// Removes the file, and remains of an interrupted `write`.
  void remove() const noexcept;

 private:
  bool write_unnamed(const std::string& text) const;
  bool write_named(const std::string& text) const;
  bool take_place() const;
  std::string part() const { return path_ + ".part"; }

  std::string path_;
};

}  // namespace iqd::radio
