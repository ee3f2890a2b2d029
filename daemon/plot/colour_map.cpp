// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/colour_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace iqd::plot {
namespace {

constexpr std::array<Rgb, 9> kHeat{{{0, 0, 4},
                                    {31, 12, 72},
                                    {85, 15, 109},
                                    {136, 34, 106},
                                    {186, 54, 85},
                                    {227, 89, 51},
                                    {249, 140, 10},
                                    {249, 201, 50},
                                    {252, 255, 164}}};
constexpr std::array<Rgb, 6> kCurves{
    {{31, 119, 180}, {214, 96, 39}, {44, 150, 80}, {150, 80, 170}, {190, 150, 30}, {90, 90, 90}}};
constexpr std::array<int, 6> kCube{0, 95, 135, 175, 215, 255};
constexpr std::array<Rgb, 16> kBasic{{{0, 0, 0},
                                      {205, 0, 0},
                                      {0, 205, 0},
                                      {205, 205, 0},
                                      {0, 0, 238},
                                      {205, 0, 205},
                                      {0, 205, 205},
                                      {229, 229, 229},
                                      {127, 127, 127},
                                      {255, 0, 0},
                                      {0, 255, 0},
                                      {255, 255, 0},
                                      {92, 92, 255},
                                      {255, 0, 255},
                                      {0, 255, 255},
                                      {255, 255, 255}}};

int distance(Rgb a, Rgb b) {
  const int r = a.r - b.r, g = a.g - b.g, blue = a.b - b.b;
  return r * r + g * g + blue * blue;
}

std::uint8_t between(std::uint8_t a, std::uint8_t b, double share) {
  return static_cast<std::uint8_t>(std::lround(a + share * (b - a)));
}

std::size_t cube_step(int value) {
  const auto nearer = [&](int x, int y) { return std::abs(x - value) < std::abs(y - value); };
  return static_cast<std::size_t>(std::min_element(kCube.begin(), kCube.end(), nearer) - kCube.begin());
}

}  // namespace

Rgb mixed(Rgb a, Rgb b, double share) {
  return {between(a.r, b.r, share), between(a.g, b.g, share), between(a.b, b.b, share)};
}

Rgb heat(double share) {
  const double at = std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0) * (kHeat.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), kHeat.size() - 2);
  return mixed(kHeat[below], kHeat[below + 1], at - static_cast<double>(below));
}

Rgb curve_colour(std::size_t number) {
  return kCurves[number % kCurves.size()];
}

int indexed(Rgb c) {
  const std::size_t r = cube_step(c.r), g = cube_step(c.g), b = cube_step(c.b);
  const auto of = [](std::size_t step) { return static_cast<std::uint8_t>(kCube[step]); };
  const int grey = std::clamp((c.r + c.g + c.b) / 3 - 3, 0, 239) / 10;
  const auto level = static_cast<std::uint8_t>(8 + 10 * std::min(grey, 23));
  if (distance(c, {level, level, level}) < distance(c, {of(r), of(g), of(b)})) return 232 + std::min(grey, 23);
  return static_cast<int>(16 + 36 * r + 6 * g + b);
}

int basic(Rgb c) {
  const auto nearer = [&](Rgb x, Rgb y) { return distance(x, c) < distance(y, c); };
  return static_cast<int>(std::min_element(kBasic.begin(), kBasic.end(), nearer) - kBasic.begin());
}

}  // namespace iqd::plot
