// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/text_canvas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace iqd::plot {
namespace {

/// The bits of a braille character: dot (x, y) of its two columns and four rows.
constexpr std::array<std::array<unsigned, 4>, 2> kDots{{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};

std::string braille(unsigned dots) {
  const unsigned code = 0x2800 + dots;
  return {static_cast<char>(0xe0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3f)),
          static_cast<char>(0x80 | (code & 0x3f))};
}

std::size_t character_bytes(std::string_view text, std::size_t at) {
  std::size_t bytes = 1;
  while (at + bytes < text.size() && (static_cast<unsigned char>(text[at + bytes]) & 0xc0) == 0x80) ++bytes;
  return bytes;
}

std::string code_of(const std::optional<Rgb>& colour, bool front, terminal::Colours colours) {
  if (!colour) return front ? "39" : "49";
  const Rgb c = *colour;
  if (colours == terminal::Colours::full) return fmt::format("{};2;{};{};{}", front ? 38 : 48, c.r, c.g, c.b);
  if (colours == terminal::Colours::indexed) return fmt::format("{};5;{}", front ? 38 : 48, indexed(c));
  const int number = basic(c);
  return fmt::format("{}", (front ? 30 : 40) + (number < 8 ? number : number - 8 + 60));
}

}  // namespace

TextCanvas::TextCanvas(int columns, int rows)
    : columns_(std::max(columns, 1)),
      rows_(std::max(rows, 1)),
      cells_(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(rows_)) {}

TextCanvas::Cell* TextCanvas::at(int column, int row) {
  if (column < 0 || row < 0 || column >= columns_ || row >= rows_) return nullptr;
  return &cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) + static_cast<std::size_t>(column)];
}

void TextCanvas::put(int column, int row, std::string_view character, std::optional<Rgb> front,
                     std::optional<Rgb> back) {
  if (Cell* cell = at(column, row)) *cell = {std::string(character), 0, front, back};
}

void TextCanvas::write(int column, int row, std::string_view text, std::optional<Rgb> front) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = character_bytes(text, i);
    put(column++, row, text.substr(i, bytes), front);
    i += bytes;
  }
}

void TextCanvas::dot(int x, int y, std::optional<Rgb> front) {
  if (x < 0 || y < 0) return;
  Cell* cell = at(x / 2, y / 4);
  if (!cell) return;
  cell->dots |= kDots[static_cast<std::size_t>(x % 2)][static_cast<std::size_t>(y % 4)];
  cell->text = braille(cell->dots);
  if (front) cell->front = front;
}

void TextCanvas::dot_line(int x0, int y0, int x1, int y1, std::optional<Rgb> front) {
  const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
  for (int i = 0; i <= steps; ++i) dot(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps, front);
}

std::string TextCanvas::row_text(int row, terminal::Colours colours) const {
  const auto begin = cells_.begin() + static_cast<std::ptrdiff_t>(row) * columns_;
  auto end = begin + columns_;
  while (end != begin && end[-1].text == " " && !end[-1].back) --end;
  std::string text, now;
  for (auto cell = begin; cell != end; ++cell) {
    if (colours != terminal::Colours::none) {
      const std::string code = code_of(cell->front, true, colours) + ";" + code_of(cell->back, false, colours);
      if (code != now) text += "\x1b[" + code + "m";
      now = code;
    }
    text += cell->text;
  }
  return now.empty() || now == "39;49" ? text : text + "\x1b[0m";
}

std::vector<std::string> TextCanvas::lines(terminal::Colours colours) const {
  std::vector<std::string> all;
  for (int row = 0; row < rows_; ++row) all.push_back(row_text(row, colours));
  return all;
}

}  // namespace iqd::plot
