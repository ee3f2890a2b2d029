// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/element.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/grid.hpp"

/// The loops that touch every sample, compiled for each CPU instruction set. Nothing is fused, and the order of sums
/// does not depend on the position, so that all CPUs and GPUs give the same bits.
namespace iqd::ofdm_sync {

/// Arrays of sums and of M are padded: this many floats behind their ends may be read or written.
inline constexpr std::int64_t kMargin = 128;

/// Sums of `count` consecutive steps, from count step + L samples: eight partial sums (or as many as a step has
/// samples, if that is fewer), each of every eighth sample, which are then added by halves. `sums`: as in Sums.
void sum_blocks(const float* re, const float* im, const Grid& grid, std::int64_t count,
                float* const (&sums)[kSums]) noexcept;

/// M of the first `places` grid points; `sums`: one per antenna.
void find_likeness(const Grid& grid, const Sums* sums, std::int64_t places, float* likeness) noexcept;

}  // namespace iqd::ofdm_sync
