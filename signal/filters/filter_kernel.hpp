// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace iqd {

/// One phase of a polyphase filter over a tile: y(i) += sum over q = 0 … taps-1 of h(q) x(i - q). A filter that does
/// not decimate has one phase.
struct FilterPhase {
  const float* re;  // h's real parts
  const float* im;  // h's imaginary parts, or null if h is real
  std::int64_t taps;
  const float* x;  // x(0)
};

/// A tile's inputs have to be readable (not valid) this many samples before the taps' reach, and as many after the last
/// output.
inline constexpr std::int64_t kFilterMargin = 16;

/// y(0 … outputs-1), each the sum over all phases, with the same order of operations for any i. A sample is one float,
/// or two if `complex`.
void filter_tile(std::span<const FilterPhase> phases, bool complex, float* y, std::int64_t outputs) noexcept;

/// Floats in a vector of this CPU.
std::int64_t filter_lanes() noexcept;

}  // namespace iqd
