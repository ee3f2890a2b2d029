// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "base/error.hpp"
#include "daemon/plot/axis.hpp"
#include "daemon/plot/raster_painter.hpp"
#include "daemon/plot/svg_painter.hpp"

namespace iqd::plot {
namespace {

constexpr Rgb kInk{40, 40, 40};
constexpr Rgb kFrame{120, 120, 120};
constexpr Rgb kGridLine{224, 224, 224};
constexpr Rgb kMarkColour{200, 60, 30};
constexpr double kText = 15;

class Picture {
 public:
  Picture(const Figure& figure, PictureSize size, Painter& painter)
      : figure_(figure), painter_(painter), size_(size), left_(84), top_(48) {
    right_ = size.width - (figure.kind == Figure::Kind::grid ? 110 : 28);
    bottom_ = size.height - 92;
    if (figure.kind == Figure::Kind::points) {
      // The same scale in both directions.
      const double side = std::min(right_ - left_, bottom_ - top_);
      right_ = left_ + side;
      bottom_ = top_ + side;
    }
  }
  void paint() {
    switch (figure_.kind) {
      case Figure::Kind::grid: grid(); break;
      case Figure::Kind::points: grid_lines(), points(); break;
      case Figure::Kind::curves: grid_lines(), curves(); break;
    }
    axes();
    for (const Figure::Mark& m : figure_.marks) mark(m);
    painter_.text({left_, top_ - 18}, figure_.title, 1.2 * kText, kInk, Anchor::start, false);
    painter_.text({left_, size_.height - 14.0}, figure_.note, kText, kInk, Anchor::start, false);
  }

 private:
  double x_of(double value) const { return left_ + share_of(figure_.x, value) * (right_ - left_); }
  double y_of(double value) const { return bottom_ - share_of(figure_.y, value) * (bottom_ - top_); }
  std::vector<Tick> x_ticks() const {
    return ticks_of(figure_.x, std::max(2, static_cast<int>((right_ - left_) / 90)));
  }
  std::vector<Tick> y_ticks() const {
    return ticks_of(figure_.y, std::max(2, static_cast<int>((bottom_ - top_) / 45)));
  }

  void straight(Place2 a, Place2 b, Rgb colour, double width) { painter_.line(std::array{a, b}, colour, width); }

  void grid_lines() {
    for (const Tick& t : x_ticks()) straight({x_of(t.at), top_}, {x_of(t.at), bottom_}, kGridLine, 1);
    for (const Tick& t : y_ticks()) straight({left_, y_of(t.at)}, {right_, y_of(t.at)}, kGridLine, 1);
  }

  void axes() {
    painter_.line(
        std::array<Place2, 5>{{{left_, top_}, {right_, top_}, {right_, bottom_}, {left_, bottom_}, {left_, top_}}},
        kFrame, 1);
    for (const Tick& t : x_ticks()) {
      straight({x_of(t.at), bottom_}, {x_of(t.at), bottom_ + 6}, kFrame, 1);
      painter_.text({x_of(t.at), bottom_ + 22}, t.text, kText, kInk, Anchor::middle, false);
    }
    for (const Tick& t : y_ticks()) {
      straight({left_ - 6, y_of(t.at)}, {left_, y_of(t.at)}, kFrame, 1);
      painter_.text({left_ - 10, y_of(t.at) + 0.36 * kText}, t.text, kText, kInk, Anchor::end, false);
    }
    painter_.text({(left_ + right_) / 2, bottom_ + 46}, figure_.x.label, kText, kInk, Anchor::middle, false);
    painter_.text({22, (top_ + bottom_) / 2}, figure_.y.label, kText, kInk, Anchor::middle, true);
  }

  /// At most two points for each pixel: the largest value counts, so that no line is missed.
  std::vector<Place2> points_of(const Curve& curve) const {
    const std::size_t n = curve.values.size();
    const std::size_t most = std::max<std::size_t>(2, 2 * static_cast<std::size_t>(right_ - left_));
    const std::size_t each = std::max<std::size_t>(1, (n + most - 1) / most);
    std::vector<Place2> points;
    for (std::size_t i = 0; i < n; i += each) {
      const auto end = std::min(i + each, n);
      std::size_t at = i;
      for (std::size_t k = i; k < end; ++k)
        if (!(curve.values[at] >= curve.values[k])) at = k;
      if (!std::isfinite(curve.values[at])) continue;
      const double share = n > 1 ? static_cast<double>(at) / static_cast<double>(n - 1) : 0;
      points.push_back({left_ + share * (right_ - left_), y_of(static_cast<double>(curve.values[at]))});
    }
    return points;
  }

  void curves() {
    for (std::size_t c = 0; c < figure_.curves.size(); ++c) {
      const std::vector<Place2> points = points_of(figure_.curves[c]);
      const Rgb colour = curve_colour(c);
      if (figure_.filled) painter_.fill_below(points, bottom_, mixed({255, 255, 255}, colour, 0.25));
      painter_.line(points, colour, 1.5);
    }
    double x = right_;
    for (std::size_t c = figure_.curves.size(); figure_.curves.size() > 1 && c-- > 0;) {
      const std::string& name = figure_.curves[c].name;
      painter_.text({x, top_ - 18}, name, kText, curve_colour(c), Anchor::end, false);
      x -= 0.68 * kText * static_cast<double>(name.size()) + 24;
    }
  }

  Pixels pixels_of(const Grid& grid) const {
    // Columns that the picture cannot show are combined: the largest value counts.
    const int width = std::min(grid.columns, static_cast<int>(right_ - left_));
    Pixels pixels(width, grid.rows);
    for (int y = 0; y < grid.rows; ++y)
      for (int x = 0; x < width; ++x) {
        const int begin = static_cast<int>(static_cast<std::int64_t>(x) * grid.columns / width);
        const int end = static_cast<int>(static_cast<std::int64_t>(x + 1) * grid.columns / width);
        float most = grid.at(begin, y);
        for (int k = begin; k < end; ++k)
          if (!(most >= grid.at(k, y))) most = grid.at(k, y);
        pixels.at(x, y) = heat(share_of(figure_.colour, static_cast<double>(most)));
      }
    return pixels;
  }

  void grid() {
    if (figure_.grid.rows > 0) painter_.image({left_, top_}, right_ - left_, bottom_ - top_, pixels_of(figure_.grid));
    const double x = right_ + 24, width = 18;
    Pixels bar(1, 256);
    for (int i = 0; i < 256; ++i) bar.at(0, i) = heat((255 - i) / 255.0);
    painter_.image({x, top_}, width, bottom_ - top_, bar);
    for (const Tick& t : ticks_of(figure_.colour, 8)) {
      const double y = bottom_ - share_of(figure_.colour, t.at) * (bottom_ - top_);
      painter_.text({x + width + 6, y + 0.36 * kText}, t.text, kText, kInk, Anchor::start, false);
    }
    painter_.text({x, top_ - 18}, figure_.colour.label, kText, kInk, Anchor::start, false);
  }

  /// Many points at a place are darker.
  void points() {
    constexpr int kCells = 320;
    std::vector<int> count(static_cast<std::size_t>(kCells * kCells));
    const auto cell = [](double share) { return std::min(kCells - 1, static_cast<int>(share * kCells)); };
    for (const Figure::Point& p : figure_.points) {
      const int x = cell(share_of(figure_.x, static_cast<double>(p.x)));
      const int y = cell(1 - share_of(figure_.y, static_cast<double>(p.y)));
      ++count[static_cast<std::size_t>(y) * kCells + static_cast<std::size_t>(x)];
    }
    const double most = std::log1p(*std::ranges::max_element(count));
    const double w = (right_ - left_) / kCells, h = (bottom_ - top_) / kCells;
    for (int i = 0; i < kCells * kCells; ++i) {
      const int n = count[static_cast<std::size_t>(i)];
      if (n == 0) continue;
      const Place2 middle{left_ + (i % kCells + 0.5) * w, top_ + (i / kCells + 0.5) * h};
      const Rgb colour = mixed({120, 180, 230}, {20, 40, 120}, std::log1p(n) / most);
      painter_.line(std::array{middle, Place2{middle.x + 0.01, middle.y}}, colour, std::max(w, 2.5));
    }
  }

  void mark(const Figure::Mark& m) {
    const Place2 at{x_of(m.x), y_of(m.y)};
    const bool to_the_left = at.x > (left_ + right_) / 2;
    const double y = std::max(at.y - 6, top_ + 16);
    painter_.line(std::array{at, Place2{at.x + 0.01, at.y}}, kMarkColour, 7);
    painter_.text({at.x + (to_the_left ? -10 : 10), y}, m.text, kText, kMarkColour,
                  to_the_left ? Anchor::end : Anchor::start, false);
  }

  const Figure& figure_;
  Painter& painter_;
  PictureSize size_;
  double left_, top_, right_, bottom_;
};

}  // namespace

void paint(const Figure& figure, PictureSize size, Painter& painter) {
  Picture(figure, size, painter).paint();
}

bool is_picture(const std::string& path) {
  return path.ends_with(".png") || path.ends_with(".svg");
}

void write_picture(const std::string& path, const Figure& figure, PictureSize size) {
  if (path.ends_with(".png")) {
    RasterPainter painter(size.width, size.height);
    paint(figure, size, painter);
    return write_png(path, painter.pixels());
  }
  SvgPainter painter(size.width, size.height);
  paint(figure, size, painter);
  std::ofstream out(path, std::ios::trunc);
  out << painter.document();
  out.close();
  if (!out) throw SetupError(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
}

}  // namespace iqd::plot
