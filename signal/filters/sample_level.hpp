// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/element.hpp"

namespace iqd {

/// How strong samples are, in the unit of their parts.
struct SampleLevel {
  double square_sum = 0;     // of |x|²
  double peak = 0;           // the largest |real part| or |imaginary part|
  std::int64_t clipped = 0;  // samples of which a part is at the end of what the converter can give
  std::int64_t samples = 0;
};

/// Adds these samples. A part is clipped at `full_scale - 1` and above, or at -(full_scale - 1) and below: of 32768
/// that is 32767, -32767 and -32768. Up to 2^31 samples at once.
void add_level(std::span<const sc16> x, int full_scale, SampleLevel& level) noexcept;
/// The same, clipped at `full_scale` and beyond; at infinity nothing is. A part that is infinite or no number is not
/// clipped, and 0 in the sums, as is one beyond 1e18.
void add_level(std::span<const cf32> x, float full_scale, SampleLevel& level) noexcept;

}  // namespace iqd
