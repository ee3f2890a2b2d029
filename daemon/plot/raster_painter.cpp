// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/raster_painter.hpp"

#include <algorithm>
#include <cmath>

#include "daemon/plot/stroke_font.hpp"

namespace iqd::plot {

void RasterPainter::blend(int x, int y, Rgb colour, double share) {
  if (x < 0 || y < 0 || x >= pixels_.width || y >= pixels_.height || share <= 0) return;
  Rgb& pixel = pixels_.at(x, y);
  pixel = mixed(pixel, colour, std::min(share, 1.0));
}

/// A line with round ends: what part of a pixel it covers is taken from its distance.
void RasterPainter::segment(Place2 a, Place2 b, Rgb colour, double width) {
  const double half = width / 2, reach = half + 1;
  const int x0 = static_cast<int>(std::floor(std::min(a.x, b.x) - reach));
  const int x1 = static_cast<int>(std::ceil(std::max(a.x, b.x) + reach));
  const int y0 = static_cast<int>(std::floor(std::min(a.y, b.y) - reach));
  const int y1 = static_cast<int>(std::ceil(std::max(a.y, b.y) + reach));
  const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  for (int y = std::max(y0, 0); y <= std::min(y1, pixels_.height - 1); ++y)
    for (int x = std::max(x0, 0); x <= std::min(x1, pixels_.width - 1); ++x) {
      const double px = x + 0.5 - a.x, py = y + 0.5 - a.y;
      const double along = length > 0 ? std::clamp((px * dx + py * dy) / length, 0.0, 1.0) : 0;
      const double distance = std::hypot(px - along * dx, py - along * dy);
      blend(x, y, colour, std::clamp(half + 0.5 - distance, 0.0, 1.0));
    }
}

void RasterPainter::line(std::span<const Place2> points, Rgb colour, double width) {
  if (points.size() == 1) segment(points[0], points[0], colour, width);
  for (std::size_t i = 1; i < points.size(); ++i) segment(points[i - 1], points[i], colour, width);
}

void RasterPainter::fill_below(std::span<const Place2> points, double bottom, Rgb colour) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Place2 a = points[i - 1], b = points[i];
    // Each column belongs to the segment that its middle is in.
    for (int x = static_cast<int>(std::ceil(a.x - 0.5)); x + 0.5 < b.x; ++x) {
      const double share = b.x > a.x ? (x + 0.5 - a.x) / (b.x - a.x) : 0;
      const double top = a.y + share * (b.y - a.y);
      for (int y = static_cast<int>(std::floor(top)); y < static_cast<int>(std::lround(bottom)); ++y)
        blend(x, y, colour, std::clamp(y + 1 - top, 0.0, 1.0));
    }
  }
}

void RasterPainter::box(Place2 corner, double width, double height, Rgb colour) {
  const int x0 = static_cast<int>(std::lround(corner.x)), x1 = static_cast<int>(std::lround(corner.x + width));
  const int y0 = static_cast<int>(std::lround(corner.y)), y1 = static_cast<int>(std::lround(corner.y + height));
  for (int y = y0; y < y1; ++y)
    for (int x = x0; x < x1; ++x) blend(x, y, colour, 1);
}

void RasterPainter::text(Place2 at, std::string_view text, double size, Rgb colour, Anchor anchor, bool upright) {
  const double height = 0.72 * size;  // of capital letters
  const double width = stroke_width_of(text) * height;
  const double left = anchor == Anchor::start ? 0 : anchor == Anchor::middle ? -width / 2 : -width;
  for (std::vector<Place2>& stroke : strokes_of(text)) {
    for (Place2& p : stroke) {
      const double along = left + p.x * height, across = p.y * height;
      p = upright ? Place2{at.x + across, at.y - along} : Place2{at.x + along, at.y + across};
    }
    line(stroke, colour, std::max(1.0, size / 11));
  }
}

void RasterPainter::image(Place2 corner, double width, double height, const Pixels& from) {
  const int x0 = static_cast<int>(std::lround(corner.x)), y0 = static_cast<int>(std::lround(corner.y));
  const int w = static_cast<int>(std::lround(width)), h = static_cast<int>(std::lround(height));
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      const auto index = static_cast<std::size_t>(static_cast<std::int64_t>(y) * from.height / h) *
                             static_cast<std::size_t>(from.width) +
                         static_cast<std::size_t>(static_cast<std::int64_t>(x) * from.width / w);
      blend(x0 + x, y0 + y, from.colours[index], 1);
    }
}

}  // namespace iqd::plot
