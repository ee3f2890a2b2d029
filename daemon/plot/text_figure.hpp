// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/plot/figure.hpp"
#include "daemon/terminal/terminal.hpp"

namespace iqd::plot {

/// The figure as lines for a terminal of this size: a title, the plot with both axes, a note. Blocks and braille dots
/// without colours, too.
std::vector<std::string> text_figure(const Figure& figure, terminal::Size size, terminal::Colours colours);

}  // namespace iqd::plot
