// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "daemon/plot/figure.hpp"

namespace iqd::plot {

struct Tick {
  double at = 0;
  std::string text;
};

/// Round numbers within the scale: at most `most`, with as many digits as their distance needs. The low end
/// may have the larger value, as of a time that runs down.
std::vector<Tick> ticks_of(const Scale& scale, int most);

/// The unit in which frequencies up to `hz` are shown: Hz, kHz or MHz.
struct FrequencyUnit {
  double hz = 1;
  std::string name = "Hz";
};
FrequencyUnit frequency_unit(double hz);
/// `433.9235 MHz`, to a tenth of `resolution_hz`.
std::string frequency_text(double hz, double resolution_hz);

/// Where a value lies on the scale: 0 at its low end, 1 at its high end; values beyond are at the ends.
double share_of(const Scale& scale, double value);

}  // namespace iqd::plot
