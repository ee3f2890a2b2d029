// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace iqd::radio {

/// Whether a file could be written some time later: descriptors are short, and come back.
bool is_passing(int error) noexcept;

/// A text that is replaced as a whole: whoever reads it, also after a kill, finds the old one or the new one. While it
/// is written it has no name, where the file system can do that, so a kill leaves nothing else behind.
class ReplacedFile {
 public:
  explicit ReplacedFile(std::string path) : path_(std::move(path)) {}

  /// False, with `errno`, where there is no room for it; then the old one is there still.
  bool write(const std::string& text) const;
  /// Removes the file, and what an interrupted `write` may have left beside it.
  void remove() const noexcept;

 private:
  bool write_unnamed(const std::string& text) const;
  bool write_named(const std::string& text) const;
  bool take_place() const;
  std::string part() const { return path_ + ".part"; }

  std::string path_;
};

}  // namespace iqd::radio
