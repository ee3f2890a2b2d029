// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>

#include "pipeline/stages/noma/noma_channel_estimator/noma_channel_estimator.hpp"
#include "signal/estimates/hermitian_system.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::noma_channel_estimator {

/// Estimates the channels of one frame's users: README.md, "Channels". Single precision, with memory for one frame.
class UserChannels {
 public:
  UserChannels(const Design& design, Scratch& scratch);

  /// From the pilots. `frame`: [symbol][carrier][rx]; `usable`: [symbol][carrier], whether all antennas are finite there.
  void estimate(const cf32* frame, const std::uint8_t* usable) noexcept;
  /// Again, from all symbols. `points`: [data symbol][carrier][user], expected values of what was sent, `unsure`: their
  /// variance; `phases`: [user][data symbol], radians beside those of the offset.
  void refine(const cf32* points, const float* unsure, const double* phases) noexcept;

  /// [carrier][user][rx], in units of the antennas' noise.
  const cf32* channel() const noexcept { return parts_; }
  /// [symbol][carrier][rx] from the first pilot symbol on, in the same units; 0 where an antenna is not finite.
  const cf32* white() const noexcept { return white_; }
  /// [symbol][carrier][user]: what was sent, as far as it is known, turned as the user's oscillator does.
  const cf32* sent() const noexcept { return sent_; }
  /// [symbol][carrier]: how much a vector tells, 0 … 1.
  const float* weights() const noexcept { return weights_; }
  int known() const noexcept { return known_; }  // pilots' vectors
  double offset_hz(int user) const noexcept { return offsets_[user]; }
  /// The factor that brings an antenna's noise to 1; 0 for a silent antenna.
  double scale(int r) const noexcept { return scale_[r]; }
  /// What is not known of the channels of all users at a carrier.
  double unknown() const noexcept;
  /// In samples, behind the frame's timing.
  double delay(int user) const noexcept;

 private:
  void whiten(const cf32* frame, const std::uint8_t* usable) noexcept;
  void turn_pilots() noexcept;
  void set_equations(int functions, int symbols) noexcept;
  void set_products(int k, int later, int symbols) noexcept;
  void set_sides(int k, std::int64_t order, int symbols) noexcept;
  void solve(int functions, double slope_prior) noexcept;
  void fit(int symbols) noexcept;
  void learn_offsets() noexcept;
  void learn_powers() noexcept;
  void set_parts(int functions) noexcept;
  float phi(int function, int s) const noexcept { return function == 0 ? 1.0f : times_.slope[s]; }
  std::int64_t unknowns(int functions) const noexcept { return std::int64_t{functions} * e_.users * e_.delays; }
  std::int64_t vector(int s, int c) const noexcept { return std::int64_t{s} * e_.carriers + c; }

  const Design& design_;
  const Extents e_;
  const PilotTimes times_;
  int functions_;       // 1 with a single pilot symbol
  std::int64_t width_;  // floats of a carrier's parts, a plane of whole vectors
  cf32* white_;
  cf32* sent_;
  float* weights_;
  cf32* values_;               // [carrier][user][rx]: to be correlated
  float *sums_re_, *sums_im_;  // [user][rx][delay_pitch]
  cf32* products_;             // [user][other][carrier]
  cf32* lags_;                 // [user][other][lag]
  HermitianSystem equations_;
  HermitianSystem factor_;
  float *g_re_, *g_im_;        // [rx][pitch]
  float* variance_;            // [unknown]
  float *wide_re_, *wide_im_;  // [delay][width_]
  std::int32_t* delays_;       // [delay]: all of them
  float* powers_;              // [user][delay]
  cf32* parts_;                // [carrier][function][user][rx]
  double* offsets_;            // [user]
  double* scale_;              // [rx]
  int antennas_ = 0;           // that are not silent
  int known_ = 0;
  double power_ = 0;  // mean of a known carrier of an antenna
};

}  // namespace iqd::noma_channel_estimator
