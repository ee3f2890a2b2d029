// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace iqd {

/// One phase of a polyphase filter over a tile: y(i) += sum over q = 0 … taps-1 of h(q) x(i - q). A filter that does
/// not decimate has one.
struct FilterPhase {
  const float* re;  // h's real parts
  const float* im;  // h's imaginary parts, or null where it is real
  std::int64_t taps;
  const float* x;  // x(0)
};

/// A tile's inputs have to be readable (not valid) this many samples further back than the taps reach, and as many
/// beyond the last output.
inline constexpr std::int64_t kFilterMargin = 16;

/// y(0 … outputs-1), each the sum over all phases, in the same order of operations for any i. Samples are one float, or
/// two where `complex`.
void filter_tile(std::span<const FilterPhase> phases, bool complex, float* y, std::int64_t outputs) noexcept;

/// Floats in a vector of this processor.
std::int64_t filter_lanes() noexcept;

}  // namespace iqd
