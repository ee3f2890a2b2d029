// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "pipeline/stages/ofdm/ofdm_sync/room.hpp"

namespace iqd::ofdm_sync {

/// Evaluates a candidate's training symbols, once their spectra are in the room.
class Training {
 public:
  Training(const Pattern& pattern, const FftPlan& inverse, const Room& room)
      : p_(pattern), g_(pattern.grid), inverse_(inverse), room_(room) {}

  cf32* spectrum(std::int64_t r, std::int64_t t) const noexcept { return room_.spectra + (r * g_.tx + t) * g_.fft; }

  /// The i with the largest Q(i), and that Q(i).
  std::pair<std::int64_t, float> best_hypothesis() const noexcept {
    std::fill_n(room_.fits, g_.antennas * g_.hypotheses(), Complex{});
    for (std::int64_t r = 0; r < g_.antennas; ++r)
      for (std::int64_t t = 0; t < g_.tx; ++t) add_fits(spectrum(r, t), room_.fits + r * g_.hypotheses());
    std::pair<std::int64_t, float> best{0, -1.0f};
    for (std::int64_t h = 0; h < g_.hypotheses(); ++h) {
      Combined all;
      for (std::int64_t r = 0; r < g_.antennas; ++r) all.add(fit_of(r, h));
      if (all.value() > best.second) best = {h - g_.sides, all.value()};
    }
    return best;
  }

  /// The delay of the path that begins the prefix-long window with the most power, under hypothesis i.
  std::int64_t first_path(std::int64_t i) const noexcept {
    fill_profile(i);
    const Profile profile{room_.profile, g_.fft, g_.prefix, g_.width};
    std::int64_t strongest = profile.first_delay();
    for (std::int64_t d = strongest; d < profile.first_delay() + g_.fft; ++d)
      if (profile.at(d) > profile.at(strongest)) strongest = d;
    float noise = 0;  // where no path can be
    for (std::int64_t d = g_.fft / 4; d < 3 * g_.fft / 4; ++d) noise += profile.at(strongest + d);
    const float least = least_path(profile.at(strongest), noise / static_cast<float>(g_.fft / 2));
    std::int64_t best = strongest;
    float most = -1;
    for (std::int64_t d = strongest - g_.prefix; d <= strongest; ++d) {
      const float power = power_from(profile, d, least);
      if (power > most) most = power, best = d;
    }
    return best;
  }

 private:
  Complex fit_of(std::int64_t r, std::int64_t h) const noexcept {
    const Complex sum = room_.fits[r * g_.hypotheses() + h];
    return {sum.re / g_.pair_count, sum.im / g_.pair_count};
  }

  void add_fits(const cf32* y, Complex* fits) const noexcept {
    const std::int64_t ring = g_.fft - 1;
    cf32* const phases = room_.points;
    for (std::int64_t k = 0; k < g_.fft; ++k) {
      const Complex phase = phase_between(parts(y[k]), parts(y[(k + 1) & ring]));
      phases[k] = {phase.re, phase.im};
    }
    for (std::int64_t h = 0; h < g_.hypotheses(); ++h) {
      const std::int64_t moved = 2 * (h - g_.sides);
      cf32 sum = 0;
      for (std::int64_t k = 0; k < g_.fft; ++k)
        sum += p_.pairs[static_cast<std::size_t>(k)] * phases[(k + moved) & ring];
      fits[h].re += sum.real();
      fits[h].im += sum.imag();
    }
  }

  /// The power of the channel by delay; antennas are weighted by how well they fit.
  void fill_profile(std::int64_t i) const noexcept {
    std::fill_n(room_.profile, g_.fft, 0.0f);
    for (std::int64_t r = 0; r < g_.antennas; ++r) {
      const Complex fit = fit_of(r, i + g_.sides);
      const float weight = fit.re * fit.re + fit.im * fit.im;
      for (std::int64_t t = 0; t < g_.tx; ++t) {
        cf32* const y = spectrum(r, t);
        for (std::int64_t k = 0; k < g_.fft; ++k) {
          const Complex carrier = limited(parts(y[(k + 2 * i) & (g_.fft - 1)]), g_.most_power);
          const float sign = p_.training[static_cast<std::size_t>(k)];
          room_.points[k] = {sign * carrier.re, sign * carrier.im};
        }
        inverse_.run(room_.points, y);
        for (std::int64_t k = 0; k < g_.fft; ++k)
          room_.profile[k] += weight * (y[k].real() * y[k].real() + y[k].imag() * y[k].imag());
      }
    }
  }

  const Pattern& p_;
  const Grid& g_;
  const FftPlan& inverse_;
  const Room& room_;
};

}  // namespace iqd::ofdm_sync
