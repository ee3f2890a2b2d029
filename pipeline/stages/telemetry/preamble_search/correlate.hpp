// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/element.hpp"

/// The inner loops of the search, compiled for each CPU instruction set. Every value depends on its own samples alone
/// and is computed by the same operations in the same order at every position; fused multiply-adds are explicit.
namespace iqd::preamble_search {

/// Arrays are padded: this many floats behind their ends may be overwritten.
inline constexpr std::int64_t kMargin = 128;

/// One stretch of the stream. All arrays have `outputs` values; those of samples and their products have `span` more.
struct Tile {
  float* re;
  float* im;
  float* power;   // |c(n)|^2
  float* energy;  // of one period from n on
  float* level;   // L(n), 0 where it is not finite
  float* metric;  // T(n)
};

/// Computes level and metric from re and im, which hold n = outputs + span samples.
void correlate(const cf32* q, std::int64_t period, std::int64_t repeats, const Tile& tile,
               std::int64_t outputs) noexcept;

/// The index of the first largest of n > 0 levels.
std::int64_t find_largest(const float* level, std::int64_t n) noexcept;

/// The first index from `from` on whose metric is at least `threshold`; n if there is none.
std::int64_t find_reaching(const float* metric, std::int64_t from, std::int64_t n, float threshold) noexcept;

/// S: the sync word's share of the energy of n samples.
float share_of_word(const float* re, const float* im, const cf32* s, std::int64_t n, std::int64_t period) noexcept;

}  // namespace iqd::preamble_search
