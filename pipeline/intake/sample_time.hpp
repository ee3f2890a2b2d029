// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "pipeline/plan/positions.hpp"

namespace iqd {

/// Converts between counts of samples and nanoseconds at one rate. Without a rate (0) samples take no time.
class SampleTime {
 public:
  /// No time stamp is further from the Unix epoch: the year 2100. The difference of any two fits, even plus years.
  static constexpr std::int64_t kMostNs = 4'102'444'800'000'000'000;

  explicit SampleTime(double rate_hz) noexcept : rate_hz_(rate_hz) {}
  bool is_known() const noexcept { return rate_hz_ > 0; }
  /// Limited to ±kMostNs.
  std::int64_t ns_of(std::int64_t samples) const noexcept {
    constexpr auto kMost = static_cast<double>(kMostNs);
    const double ns = is_known() ? static_cast<double>(samples) * 1e9 / rate_hz_ : 0;
    return ns >= kMost ? kMostNs : ns <= -kMost ? -kMostNs : std::llround(ns);
  }
  /// Not rounded.
  double samples_of(std::int64_t ns) const noexcept { return static_cast<double>(ns) / 1e9 * rate_hz_; }
  /// Limited to the number of positions that exist.
  std::int64_t samples_in(std::int64_t ns) const noexcept {
    return std::llround(std::min(samples_of(ns), static_cast<double>(kMostPosition)));
  }

 private:
  double rate_hz_;
};

}  // namespace iqd
