// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace iqd::radio {

/// A text that is replaced as a whole: whoever reads it, also after a kill, finds the old one or the new one.
class ReplacedFile {
 public:
  explicit ReplacedFile(std::string path) : path_(std::move(path)) {}

  /// Lays a text down beside the file, so that it has found room on the disk. False, with `errno`, where it has not.
  bool prepare(const std::string& text) const;
  /// What was prepared takes the file's place. False as above.
  bool commit() const;
  bool write(const std::string& text) const { return prepare(text) && commit(); }

 private:
  std::string part() const { return path_ + ".part"; }

  std::string path_;
};

}  // namespace iqd::radio
