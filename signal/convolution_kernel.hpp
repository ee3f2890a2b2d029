// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/element.hpp"

namespace iqd {

/// Inputs have to be readable so many samples beyond the last output's.
inline constexpr std::int64_t kConvolutionMargin = 32;

/// y(i) = sum over k = 0 … taps-1 of h(k) x(i - k), i = 0 … outputs-1; x is readable from 1 - taps on.
void convolve_directly(const cf32* x, const cf32* h, std::int64_t taps, cf32* y, std::int64_t outputs) noexcept;

}  // namespace iqd
