// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/element.hpp"

namespace iqd {

/// Level of samples, in the unit of their parts.
struct SampleLevel {
  double square_sum = 0;     // of |x|²
  double peak = 0;           // the largest |real part| or |imaginary part|
  std::int64_t clipped = 0;  // samples with a part at the end of the converter's range
  std::int64_t samples = 0;
};

/// Adds samples. A part is clipped at `full_scale - 1` and above, or at -(full_scale - 1) and below: for 32768 that is
/// 32767, -32767 and -32768. At most 2^31 samples at once.
void add_level(std::span<const sc16> x, int full_scale, SampleLevel& level) noexcept;
/// The same, but clipped at `full_scale` and beyond; at infinity nothing is. A part that is infinite or NaN is not
/// clipped and counts as 0 in the sums, as does one beyond 1e18.
void add_level(std::span<const cf32> x, float full_scale, SampleLevel& level) noexcept;

}  // namespace iqd
