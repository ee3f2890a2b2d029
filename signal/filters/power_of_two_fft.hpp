// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

namespace iqd {

/// X(k) = sum x(n) exp(-j 2 pi n k / size) in double precision, in place, for a power of two of samples: for set-up
/// work such as the transforms of filters. For streams, FftPlan is many times faster.
inline void power_of_two_fft(std::vector<std::complex<double>>& x) {
  const std::size_t size = x.size();
  for (std::size_t n = 1, mirrored = 0; n < size; ++n) {
    std::size_t bit = size / 2;
    for (; mirrored & bit; bit /= 2) mirrored ^= bit;
    mirrored |= bit;
    if (n < mirrored) std::swap(x[n], x[mirrored]);
  }
  std::vector<std::complex<double>> factors(size / 2);
  for (std::size_t k = 0; k < factors.size(); ++k)
    factors[k] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size));
  for (std::size_t half = 1; half < size; half *= 2)
    for (std::size_t begin = 0; begin < size; begin += 2 * half)
      for (std::size_t k = 0; k < half; ++k) {
        const std::complex<double> odd = x[begin + half + k] * factors[k * (size / 2 / half)];
        x[begin + half + k] = x[begin + k] - odd;
        x[begin + k] += odd;
      }
}

}  // namespace iqd
