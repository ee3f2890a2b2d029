// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "daemon/plot/painter.hpp"

namespace iqd::plot {

/// Writes the elements of an SVG document.
class SvgPainter final : public Painter {
 public:
  SvgPainter(int width, int height);
  /// The whole document.
  std::string document() const { return text_ + "</svg>\n"; }

  void line(std::span<const Place2> points, Rgb colour, double width) override;
  void fill_below(std::span<const Place2> points, double bottom, Rgb colour) override;
  void box(Place2 corner, double width, double height, Rgb colour) override;
  void text(Place2 at, std::string_view text, double size, Rgb colour, Anchor anchor, bool upright) override;
  /// As a PNG within the document.
  void image(Place2 corner, double width, double height, const Pixels& pixels) override;

 private:
  std::string text_;
};

}  // namespace iqd::plot
