// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>

#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"
#include "pipeline/stages/telemetry/equalizer/toeplitz.hpp"
#include "signal/filters/scratch.hpp"

/// Linear equalizers on the CPU.
namespace iqd::equalizer {

/// The equations for the taps of a channel's equalizer, (R + load I) c = h*(-k), in a lane's scratch.
class NormalEquations {
 public:
  explicit NormalEquations(Scratch& scratch);
  /// Computes r_h and h*(-k) of the channel, [38].
  void set_channel(const cf32* h) noexcept;
  /// |h|^2
  double energy() const noexcept { return lags_[0].real(); }
  /// A load of less than kLeastLoad |h|^2 counts as that. Writes 186 taps.
  void solve(double load, cf32* taps) noexcept;

 private:
  ToeplitzFactor* factor_;
  cf32* matched_;               // h*(-k)
  std::complex<double>* lags_;  // r_h
};

}  // namespace iqd::equalizer
