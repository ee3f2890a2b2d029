// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <span>

#include "base/element.hpp"

/// Solves T c = g for a Hermitian positive definite banded Toeplitz matrix, T[i,j] = t(i - j), t(k) = 0 beyond the
/// band, by Schur's recursion. It computes the columns of the Cholesky factor one after the other from two vectors, so
/// the cost is rows times band (T. Kailath and A. H. Sayed, SIAM Review 37, 1995). Double precision: if a channel
/// leaves parts of the band empty, rounding t to float already changes c by several per cent.
namespace iqd::equalizer {

inline constexpr std::int64_t kRows = 186;
inline constexpr std::int64_t kBand = 38;    // t(0) … t(37)
inline constexpr std::int64_t kStride = 40;  // of a column, padded for vectors

/// The factor, column by column from the diagonal down; a lane's scratch.
struct ToeplitzFactor {
  alignas(64) double re[kRows][kStride];
  alignas(64) double im[kRows][kStride];
};

void solve_toeplitz(std::span<const std::complex<double>, kBand> t, std::span<const cf32, kRows> g,
                    ToeplitzFactor& factor, std::span<cf32, kRows> c) noexcept;

}  // namespace iqd::equalizer
