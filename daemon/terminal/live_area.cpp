// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/terminal/live_area.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

namespace iqd::terminal {

LiveArea::LiveArea(int file) : file_(file) {
  log::set_footer(this);
}

LiveArea::~LiveArea() {
  log::set_footer(nullptr);
}

void LiveArea::show(std::vector<std::string> lines) {
  std::fflush(stdout);
  log::between_lines([&] {
    lines_ = std::move(lines);
    draw();
  });
}

void LiveArea::clear() {
  log::between_lines([&] {
    lines_.clear();
    erase();
  });
}

/// Moves to the first column of the first line. A terminal that became narrower has wrapped the lines; if they no longer
/// fit, the first ones have left it.
std::string LiveArea::to_top(const Size& size) const {
  const int columns = std::max(size.columns, 1);
  int up = 0;
  for (const int width : drawn_) up += std::max(1, (width + columns - 1) / columns);
  if (up >= size.rows) return "\x1b[2J\x1b[H";
  return up > 0 ? fmt::format("\r\x1b[{}A", up) : "\r";
}

void LiveArea::erase() noexcept {
  if (drawn_.empty()) return;
  put(to_top(size_of(file_)) + "\x1b[J");
  drawn_.clear();
}

void LiveArea::draw() noexcept {
  if (lines_.empty()) return erase();
  const Size size = size_of(file_);
  std::string text = to_top(size);
  // Terminals remember which lines they wrapped, and would join them again although they were overwritten.
  if (!drawn_.empty() && size != drawn_at_) text += "\x1b[J";
  drawn_at_ = size;
  drawn_.clear();
  for (const std::string& line : lines_) {
    // One line stays free for the cursor.
    if (std::ssize(drawn_) >= std::max(1, size.rows - 1)) break;
    const std::string fitting = clipped(line, size.columns - 1);
    drawn_.push_back(width_of(fitting));
    text += fitting + "\x1b[K\n";
  }
  put(text + "\x1b[J");
}

void LiveArea::put(const std::string& text) const noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const auto written = ::write(file_, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) return;
    if (written > 0) at += static_cast<std::size_t>(written);
  }
}

}  // namespace iqd::terminal
