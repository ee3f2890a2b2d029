// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/text_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "daemon/plot/axis.hpp"
#include "daemon/plot/text_canvas.hpp"

namespace iqd::plot {
namespace {

using terminal::Colours;
using terminal::width_of;

constexpr Rgb kAxis{140, 140, 140};
constexpr Rgb kMark{255, 200, 60};
constexpr std::array<const char*, 9> kEighths{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, 5> kShades{" ", "░", "▒", "▓", "█"};

/// The part of the terminal between the axes, in cells.
struct Room {
  int left = 0;
  int top = 0;
  int columns = 1;
  int rows = 1;
};

std::string unit_of(const Scale& scale) {
  const auto comma = scale.label.rfind(", ");
  return comma == std::string::npos ? scale.label : scale.label.substr(comma + 2);
}

/// The largest of the values that fall into part `i` of `parts`; NaN if there is none.
float largest(const std::vector<float>& values, int i, int parts) {
  const auto n = static_cast<double>(values.size());
  const auto begin = static_cast<std::size_t>(std::floor(n * i / parts));
  const auto end = std::max(begin + 1, static_cast<std::size_t>(std::floor(n * (i + 1) / parts)));
  float most = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t k = begin; k < std::min(end, values.size()); ++k)
    if (!(most >= values[k])) most = values[k];
  return most;
}

class TextFigure {
 public:
  TextFigure(const Figure& figure, terminal::Size size, Colours colours)
      : figure_(figure), colours_(colours), canvas_(size.columns, size.rows) {
    lay_out(size);
  }
  std::vector<std::string> draw() {
    title();
    switch (figure_.kind) {
      case Figure::Kind::grid: grid(); break;
      case Figure::Kind::points: points(); break;
      case Figure::Kind::curves: figure_.filled ? bars() : curves(); break;
    }
    axes();
    for (const Figure::Mark& mark : figure_.marks) name(mark);
    canvas_.write(0, canvas_.rows() - 1, terminal::clipped(note(), canvas_.columns()));
    return canvas_.lines(colours_);
  }

 private:
  void lay_out(terminal::Size size) {
    room_.top = 1;
    room_.rows = std::max(size.rows - 4, 1);  // title, axis, its numbers, note
    y_ticks_ = ticks_of(figure_.y, std::clamp(room_.rows / 3, 2, 10));
    int widest = width_of(unit_of(figure_.y));
    for (const Tick& t : y_ticks_) widest = std::max(widest, width_of(t.text));
    room_.left = widest + 2;
    room_.columns = std::max(size.columns - room_.left - 1, 1);
    // Points have the same scale in both directions; a cell is about twice as high as wide.
    if (figure_.kind == Figure::Kind::points) room_.columns = std::min(room_.columns, 2 * room_.rows);
    x_ticks_ = ticks_of(figure_.x, std::max(room_.columns / 12, 3));
  }

  std::optional<Rgb> if_coloured(Rgb colour) const {
    return colours_ == Colours::none ? std::optional<Rgb>() : std::optional<Rgb>(colour);
  }

  /// With the range of the colours, for which there is no room elsewhere.
  std::string note() const {
    if (figure_.kind != Figure::Kind::grid) return figure_.note;
    return fmt::format("{}; colours from {:.0f} to {:.0f} {}", figure_.note, figure_.colour.low, figure_.colour.high,
                       figure_.colour.label);
  }

  void title() {
    canvas_.write(0, 0, unit_of(figure_.y), if_coloured(kAxis));
    canvas_.write(room_.left, 0, terminal::clipped(figure_.title, room_.columns));
    int at = room_.left + width_of(figure_.title) + 2;
    for (std::size_t c = 0; figure_.curves.size() > 1 && c < figure_.curves.size(); ++c) {
      canvas_.write(at, 0, "━ " + figure_.curves[c].name, if_coloured(curve_colour(c)));
      at += width_of(figure_.curves[c].name) + 4;
    }
  }

  /// The row of a tick of the y axis, and the column of one of the x axis.
  int row_of(double value) const {
    return room_.top + std::min(room_.rows - 1, static_cast<int>((1 - share_of(figure_.y, value)) * room_.rows));
  }
  int column_of(double value) const {
    return room_.left + static_cast<int>(std::lround(share_of(figure_.x, value) * (room_.columns - 1)));
  }

  void axes() {
    const std::optional<Rgb> grey = if_coloured(kAxis);
    const int bottom = room_.top + room_.rows;
    for (int r = room_.top; r < bottom; ++r) canvas_.put(room_.left - 1, r, "│", grey);
    for (int c = room_.left; c < room_.left + room_.columns; ++c) canvas_.put(c, bottom, "─", grey);
    canvas_.put(room_.left - 1, bottom, "└", grey);
    for (const Tick& t : y_ticks_) {
      const int row = row_of(t.at);
      canvas_.write(room_.left - 2 - width_of(t.text) + 1 - 1, row, t.text, grey);
      canvas_.put(room_.left - 1, row, "┤", grey);
    }
    int used = 0;  // up to this column there are numbers
    const int room_for_ticks = canvas_.columns() - width_of(unit_of(figure_.x)) - 1;
    for (const Tick& t : x_ticks_) {
      const int column = column_of(t.at);
      canvas_.put(column, bottom, "┬", grey);
      const int at = std::clamp(column - width_of(t.text) / 2, 0, canvas_.columns() - width_of(t.text));
      if (at <= used || at + width_of(t.text) > room_for_ticks) continue;
      canvas_.write(at, bottom + 1, t.text, grey);
      used = at + width_of(t.text);
    }
    label_x(bottom + 1, used);
  }

  /// After the numbers: only the unit, if there is no room for more.
  void label_x(int row, int used) {
    const std::string text =
        used + 2 + width_of(figure_.x.label) <= canvas_.columns() ? figure_.x.label : unit_of(figure_.x);
    canvas_.write(canvas_.columns() - width_of(text), row, text, if_coloured(kAxis));
  }

  /// A filled curve: a bar of eighths for each column.
  void bars() {
    const std::vector<float>& values = figure_.curves[0].values;
    for (int c = 0; c < room_.columns; ++c) {
      const double share = share_of(figure_.y, static_cast<double>(largest(values, c, room_.columns)));
      const int eighths = static_cast<int>(std::lround(share * room_.rows * 8));
      for (int r = 0; r < room_.rows; ++r) {
        const int here = std::clamp(eighths - 8 * r, 0, 8);
        const double height = (r + 0.5) / room_.rows;
        if (here > 0)
          canvas_.put(room_.left + c, room_.top + room_.rows - 1 - r, kEighths[static_cast<std::size_t>(here)],
                      if_coloured(heat(0.25 + 0.75 * height)));
      }
    }
  }

  int dot_row(double value) const {
    return 4 * room_.top + static_cast<int>(std::lround((1 - share_of(figure_.y, value)) * (4 * room_.rows - 1)));
  }

  void curves() {
    for (std::size_t n = 0; n < figure_.curves.size(); ++n) {
      const std::vector<float>& values = figure_.curves[n].values;
      const std::optional<Rgb> colour = if_coloured(curve_colour(n));
      std::optional<int> before;
      for (int x = 0; x < 2 * room_.columns; ++x) {
        const float v = largest(values, x, 2 * room_.columns);
        if (!std::isfinite(v)) {
          before.reset();
          continue;
        }
        const int y = dot_row(static_cast<double>(v)), at = 2 * room_.left + x;
        canvas_.dot_line(before ? at - 1 : at, before.value_or(y), at, y, colour);
        before = y;
      }
    }
  }

  void points() {
    std::vector<int> count(static_cast<std::size_t>(room_.columns) * static_cast<std::size_t>(room_.rows));
    const auto cell = [&](const Figure::Point& p, int per_x, int per_y) {
      const double x = share_of(figure_.x, static_cast<double>(p.x)),
                   y = 1 - share_of(figure_.y, static_cast<double>(p.y));
      return std::pair(static_cast<int>(std::lround(x * (per_x * room_.columns - 1))),
                       static_cast<int>(std::lround(y * (per_y * room_.rows - 1))));
    };
    const auto columns = static_cast<std::size_t>(room_.columns);
    const auto index = [&](int x, int y) {
      return static_cast<std::size_t>(y) / 4 * columns + static_cast<std::size_t>(x) / 2;
    };
    for (const Figure::Point& p : figure_.points) {
      const auto [x, y] = cell(p, 2, 4);
      ++count[index(x, y)];
    }
    const double most = std::log1p(*std::ranges::max_element(count));
    for (const Figure::Point& p : figure_.points) {
      const auto [x, y] = cell(p, 2, 4);
      const double share = most > 0 ? std::log1p(count[index(x, y)]) / most : 1;
      canvas_.dot(2 * room_.left + x, 4 * room_.top + y, if_coloured(heat(0.35 + 0.65 * share)));
    }
  }

  /// The largest value of the grid in cell (c, r) of `rows` rows.
  float cell_value(int c, int r, int rows) const {
    const Grid& g = figure_.grid;
    const auto range = [](int i, int parts, int n) {
      const int begin = static_cast<int>(static_cast<std::int64_t>(n) * i / parts);
      return std::pair(begin, std::max(begin + 1, static_cast<int>(static_cast<std::int64_t>(n) * (i + 1) / parts)));
    };
    const auto [c0, c1] = range(c, room_.columns, g.columns);
    const auto [r0, r1] = range(r, rows, g.rows);
    float most = std::numeric_limits<float>::quiet_NaN();
    for (int y = r0; y < std::min(r1, g.rows); ++y)
      for (int x = c0; x < std::min(c1, g.columns); ++x)
        if (!(most >= g.at(x, y))) most = g.at(x, y);
    return most;
  }

  /// Two rows of the grid in a row of cells, or shades if there are no colours.
  void grid() {
    if (figure_.grid.rows == 0) return;
    const bool shaded = colours_ == Colours::none || colours_ == Colours::basic;
    const auto share = [&](int c, int r, int rows) {
      return share_of(figure_.colour, static_cast<double>(cell_value(c, r, rows)));
    };
    for (int r = 0; r < room_.rows; ++r)
      for (int c = 0; c < room_.columns; ++c) {
        if (shaded) {
          const double s = share(c, r, room_.rows);
          const auto shade = static_cast<std::size_t>(std::lround(s * (kShades.size() - 1)));
          canvas_.put(room_.left + c, room_.top + r, kShades[shade], if_coloured(heat(0.3 + 0.7 * s)));
        } else {
          canvas_.put(room_.left + c, room_.top + r, "▀", heat(share(c, 2 * r, 2 * room_.rows)),
                      heat(share(c, 2 * r + 1, 2 * room_.rows)));
        }
      }
  }

  /// Beside the point, on the side with more room.
  void name(const Figure::Mark& mark) {
    const int column = column_of(mark.x), row = std::max(room_.top, row_of(mark.y) - 1);
    const bool to_the_left = column - room_.left > room_.columns / 2;
    const std::string text = to_the_left ? mark.text + " ▸" : "◂ " + mark.text;
    const int at = to_the_left ? column - width_of(text) : column + 1;
    if (at >= room_.left) canvas_.write(at, row, text, if_coloured(kMark));
  }

  const Figure& figure_;
  Colours colours_;
  TextCanvas canvas_;
  Room room_;
  std::vector<Tick> x_ticks_;
  std::vector<Tick> y_ticks_;
};

}  // namespace

std::vector<std::string> text_figure(const Figure& figure, terminal::Size size, Colours colours) {
  return TextFigure(figure, size, colours).draw();
}

}  // namespace iqd::plot
