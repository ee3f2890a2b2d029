// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/plot/painter.hpp"

namespace iqd::plot {

/// Paints pixels, with smooth edges.
class RasterPainter final : public Painter {
 public:
  RasterPainter(int width, int height) : pixels_(width, height) {}
  const Pixels& pixels() const noexcept { return pixels_; }

  void line(std::span<const Place2> points, Rgb colour, double width) override;
  void fill_below(std::span<const Place2> points, double bottom, Rgb colour) override;
  void box(Place2 corner, double width, double height, Rgb colour) override;
  void text(Place2 at, std::string_view text, double size, Rgb colour, Anchor anchor, bool upright) override;
  void image(Place2 corner, double width, double height, const Pixels& pixels) override;

 private:
  void segment(Place2 a, Place2 b, Rgb colour, double width);
  void blend(int x, int y, Rgb colour, double share);

  Pixels pixels_;
};

/// Writes a PNG file, or makes one in memory. Throws SetupError.
void write_png(const std::string& path, const Pixels& pixels);
std::vector<std::uint8_t> png_of(const Pixels& pixels);

}  // namespace iqd::plot
