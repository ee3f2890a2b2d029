// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/element.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/grid.hpp"

/// The loops that touch every sample, compiled for each kind of processor. Nothing is fused, and sums have one order
/// wherever they stand, so that all processors and devices give the same bits.
namespace iqd::ofdm_sync {

/// Arrays of sums and of M may be read or written so many floats behind their ends.
inline constexpr std::int64_t kMargin = 128;

void split(const cf32* x, std::int64_t n, float* re, float* im) noexcept;
void split(const sc16* x, std::int64_t n, float* re, float* im) noexcept;

/// Sums of `count` steps one behind the other, from count step + L samples: eight partial sums (as many as a step has,
/// where that is less), of every eighth sample, then halves onto each other. `sums`: as in Sums.
void sum_blocks(const float* re, const float* im, const Grid& grid, std::int64_t count,
                float* const (&sums)[kSums]) noexcept;

/// M of the first `places` places; `sums`: one an antenna.
void find_likeness(const Grid& grid, const Sums* sums, std::int64_t places, float* likeness) noexcept;

}  // namespace iqd::ofdm_sync
