// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/text_check.hpp"

#include <algorithm>
#include <vector>

#include "base/printable.hpp"

namespace iqd {
namespace {

/// In a text of several lines.
bool is_bad_control(char c) {
  return is_control(c) && c != '\t' && c != '\n' && c != '\r';
}

/// Offset of the first byte that is not UTF-8, or of the first control character.
std::size_t first_bad(std::string_view text, bool control) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = utf8_character(text.substr(at));
    if (control ? is_bad_control(text[at]) : n == 0) return at;
    at += std::max<std::size_t>(n, 1);
  }
  return text.size();
}

/// Offset of the first tab in the indentation of a line that is not blank or a comment.
std::size_t first_tab(std::string_view text) {
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    const std::string_view content = text.substr(line, end - line);
    const std::size_t word = content.find_first_not_of(" \t\r");
    const std::size_t tab = content.find('\t');
    if (word != std::string_view::npos && content[word] != '#' && tab < word) return line + tab;
    line = end + 1;
  }
  return text.size();
}

}  // namespace

void check_text(std::string_view text, const std::string& name, Problems& problems) {
  const auto complain = [&](std::size_t at, const char* what) {
    if (at == text.size()) return;
    const std::string_view before = text.substr(0, at);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
    problems.push_back({{name, static_cast<int>(line), static_cast<int>(at - start) + 1}, "", what});
  };
  complain(first_bad(text, false), "this is not UTF-8");
  complain(first_bad(text, true), "a control character");
  complain(first_tab(text), "a tab in the indentation; YAML allows only spaces");
}

std::optional<std::pair<int, char>> open_bracket(std::string_view text, int before_line) {
  std::vector<std::pair<int, char>> open;
  int line = 1;
  char quote = 0;
  for (std::size_t i = 0; i < text.size() && line < before_line; ++i) {
    const char c = text[i];
    const char previous = i > 0 ? text[i - 1] : '\n';
    const bool begins_word = std::string_view(" \t\n[{,").find(previous) != std::string_view::npos;
    if (c == '\n') ++line;
    if (quote != 0) {
      if (c == quote && !(quote == '"' && previous == '\\')) quote = 0;
    } else if ((c == '"' || c == '\'') && begins_word) {
      quote = c;
    } else if (c == '#' && begins_word) {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '[' || c == '{') {
      open.emplace_back(line, c);
    } else if ((c == ']' || c == '}') && !open.empty()) {
      open.pop_back();
    }
  }
  return quote != 0 || open.empty() ? std::nullopt : std::optional(open.back());
}

}  // namespace iqd
