// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace iqd {

/// The first of $IQD_CACHE_DIR, $CACHE_DIRECTORY (systemd's), $XDG_CACHE_HOME/iqd and $HOME/.cache/iqd that is set;
/// empty where none is.
std::filesystem::path cache_folder();

/// 32 hexadecimal digits that stand for these texts in this order.
std::string content_key(std::initializer_list<std::string_view> texts);

/// What was made once, at some cost, kept in files by what it was made of. Any number of threads and processes share a
/// folder: a file is written beside its place and then moved there, and read only where its checksum is right.
class FileCache {
 public:
  /// The folder is made when something is first kept; an empty path keeps nothing.
  explicit FileCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// None where there is no such file, or something else in it. `key` is of `content_key`.
  std::optional<std::vector<char>> find(const std::string& key) const;
  /// Why it could not be kept; empty where it was.
  std::string keep(const std::string& key, std::span<const char> content) const;
  std::filesystem::path file_of(const std::string& key) const { return folder_ / key; }

 private:
  std::filesystem::path folder_;
};

}  // namespace iqd
