// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pipeline/stages/ofdm/mimo_channel_estimator/limits.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"

namespace iqd::mimo_channel_estimator {

template <class T> const T& at(const std::vector<T>& table, std::int64_t index) noexcept {
  return table[static_cast<std::size_t>(index)];
}

std::int64_t delays_of(const Config& config) noexcept;

/// Sets `design.joint`, after the rest of the design, whose carriers and signs it uses.
void design_track(const Config& config, double symbol_seconds, Design& design);

/// The inner products of the equations' columns depend only on the difference of two delays. They are tables of lags
/// -(delays - 1) … delays - 1, for functions j <= k and antennas a, b: index [j][k][a][b][lag], packed in j <= k;
/// sum over symbols s and carriers c of phi_j(s) phi_k(s) weight(c) conj(x_a) x_b exp(-2 pi j f(c) tau_lag / fft).
struct LagTables {
  float* re;
  float* im;
  double* band_re;  // [delay]: the sum over the carriers alone
  double* band_im;
};
/// `weights`: [carrier]; null if all are 1. `trainings`: symbols of them that count. `work`: lag_work floats.
void fill_lags(const Design& design, const float* weights, int trainings, float* work, const LagTables& to) noexcept;
std::int64_t lag_work(const Design& design) noexcept;

/// The same from the training and what is known of the data, whose products are correlated with each delay:
/// soft[symbol behind][a][b][delay_pitch] = sum over carriers of weight conj(x_a) x_b exp(2 pi j f(c) tau / fft). The bands
/// are inputs.
void fill_soft_lags(const Design& design, const float* soft_re, const float* soft_im, int trainings,
                    const LagTables& to) noexcept;
std::int64_t soft_lags(const Design& design) noexcept;

}  // namespace iqd::mimo_channel_estimator
