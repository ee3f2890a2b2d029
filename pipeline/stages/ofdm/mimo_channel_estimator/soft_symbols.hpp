// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pipeline/stages/ofdm/mimo_channel_estimator/limits.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::mimo_channel_estimator {

/// What was sent behind the training of a frame, as far as it is known: pilots, midambles, and data by their LLRs. `s`:
/// symbol behind the training.
class SoftSymbols {
 public:
  SoftSymbols(const Design& design, Scratch& scratch);

  /// The LLRs are [data carrier][data symbol][tx][bit].
  void read(const Decoded& data) noexcept;

  /// The mean of what each antenna sends: [tx].
  const cf32* mean(int carrier, int s) const noexcept { return mean_ + place(carrier, s) * e_.tx; }
  /// The variance, sum over the antennas.
  float doubt(int carrier, int s) const noexcept { return doubt_[place(carrier, s)]; }
  /// Known well enough to take a residual from.
  bool is_known(int carrier, int s) const noexcept {
    return doubt(carrier, s) < kMostDoubt * static_cast<float>(e_.tx);
  }

 private:
  std::int64_t place(int carrier, int s) const noexcept { return std::int64_t{carrier} * e_.behind() + s; }

  const Design& design_;
  const Extents e_;
  cf32* mean_;    // [carrier][symbol behind][tx]
  float* doubt_;  // [carrier][symbol behind]
};

}  // namespace iqd::mimo_channel_estimator
