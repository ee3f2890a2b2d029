// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/views.hpp"

namespace iqd::ofdm {

/// Noise relative to the signal: the limit of float arithmetic.
inline constexpr double kLeastNoise = 1e-10;

/// Noise of one antenna from its energy on the empty carriers and from that of the training symbols.
IQD_HOST_DEVICE inline double noise_of(double odd_energy, int odd_carriers, double training_energy,
                                       int training_carriers) noexcept {
  const double alone = odd_energy / odd_carriers, least = kLeastNoise * training_energy / training_carriers;
  return alone > least ? alone : least;
}

}  // namespace iqd::ofdm
