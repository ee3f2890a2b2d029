// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iqd {

/// The first of $IQD_CACHE_DIR, $CACHE_DIRECTORY (systemd's), $XDG_CACHE_HOME/iqd and $HOME/.cache/iqd that is set;
/// empty if none is.
std::filesystem::path cache_folder();

/// A hash of these texts in this order, as 32 hexadecimal digits.
std::string content_key(std::initializer_list<std::string_view> texts);

/// Keeps results that were costly to make in files, keyed by their inputs. Any number of threads and processes share a
/// folder: a file is written under another name and then renamed, and read only if its checksum is right.
class FileCache {
 public:
  /// The folder is created when something is first kept; an empty path keeps nothing.
  explicit FileCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// None if there is no such file, or its content is not valid. `key` is from `content_key`.
  std::optional<std::vector<char>> find(const std::string& key) const;
  /// Why it could not be kept; empty if it was.
  std::string keep(const std::string& key, std::span<const char> content) const;
  std::filesystem::path file_of(const std::string& key) const { return folder_ / key; }

 private:
  std::filesystem::path folder_;
};

}  // namespace iqd
