// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "signal/filters/polyphase.hpp"

namespace iqd {

/// The taps as polyphase_outputs() takes them: each is there once for each float of a sample.
struct PolyphaseRows {
  const float* first;   // [row][floats]: real parts
  const float* second;  // the same: imaginary parts, or null; where `between` the way to the next row
  std::int64_t floats;  // of a row
  std::int64_t rows;
  std::int64_t short_from;
  Ratio ratio;
  bool between;
};

/// y(0 … outputs-1), of which the first lies at `place`: `at` counts from x, where the oldest input of a place at 0 is.
/// Samples are one float, or two where `complex`. The same order of operations for each.
void polyphase_outputs(const PolyphaseRows& h, bool complex, const float* x, PolyphasePlace place, float* y,
                       std::int64_t outputs) noexcept;

}  // namespace iqd
