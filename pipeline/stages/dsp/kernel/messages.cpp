// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/dsp/kernel/messages.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "pipeline/stages/dsp/kernel/texts.hpp"

namespace iqd::kernel {
namespace {

constexpr std::size_t kMost = 10;

/// A number at the end of a text, and what stands before the mark in front of it: `mine.cu:3` → `mine.cu`, 3.
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

/// Adds the error that a line tells of, if it does.
void add_error(std::string_view line, std::vector<Message>& errors) {
  for (const std::string_view mark : {": error", ": fatal error", ": catastrophic error"}) {
    const std::size_t at = line.find(mark);
    if (at == line.npos) continue;
    // `error:`, and NVRTC's `error #20:` where it is told to number them.
    const std::size_t colon = line.find(": ", at + mark.size());
    if (colon == line.npos || line.substr(at + mark.size(), colon - at - mark.size()).size() > 12) continue;
    errors.push_back({place_of(line.substr(0, at)), std::string(line.substr(colon + 2))});
    return;
  }
  if (const std::size_t at = line.find("undefined reference"); at != line.npos)
    errors.push_back({Place(), std::string(line.substr(at))});
}

}  // namespace

std::vector<Message> errors_in(std::string_view log) {
  std::vector<Message> errors;
  std::string last = "the compiler failed, and does not say why";
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
  for (const Message& m : messages) {
    Place place = m.place;
    std::string what = m.what;
    if (place.file == kOwnPart) {
      place = {program.name, program.function_line, 0};
      what = fmt::format("{} cannot be called as it has to be: {}", program.function, m.what);
    }
    if (place.file.empty()) place = {program.name, program.first_line, 0};
    section.problems().push_back({std::move(place), section.path(), std::move(what)});
  }
}

}  // namespace iqd::kernel
