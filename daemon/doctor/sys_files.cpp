// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/sys_files.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

namespace iqd {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\0')) text.pop_back();
  return text;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

std::vector<int> list_in(std::string_view text) {
  constexpr std::int64_t kMost = 1 << 16;
  std::vector<int> all;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    at = end + 1;
    const std::size_t dash = part.find('-');
    const auto first = number_in(part);
    const auto last = dash == part.npos || dash == 0 ? first : number_in(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last >= kMost) continue;
    for (std::int64_t n = *first; n <= *last; ++n) all.push_back(static_cast<int>(n));
  }
  return all;
}

}  // namespace iqd
