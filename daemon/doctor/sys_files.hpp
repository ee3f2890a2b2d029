// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iqd {

/// A file of /proc or /sys without trailing blanks and newlines; empty if it cannot be read.
std::string text_of(const std::filesystem::path& path);
/// The integer that a text begins with.
std::optional<std::int64_t> number_in(std::string_view text);
inline std::optional<std::int64_t> number_of(const std::filesystem::path& path) {
  return number_in(text_of(path));
}
/// `0-3,8` as the kernel lists CPUs and nodes, in order; skips malformed parts.
std::vector<int> list_in(std::string_view text);

}  // namespace iqd
