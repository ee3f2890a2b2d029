// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "daemon/plot/painter.hpp"

namespace iqd::plot {

/// The strokes of a text in a font of our own, so that pictures need no font of the host. Heights: 1 is that of capital
/// letters; y is 0 at the base line and grows downwards. Characters other than ASCII become `?`.
std::vector<std::vector<Place2>> strokes_of(std::string_view text);
/// The width of a text.
double stroke_width_of(std::string_view text);

}  // namespace iqd::plot
