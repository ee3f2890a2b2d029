// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/terminal/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace iqd::terminal {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int number(const char* name, int otherwise) {
  const int value = std::atoi(variable(name).c_str());
  return value > 0 ? value : otherwise;
}

Colours colours_of(const std::string& term) {
  if (!variable("NO_COLOR").empty()) return Colours::none;
  const std::string more = variable("COLORTERM");
  if (more == "truecolor" || more == "24bit" || term.ends_with("-direct")) return Colours::full;
  return term.find("256") != std::string::npos ? Colours::indexed : Colours::basic;
}

/// The bytes of the character or of the escape sequence that begins here; `columns` is what it takes.
std::size_t step(std::string_view text, std::size_t at, int& columns) {
  columns = 1;
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte == 0x1b) {
    columns = 0;
    const std::size_t end = text.find('m', at);
    return end == text.npos ? text.size() - at : end - at + 1;
  }
  std::size_t bytes = 1;
  while (at + bytes < text.size() && (static_cast<unsigned char>(text[at + bytes]) & 0xc0) == 0x80) ++bytes;
  return bytes;
}

}  // namespace

Terminal terminal_on(int file) {
  if (!::isatty(file)) return {};
  const std::string term = variable("TERM");
  if (term.empty() || term == "dumb") return {.is_one = true};
  return {true, true, colours_of(term)};
}

Size size_of(int file) {
  winsize size{};
  Size all{number("COLUMNS", 80), number("LINES", 24)};
  if (::ioctl(file, TIOCGWINSZ, &size) != 0) return all;
  if (size.ws_col > 0) all.columns = size.ws_col;
  if (size.ws_row > 0) all.rows = size.ws_row;
  return all;
}

std::string Paint::operator()(Tone tone, std::string_view text) const {
  static constexpr const char* kCodes[] = {"", "2", "1", "32", "33", "1;31"};
  if (!colours_ || tone == Tone::plain || text.empty()) return std::string(text);
  return std::string("\x1b[") + kCodes[static_cast<std::size_t>(tone)] + "m" + std::string(text) + "\x1b[0m";
}

int width_of(std::string_view text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) {
    int columns = 0;
    at += step(text, at, columns);
    width += columns;
  }
  return width;
}

std::string clipped(std::string_view text, int columns) {
  if (width_of(text) <= columns) return std::string(text);
  std::string kept;
  bool coloured = false;
  int width = 0;
  for (std::size_t at = 0; at < text.size();) {
    int more = 0;
    const std::size_t bytes = step(text, at, more);
    if (width + more > columns - 1) break;
    coloured = coloured || more == 0;
    kept += text.substr(at, bytes);
    width += more;
    at += bytes;
  }
  return kept + (columns > 0 ? "…" : "") + (coloured ? "\x1b[0m" : "");
}

std::string clipped_front(std::string_view text, int columns) {
  int over = width_of(text) - columns;
  if (over <= 0) return std::string(text);
  if (columns <= 0) return "";
  for (++over; over > 0;) {
    int less = 0;
    text.remove_prefix(step(text, 0, less));
    over -= less;
  }
  return "…" + std::string(text);
}

}  // namespace iqd::terminal
