// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pipeline/stages/ofdm/mimo_channel_estimator/frame_channel.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/soft_symbols.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/track_design.hpp"
#include "signal/estimates/delay_sums.hpp"
#include "signal/estimates/hermitian_system.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::mimo_channel_estimator {

/// Estimates the channel at all times of a frame together: README.md, "A channel that moves". Single precision, with
/// memory for one frame.
class Tracker {
 public:
  Tracker(const Design& design, Scratch& scratch);

  /// `frame`: [symbol][carrier][rx] with those of the next, with noise of variance 1 at every antenna. `weights`:
  /// [carrier], null if all are 1.
  /// `antennas`: those that are not silent. `soft`: what is known of the data, or null.
  void estimate(const cf32* frame, const float* weights, int antennas, const SoftSymbols* soft) noexcept;

  FrameChannel channel() const noexcept { return {t_.functions, t_.phi.data(), t_.data_phi.data(), parts_}; }
  /// Of symbols behind the training, against the channel.
  const float* phases() const noexcept { return phases_; }
  /// What is not known of the channel at symbol s behind the training, as noise.
  float unknown(int s) const noexcept;
  /// The share of the channel's amplitude that moves.
  float doppler() const noexcept;

 private:
  void correlate(const cf32* frame, const float* weights) noexcept;
  void correlate_midambles(const cf32* frame, const float* weights) noexcept;
  void judge_tail(const cf32* frame, const float* weights) noexcept;
  void set_lags(const float* weights) noexcept;
  void correlate_soft(const cf32* frame, const float* weights, const SoftSymbols& soft) noexcept;
  void learn_delays(double power, int antennas) noexcept;
  void set_delays() noexcept;
  void choose() noexcept;
  void set_sides() noexcept;
  void set_equations() noexcept;
  void solve() noexcept;
  void learn_powers(int antennas) noexcept;
  void fit(int steps, int antennas) noexcept;
  void turn_back() noexcept;
  void set_parts(const float* turn_re, const float* turn_im, std::int64_t rows, cf32* parts) noexcept;
  void measure_phases(const cf32* frame, const float* weights) noexcept;
  double power_of(const cf32* frame, const float* weights, int antennas) const noexcept;

  std::int64_t most_values() const noexcept;
  std::int64_t most_order() const noexcept;
  int kept(int function) const noexcept { return first_of_[function + 1] - first_of_[function]; }
  float prior(int function, int delay) const noexcept { return weights_[function] * powers_[delay]; }
  /// Of column (function k, antenna a, n-th delay kept).
  std::int64_t place(int k, int a, int n) const noexcept {
    return std::int64_t{first_of_[k]} * e_.tx + a * kept(k) + n;
  }

  const Design& design_;
  const TrackDesign& t_;
  const Extents e_;
  std::int64_t width_;  // floats of a carrier's parts, a plane of whole vectors
  // What the frame's known places say.
  MirroredValue* mirrored_;           // [carrier of the lower half][training][rx]: to be correlated
  cf32* values_;                      // [carrier][column]: the same
  double *trained_re_, *trained_im_;  // [training][rx][delay_pitch]
  int trainings_ = 0;                 // that count in this frame: with those of the next, or without
  float *piloted_re_, *piloted_im_;   // [symbol behind][tx][rx][delay_pitch]
  LagTables lags_{};                  // of this frame, if carriers count differently
  float* lag_work_;
  float *soft_re_, *soft_im_;  // [symbol behind][a][b][delay_pitch]: what the data's products are correlated to
  bool knows_data_ = false;
  const float *lag_re_ = nullptr, *lag_im_ = nullptr;
  const double *band_re_ = nullptr, *band_im_ = nullptr;
  // What is learned.
  float* powers_;                           // [delay]
  HermitianSystemOf<double> delay_factor_;  // of the equations of the training alone
  double *delay_g_re_, *delay_g_im_;        // [rx][tx][pitch]
  double* delay_variance_;                  // [delay]
  float weights_[kMostFunctions] = {};
  // Unknowns: of each function, the delays that are kept.
  std::int32_t* delay_;  // [unknown / tx]
  std::int32_t first_of_[kMostFunctions + 1] = {};
  std::int32_t* is_used_;      // [delay]: how many functions keep it
  std::int32_t* used_;         // the delays that are
  HermitianSystem equations_;  // without the prior
  HermitianSystem factor_;
  float *g_re_, *g_im_;        // [rx][pitch]
  float* variance_;            // [unknown]
  float *wide_re_, *wide_im_;  // [delay][width_]: g by delay
  float* sums_;                // [delay]
  cf32* parts_;                // [carrier][function][rx][tx]
  cf32* pilot_parts_;          // [pilot][function][rx][tx]
  float* phases_;              // [symbol behind]
};

}  // namespace iqd::mimo_channel_estimator
