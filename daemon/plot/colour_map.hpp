// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace iqd::plot {

struct Rgb {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
  friend bool operator==(const Rgb&, const Rgb&) = default;
};

/// From black over purple and orange to a light yellow, evenly in brightness; `share` is 0 to 1.
Rgb heat(double share);
/// Colours of curves, in turn.
Rgb curve_colour(std::size_t number);
Rgb mixed(Rgb a, Rgb b, double share_of_b);
/// The nearest of the 256 colours of a terminal.
int indexed(Rgb colour);
/// The nearest of its 16 basic colours.
int basic(Rgb colour);

}  // namespace iqd::plot
