// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "signal/filters/polyphase.hpp"

namespace iqd {

/// The taps as polyphase_outputs() needs them: each is repeated for each float of a sample.
struct PolyphaseRows {
  const float* first;   // [row][floats]: real parts
  const float* second;  // the same: imaginary parts, or null; if `between`, the difference to the next row
  std::int64_t floats;  // per row
  std::int64_t rows;
  std::int64_t short_from;
  Ratio ratio;
  bool between;
};

/// y(0 … outputs-1); the first is at `place`. `at` counts from x, which has the oldest input for a place at 0. A sample
/// is one float, or two if `complex`. The order of operations is the same for each output.
void polyphase_outputs(const PolyphaseRows& h, bool complex, const float* x, PolyphasePlace place, float* y,
                       std::int64_t outputs) noexcept;

}  // namespace iqd
