// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace iqd::plot {

/// A range of values, in the unit that its label names.
struct Scale {
  double low = 0;
  double high = 1;
  std::string label{};  // `frequency, MHz`
};

/// Values at equal distances, the first at the low end of the x axis and the last at its high end.
struct Curve {
  std::string name;
  std::vector<float> values;
};

/// Values in rows; the first row is at the high end of the y axis.
struct Grid {
  int columns = 0;
  int rows = 0;
  std::vector<float> values{};
  float at(int column, int row) const {
    return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(column)];
  }
};

/// What is drawn, whatever it is drawn on: curves, a grid whose values become colours, or points.
struct Figure {
  enum class Kind : std::uint8_t { curves, grid, points };
  struct Point {
    float x = 0;
    float y = 0;
  };
  Kind kind = Kind::curves;
  std::string title{};
  std::string note{};  // below: the peak, what was averaged
  Scale x{};
  Scale y{};
  Scale colour{};       // of a grid
  bool filled = false;  // a single curve: down to the x axis
  std::vector<Curve> curves{};
  Grid grid{};
  std::vector<Point> points{};
  /// A point of the curve with a name.
  struct Mark {
    double x = 0;
    double y = 0;
    std::string text;
  };
  std::vector<Mark> marks{};
};

}  // namespace iqd::plot
