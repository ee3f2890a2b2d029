// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/printable.hpp"

#include <algorithm>

namespace iqd {
namespace {

bool follows(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace

/// Unicode 15, table 3-7.
std::size_t utf8_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(i < text.size() ? text[i] : 0); };
  const unsigned char c = byte(0);
  if (text.empty()) return 0;
  if (c < 0x80) return 1;
  if (c < 0xC2 || c > 0xF4) return 0;
  const std::size_t n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
  for (std::size_t i = 1; i < n; ++i)
    if (i >= text.size() || !follows(text[i])) return 0;
  const bool overlong = (c == 0xE0 && byte(1) < 0xA0) || (c == 0xF0 && byte(1) < 0x90);
  const bool surrogate = c == 0xED && byte(1) > 0x9F;
  const bool too_large = c == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || too_large ? 0 : n;
}

bool is_control(char c) noexcept {
  const auto u = static_cast<unsigned char>(c);
  return u < 0x20 || u == 0x7F;
}

std::string utf8_start(std::string_view text, std::size_t bytes) {
  std::size_t end = std::min(bytes, text.size());
  while (end > 0 && end < text.size() && follows(text[end])) --end;
  return std::string(text.substr(0, end));
}

std::string printable(std::string_view text) {
  std::string s;
  s.reserve(text.size());
  while (!text.empty()) {
    const std::size_t n = utf8_character(text);
    if (n == 0 || is_control(text.front()))
      s += '?';
    else
      s += text.substr(0, n);
    text.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return s;
}

}  // namespace iqd
