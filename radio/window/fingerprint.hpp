// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace iqd::radio {

/// Tells recordings apart without reading all of a large one: a hash of its small files, and of the length, the time of
/// change and evenly spread pieces of its large ones.
class Fingerprint {
 public:
  /// Of a recording's files, and of what stands beside an array. Throws SetupError if one cannot be read.
  static Fingerprint of(const std::string& path, const std::string& data);

  const std::string& text() const noexcept { return text_; }
  /// Whether no file has changed since.
  bool holds() const noexcept;

 private:
  struct File {
    std::string name;
    long long bytes = 0;
    long long changed_ns = 0;
    friend bool operator==(const File&, const File&) = default;
  };
  static bool look(const std::string& name, File& file) noexcept;

  std::vector<File> files_;
  std::string text_;
};

}  // namespace iqd::radio
