// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/normal_equations_cpu.hpp"

#include <algorithm>
#include <span>

namespace iqd::equalizer {

static_assert(kRows == kTaps && kBand == kChannelTaps);

NormalEquations::NormalEquations(Scratch& scratch)
    : factor_(scratch.take<ToeplitzFactor>(1)),
      matched_(scratch.take<cf32>(kTaps)),
      lags_(scratch.take<std::complex<double>>(kChannelTaps)) {}

void NormalEquations::set_channel(const cf32* h) noexcept {
  for (std::int64_t k = 0; k < kChannelTaps; ++k) {
    double re = 0;
    double im = 0;
    for (std::int64_t n = k; n < kChannelTaps; ++n) {
      const std::complex<double> x = h[n];
      const std::complex<double> y = h[n - k];
      re += x.real() * y.real() + x.imag() * y.imag();
      im += x.imag() * y.real() - x.real() * y.imag();
    }
    lags_[k] = {re, im};
  }
  std::fill_n(matched_, kTaps, cf32());
  for (std::int64_t i = 0; i < kChannelTaps; ++i) matched_[-kFirst - kChannelFirst - i] = std::conj(h[i]);
}

void NormalEquations::solve(double load, cf32* taps) noexcept {
  const std::complex<double> energy = lags_[0];
  lags_[0] += std::max(load, kLeastLoad * energy.real());
  solve_toeplitz(std::span<const std::complex<double>, kBand>(lags_, kBand),
                 std::span<const cf32, kRows>(matched_, kRows), *factor_, std::span<cf32, kRows>(taps, kRows));
  lags_[0] = energy;
}

}  // namespace iqd::equalizer
