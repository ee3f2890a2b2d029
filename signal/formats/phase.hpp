// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>

#include "base/views.hpp"

namespace iqd {

/// A phase in units of 2^-64 turns. Additions, and products with a sample index, wrap as phases do, so a phase at
/// sample 1e12 is as exact as one at sample 0.
struct Phase {
  std::uint64_t turns = 0;

  /// Any number of turns, rounded to the nearest unit; not finite: 0.
  static Phase of_turns(long double x) noexcept {
    if (!std::isfinite(x)) return {};
    x -= std::floor(x);
    // A product that rounds up to a whole turn becomes 0.
    const long double scaled = std::nearbyint(std::ldexp(x, 64));
    return {scaled >= 0x1p64L ? 0 : static_cast<std::uint64_t>(scaled)};
  }
  /// A turn is 2 pi as a double, so that half a turn as written by a user is exactly half a turn.
  static Phase of_radians(double x) noexcept { return of_turns(static_cast<long double>(x) / (2 * kPi)); }
  /// Advance of a tone per sample.
  static Phase per_sample(double frequency_hz, double rate_hz) noexcept {
    return of_turns(static_cast<long double>(frequency_hz) / static_cast<long double>(rate_hz));
  }
  /// The same, rounded up, so that no multiple falls short of a turn or half turn that it should reach. Too large by
  /// less than 2^-64 turns per sample.
  static Phase per_sample_or_more(double frequency_hz, double rate_hz) noexcept {
    const double within = std::fmod(frequency_hz, rate_hz);  // exact, and so is the error of the rounded quotient
    Phase step = of_turns(static_cast<long double>(within) / static_cast<long double>(rate_hz));
    const long double turns = std::ldexp(static_cast<long double>(step.turns), -64) - (within < 0 ? 1 : 0);
    if (std::fma(turns, static_cast<long double>(rate_hz), -static_cast<long double>(within)) < 0) ++step.turns;
    return step;
  }

  /// From -pi to pi.
  IQD_HOST_DEVICE double radians() const noexcept {
    return static_cast<double>(static_cast<std::int64_t>(turns)) * (std::numbers::pi * 0x1p-63);
  }
  std::complex<double> phasor() const noexcept { return {std::cos(radians()), std::sin(radians())}; }

  friend IQD_HOST_DEVICE constexpr Phase operator+(Phase a, Phase b) noexcept { return {a.turns + b.turns}; }
  friend IQD_HOST_DEVICE constexpr Phase operator*(Phase a, std::int64_t n) noexcept {
    return {a.turns * static_cast<std::uint64_t>(n)};
  }
  friend constexpr bool operator==(Phase, Phase) = default;

 private:
  static constexpr long double kPi = std::numbers::pi_v<double>;
};

}  // namespace iqd
