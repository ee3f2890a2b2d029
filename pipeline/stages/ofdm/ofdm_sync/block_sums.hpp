// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/element.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/grid.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/tones.hpp"

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

/// The halves of one antenna at the first `count` grid points; `to`: as in Alikes. Up to a vector more is written.
void compare_halves(const Grid& grid, const Sums& sums, std::int64_t count, float* const (&to)[kAlikes]) noexcept;

/// As find_likeness, without tones. `all`: one per antenna, with zeros before and behind its grid points.
void find_likeness_beside_tones(const Grid& grid, const Alikes* all, std::int64_t places, float* likeness) noexcept;

/// Stretches in kPrefixParts partial sums: as in Stretches, product, energy, first, second.
using StretchParts = float[7][kPrefixParts];

/// Adds samples 0 … count - 1 and those `lag` later. If `count` is no multiple of kPrefixParts, they are the last.
void add_stretches(const float* re, const float* im, std::int64_t lag, std::int64_t count,
                   StretchParts& parts) noexcept;

}  // namespace iqd::ofdm_sync
