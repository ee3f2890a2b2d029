// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pipeline/stages/ofdm/mimo_channel_estimator/frame_channel.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/frame_fit.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::mimo_channel_estimator {

/// Estimates the channel of one frame as if it stood still: README.md, "Smoothing". Has memory for one frame.
class HeldChannel {
 public:
  HeldChannel(const Design& design, Scratch& scratch);

  /// All outputs of a frame. The noise of each antenna is measured; nothing is made white.
  void run(const cf32* frame, const Estimates& out) noexcept;

  /// Of a frame with noise of variance 1 at every antenna: the channel, and each symbol's phase.
  void estimate(const cf32* white) noexcept;
  FrameChannel channel() const noexcept { return {1, nullptr, nullptr, smooth_}; }
  const float* phases() const noexcept { return phases_; }  // of symbols behind the training, against the channel
  double training_phase(int t) const noexcept { return slope_ * training_position(t, e_.tx); }

 private:
  static std::int64_t slack() noexcept;
  const cf32* training(int t, int c) const { return frame_ + std::int64_t{1 + t} * e_.row() + std::int64_t{c} * e_.rx; }
  const cf32* behind(int s, int c) const { return training(e_.tx + s, c); }
  double measure_noise() noexcept;
  double slope() const noexcept;
  void set_uncover(double slope) noexcept;
  void estimate_channel() noexcept;
  void write_channel(cf32* h) noexcept;
  void follow_phase(int s) noexcept;
  void write_vectors(cf32* y) noexcept;

  const Design& design_;
  const Extents e_;
  const cf32* frame_ = nullptr;
  double noise_[kMostAntennas] = {};
  float scale_[kMostAntennas] = {};
  cf32* uncover_;
  cf32* rough_;    // [carrier][rx][tx]
  cf32* smooth_;   // the same
  cf32* pilot_h_;  // [pilot][rx][tx]
  cf32* factor_;   // [symbol behind][rx]
  float* phases_;  // [symbol behind]
  double slope_ = 0;
};

/// No NaN and no infinity.
bool is_finite(const cf32* x, std::int64_t n) noexcept;

}  // namespace iqd::mimo_channel_estimator
