// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

#include "pipeline/stages/math/kernel/declaration.hpp"
#include "pipeline/stages/math/kernel/texts.hpp"

namespace iqd::kernel {
namespace {

constexpr std::size_t kMost = 10;

/// Takes the number at the end of a text, and the mark before it: `mine.cu:3` → `mine.cu`, 3.
std::optional<int> take_number(std::string_view& text, char mark) {
  const std::size_t at = text.rfind(mark);
  if (at == text.npos) return std::nullopt;
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data() + at + 1, end, number);
  if (error != std::errc() || behind != end) return std::nullopt;
  text = text.substr(0, at);
  return number;
}

Place place_of(std::string_view text) {
  Place place;
  if (text.ends_with(')')) {  // mine.cu(3)
    text.remove_suffix(1);
    place.line = take_number(text, '(').value_or(0);
  } else if (const auto last = take_number(text, ':')) {  // mine.cu:3:9
    const auto line = take_number(text, ':');
    place.line = line.value_or(*last);
    place.column = line ? *last : 0;
  }
  if (place.line > 0) place.file = text;
  return place;
}

/// Adds the error that a line reports, if any.
void add_error(std::string_view line, std::vector<Message>& errors) {
  for (const std::string_view mark : {": error", ": fatal error", ": catastrophic error"}) {
    const std::size_t at = line.find(mark);
    if (at == line.npos) continue;
    // `error:`, or `error #20:` if NVRTC numbers its errors.
    const std::size_t colon = line.find(": ", at + mark.size());
    if (colon == line.npos || line.substr(at + mark.size(), colon - at - mark.size()).size() > 12) continue;
    errors.push_back({place_of(line.substr(0, at)), std::string(line.substr(colon + 2))});
    return;
  }
  if (const std::size_t at = line.find("undefined reference"); at != line.npos)
    errors.push_back({Place(), std::string(line.substr(at))});
}

/// The line of a text, from 1.
std::string line_of(std::istream&& text, int number) {
  std::string line;
  for (int n = 0; n < number && std::getline(text, line);) ++n;
  return line;
}

/// The compiler sees `code` without its indentation. 0 if the line is written differently in the file: in quotes, with
/// escapes.
int column_in_file(const Program& program, const Place& place) {
  const std::string seen = line_of(std::istringstream(program.text), place.line - program.first_line + 1);
  const std::size_t begin = std::min(seen.find_first_not_of(" \t"), seen.size());
  std::ifstream file(program.name);
  if (!file) return place.column;
  const std::size_t at = line_of(std::move(file), place.line).find(seen.substr(begin));
  return at == std::string::npos ? 0 : place.column + static_cast<int>(at) - static_cast<int>(begin);
}

}  // namespace

std::vector<Message> errors_in(std::string_view log) {
  std::vector<Message> errors;
  std::string last = "the compiler failed without a message";
  while (!log.empty() && errors.size() < kMost) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (line.find_first_not_of(" \t\r^~") != line.npos) last = line;
    add_error(line, errors);
  }
  if (errors.empty()) errors.push_back({Place(), last});
  return errors;
}

void add_problems(const std::vector<Message>& messages, const Program& program, const Section& section) {
  const auto add = [&](Place place, std::string what) {
    section.problems().push_back({std::move(place), section.path(), std::move(what)});
  };
  const auto is_ours = [](const Message& m) { return m.place.file == kOwnPart; };
  const bool has_ours = std::ranges::any_of(messages, is_ours);
  const bool all_ours = std::ranges::all_of(messages, is_ours);
  if (const auto line = has_ours ? unclosed_brace(program.text) : std::nullopt)
    return add({program.name, program.first_line + *line - 1, 0}, "this '{' is never closed");
  for (const Message& m : messages) {
    if (all_ours)
      return add({program.name, program.function_line, 0},
                 fmt::format("{} does not match `in`, `out` and `params`: {}", program.function, m.what));
    if (is_ours(m)) continue;
    Place place = m.place.file.empty() ? Place{program.name, program.first_line, 0} : m.place;
    if (program.is_code && place.file == program.name && place.column > 0)
      place.column = column_in_file(program, place);
    add(std::move(place), m.what);
  }
}

}  // namespace iqd::kernel
