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

  void design_for(const UserChannels& channels) noexcept;

  /// [rx], for antennas as they were received; the user's symbols are the sum of conj(filter) y.
  const cf32* filter(int carrier, int user) const noexcept { return filters_ + at(carrier, user) * e_.rx; }
  /// Variance of the noise in these symbols; 0 if the user is not heard.
  float noise(int carrier, int user) const noexcept { return noise_[at(carrier, user)]; }

 private:
  using complex = std::complex<double>;
  void measure_noise(const UserChannels& channels) noexcept;
  void separate(const UserChannels& channels, int carrier) noexcept;
  std::int64_t at(int carrier, int user) const noexcept { return std::int64_t{carrier} * e_.users + user; }

  const Design& design_;
  const Extents e_;
  complex* root_;     // [rx][rx]: L of the noise's covariance, lower triangle
  complex* white_;    // [user][rx]: L^-1 h
  complex* gram_;     // [user][user], then its root
  complex* inverse_;  // [user][user]
  complex* column_;   // [max(rx, users)]
  cf32* filters_;     // [carrier][user][rx]
  float* noise_;      // [carrier][user]
};

}  // namespace iqd::noma_channel_estimator
