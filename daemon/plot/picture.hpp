// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "daemon/plot/figure.hpp"
#include "daemon/plot/painter.hpp"

namespace iqd::plot {

struct PictureSize {
  int width = 1200;
  int height = 700;
};

/// Paints the figure with axes, grid lines, a title and a note.
void paint(const Figure& figure, PictureSize size, Painter& painter);

/// Whether the name ends with .png or .svg.
bool is_picture(const std::string& path);
/// Writes the figure as PNG or SVG, by the ending of the name. Throws SetupError.
void write_picture(const std::string& path, const Figure& figure, PictureSize size);

}  // namespace iqd::plot
