// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/svg_painter.hpp"

#include <fmt/format.h>

#include <array>

#include "daemon/plot/raster_painter.hpp"

namespace iqd::plot {
namespace {

std::string colour_text(Rgb c) {
  return fmt::format("#{:02x}{:02x}{:02x}", c.r, c.g, c.b);
}

std::string path_of(std::span<const Place2> points) {
  std::string path;
  for (const Place2& p : points) path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "M" : " ", p.x, p.y);
  return path;
}

std::string escaped(std::string_view text) {
  std::string s;
  for (const char c : text) {
    switch (c) {
      case '&': s += "&amp;"; break;
      case '<': s += "&lt;"; break;
      case '>': s += "&gt;"; break;
      default: s += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return s;
}

std::string base64(const std::vector<std::uint8_t>& bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned word = 0;
    for (std::size_t k = 0; k < 3; ++k) word = word << 8 | (i + k < bytes.size() ? bytes[i + k] : 0u);
    for (int k = 3; k >= 0; --k) text += kDigits[word >> (6 * k) & 63];
  }
  for (std::size_t k = 0; k < (3 - bytes.size() % 3) % 3; ++k) text[text.size() - 1 - k] = '=';
  return text;
}

}  // namespace

SvgPainter::SvgPainter(int width, int height)
    : text_(
          fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
                      "font-family=\"Helvetica, Arial, sans-serif\">\n<rect width=\"{0}\" height=\"{1}\" "
                      "fill=\"#ffffff\"/>\n",
                      width, height)) {}

void SvgPainter::line(std::span<const Place2> points, Rgb colour, double width) {
  text_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"/>\n",
                       path_of(points), colour_text(colour), width);
}

void SvgPainter::fill_below(std::span<const Place2> points, double bottom, Rgb colour) {
  if (points.empty()) return;
  text_ += fmt::format("<path d=\"{} {:.1f},{:.1f} {:.1f},{:.1f}Z\" fill=\"{}\"/>\n", path_of(points), points.back().x,
                       bottom, points.front().x, bottom, colour_text(colour));
}

void SvgPainter::box(Place2 corner, double width, double height, Rgb colour) {
  text_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n", corner.x,
                       corner.y, width, height, colour_text(colour));
}

void SvgPainter::text(Place2 at, std::string_view text, double size, Rgb colour, Anchor anchor, bool upright) {
  static constexpr std::array<const char*, 3> kAnchors{"start", "middle", "end"};
  const std::string turned = upright ? fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", at.x, at.y) : "";
  text_ +=
      fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", at.x,
                  at.y, size, colour_text(colour), kAnchors[static_cast<std::size_t>(anchor)], turned, escaped(text));
}

void SvgPainter::image(Place2 corner, double width, double height, const Pixels& pixels) {
  text_ += fmt::format(
      "<image x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" preserveAspectRatio=\"none\" "
      "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>\n",
      corner.x, corner.y, width, height, base64(png_of(pixels)));
}

}  // namespace iqd::plot
