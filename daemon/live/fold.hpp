// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace iqd::live {

/// Most bins of a row.
inline constexpr std::size_t kMostBins = 1024;

/// The largest of each group of neighbours; `into` has as many groups, and no more than there are values. Group i has
/// the values from i n / groups on. A NaN counts only if the group has nothing else.
void fold_largest(std::span<const float> values, std::span<float> into) noexcept;
/// In decibels: the mean of the powers of each group.
void fold_mean_db(std::span<const float> db, std::span<float> into) noexcept;

/// Powers to decibels, in place: 0 becomes minus infinity.
void to_db(std::span<float> powers) noexcept;

}  // namespace iqd::live
