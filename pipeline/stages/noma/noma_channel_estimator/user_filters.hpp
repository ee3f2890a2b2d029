// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>

#include "pipeline/stages/noma/noma_channel_estimator/noma_channel_estimator.hpp"
#include "pipeline/stages/noma/noma_channel_estimator/user_channels.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::noma_channel_estimator {

/// The filters that separate the users at each carrier, in double precision: README.md, "Filters".
class UserFilters {
 public:
  UserFilters(const Design& design, Scratch& scratch);

  /// `left`: [user], the power that is left of each in what the others are received from; null: all of it.
  void design_for(const UserChannels& channels, const double* left = nullptr) noexcept;

  /// [rx], for antennas as they were received; the user's symbols are the sum of conj(filter) y.
  const cf32* filter(int carrier, int user) const noexcept { return filters_ + at(carrier, user) * e_.rx; }
  /// Variance of the noise in these symbols; 0 if the user is not heard.
  float noise(int carrier, int user) const noexcept { return noise_[at(carrier, user)]; }
  /// [other]: what the filter lets through of each user's symbols.
  const cf32* through(int carrier, int user) const noexcept { return through_ + at(carrier, user) * e_.users; }

 private:
  using complex = std::complex<double>;
  void measure_noise(const UserChannels& channels) noexcept;
  void separate(const UserChannels& channels, int carrier, const double* left) noexcept;
  void invert(int user, const double* left) noexcept;
  std::int64_t at(int carrier, int user) const noexcept { return std::int64_t{carrier} * e_.users + user; }

  const Extents e_;
  complex* root_;     // [rx][rx]: L of the noise's covariance, lower triangle
  complex* white_;    // [user][rx]: L^-1 h
  complex* gram_;     // [user][user], lower triangle
  complex* factor_;   // the same
  complex* inverse_;  // [user]: a column
  complex* column_;   // [max(rx, users)]
  cf32* filters_;     // [carrier][user][rx]
  cf32* through_;     // [carrier][user][other]
  float* noise_;      // [carrier][user]
};

}  // namespace iqd::noma_channel_estimator
