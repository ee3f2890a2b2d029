// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/plot/colour_map.hpp"

namespace iqd::plot {

/// Pixels in rows from the top.
struct Pixels {
  int width = 0;
  int height = 0;
  std::vector<Rgb> colours{};

  Pixels() = default;
  Pixels(int w, int h, Rgb colour = {255, 255, 255})
      : width(w), height(h), colours(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), colour) {}
  Rgb& at(int x, int y) {
    return colours[static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)];
  }
};

struct Place2 {
  double x = 0;
  double y = 0;
};

enum class Anchor : std::uint8_t { start, middle, end };

/// Draws a picture. Coordinates are pixels from the upper left corner.
class Painter {
 public:
  virtual ~Painter() = default;
  virtual void line(std::span<const Place2> points, Rgb colour, double width) = 0;
  /// Fills the area between the line and `bottom`.
  virtual void fill_below(std::span<const Place2> points, double bottom, Rgb colour) = 0;
  virtual void box(Place2 corner, double width, double height, Rgb colour) = 0;
  /// `at` is on the base line; `upright`: reads upwards.
  virtual void text(Place2 at, std::string_view text, double size, Rgb colour, Anchor anchor, bool upright) = 0;
  /// Stretched to this size, without smoothing.
  virtual void image(Place2 corner, double width, double height, const Pixels& pixels) = 0;
};

}  // namespace iqd::plot
