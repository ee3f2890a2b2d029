// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>

#include "config/fields.hpp"

/// What stages that run a user's program share: `file` names it, or `code` has its text.
namespace iqd::program_source {

/// Longest text of a program, in bytes.
inline constexpr std::size_t kMostText = 1 << 20;

/// Whether exactly one of the keys `file` and `code` is set; false after a problem.
inline bool is_one(const std::string& file, const std::string& code, const Section& section) {
  if (file.empty() != code.empty()) return true;
  section.problem(file.empty() ? "" : "code", file.empty()
                                                  ? "needs `file:`, the file with the function (or `code:`, its text)"
                                                  : "`file` is set too: give only one of them");
  return false;
}

/// The line that the text of `code` begins in: a text of several lines begins after the line of its key.
inline int first_line_of(const std::string& code, const Section& section) {
  section.problem("code", "");
  const int line = std::max(section.problems().back().place.line, 1);
  section.problems().pop_back();
  return code.find('\n') == code.npos ? line : line + 1;
}

/// `mine.cu` for `lab/../mine.cu`, if both are the same file.
inline std::string shown_path(const std::filesystem::path& path) {
  const std::filesystem::path plain = path.lexically_normal();
  std::error_code error;
  return (std::filesystem::equivalent(path, plain, error) ? plain : path).string();
}

}  // namespace iqd::program_source
