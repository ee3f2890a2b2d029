// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/shape.hpp"

namespace iqd {

/// The axes of these dimensions, as `axes` of a message's header has them; `Json` is nlohmann's. `frequency_hz` is the
/// port's frequency. Empty if no dimension has frequencies.
template <class Json> Json axes_json(std::span<const Dim> dims, double frequency_hz) {
  Json axes = Json::object();
  for (const Dim& dim : dims) {
    const Frequencies& of = dim.frequencies;
    if (!of.known()) continue;
    Json& axis = axes[dim.name];
    if (of.values_hz.empty()) {
      axis["first"] = frequency_hz + of.first_hz;
      axis["step"] = of.step_hz;
      if (of.wrap > 0) axis["wrap"] = of.wrap;
    }
    for (const double value : of.values_hz) axis["values"].push_back(frequency_hz + value);
    axis["unit"] = "Hz";
  }
  return axes;
}

}  // namespace iqd
