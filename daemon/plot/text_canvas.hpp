// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/plot/colour_map.hpp"
#include "daemon/terminal/terminal.hpp"

namespace iqd::plot {

/// The cells of a terminal: a character each, with colours. Places outside are ignored.
class TextCanvas {
 public:
  TextCanvas(int columns, int rows);
  int columns() const noexcept { return columns_; }
  int rows() const noexcept { return rows_; }

  void put(int column, int row, std::string_view character, std::optional<Rgb> front = {},
           std::optional<Rgb> back = {});
  /// Cut at the right edge.
  void write(int column, int row, std::string_view text, std::optional<Rgb> front = {});
  /// Sets one of the 2 by 4 dots of a cell, as braille; x and y count dots.
  void dot(int x, int y, std::optional<Rgb> front = {});
  void dot_line(int x0, int y0, int x1, int y1, std::optional<Rgb> front = {});

  /// A line of text for each row, without spaces at its end.
  std::vector<std::string> lines(terminal::Colours colours) const;

 private:
  struct Cell {
    std::string text = " ";
    unsigned dots = 0;
    std::optional<Rgb> front{};
    std::optional<Rgb> back{};
  };
  Cell* at(int column, int row);
  std::string row_text(int row, terminal::Colours colours) const;

  int columns_;
  int rows_;
  std::vector<Cell> cells_;
};

}  // namespace iqd::plot
