// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

#include "base/views.hpp"

/// The arithmetic of symbol instants, the same on every backend.
namespace iqd::symbol_sync {

struct Complex64 {
  double re = 0;
  double im = 0;
};

/// Sums over a hop's samples: the line at the symbol rate, relative to the hop's first place, and the energy.
struct Sums {
  Complex64 line;
  double energy = 0;
};

inline constexpr std::array<std::string_view, 3> kValues{
    "timing",   // turns that the clock is past a symbol's instant at the window's middle, -0.5 … 0.5
    "clock",    // symbols in the hop after it over the expected number, minus 1
    "strength"  // of the line: |sum of |x|^2 exp(…)| over the sum of |x|^2
};

/// Phases of the symbol clock are in units of 2^-32 turns, so that sums are exact.
inline constexpr std::int64_t kTurn = std::int64_t{1} << 32;

/// A line weaker than this share of the energy is rounding noise: the signal has none.
inline constexpr double kFaintest = 1e-6;

/// The measurement around a hop's first place.
struct Estimate {
  std::int64_t phase = 0;  // 0 … kTurn-1
  float strength = 0;
};

/// The clock within one hop: its phase grows linearly, so symbols are equally spaced.
struct Clock {
  std::int64_t phase = 0;    // at the hop's first place
  std::int64_t advance = 0;  // to the next hop's first place, in 2^-32 turns; above 0
  std::int64_t hop = 1;      // samples

  /// Symbols whose instants lie before the next hop.
  IQD_HOST_DEVICE std::int64_t symbols() const noexcept {
    return (phase + advance + kTurn - 1) / kTurn - (phase > 0 ? 1 : 0);
  }
  /// The instant of symbol i = 0, 1 …, in samples from the hop's first place.
  IQD_HOST_DEVICE double offset(std::int64_t i) const noexcept {
    const std::int64_t turns = (i + (phase > 0 ? 1 : 0)) * kTurn - phase;
    return static_cast<double>(turns) / static_cast<double>(advance) * static_cast<double>(hop);
  }
  /// The number of symbols before a place, which may be outside the hop.
  IQD_HOST_DEVICE std::int64_t symbols_before(std::int64_t place) const noexcept {
    std::int64_t low = 0, high = symbols();
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (offset(middle) < static_cast<double>(place))
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
};

struct Timing {
  static constexpr int kTaps = 8;     // samples that a symbol is interpolated from
  static constexpr int kBefore = 3;   // of these, before the sample at or before its instant
  static constexpr int kSteps = 128;  // between two samples; between steps taps are interpolated linearly

  Timing() = default;
  Timing(double samples_per_symbol, std::int64_t window)
      : hop(std::llround(samples_per_symbol * static_cast<double>(window) / 2)),
        nominal(std::llround(static_cast<double>(hop) / samples_per_symbol * static_cast<double>(kTurn))) {
    const double turns = static_cast<double>(hop) / samples_per_symbol;
    const double angle = 2 * std::numbers::pi * (turns - std::floor(turns));
    turned = {std::cos(angle), std::sin(angle)};
  }

  /// How many positions before and after a new one its symbols depend on.
  std::int64_t reach() const noexcept { return 2 * hop + kTaps; }
  std::int64_t most_symbols(std::int64_t samples) const noexcept {
    const double fastest = static_cast<double>(nominal + kTurn / 2) / static_cast<double>(kTurn * hop);
    return static_cast<std::int64_t>(static_cast<double>(samples) * fastest) + 2;
  }
  std::int64_t most_windows(std::int64_t samples) const noexcept { return samples / hop + 3; }

  /// For the window around a hop's first place, from the sums of the hops before and after it.
  IQD_HOST_DEVICE Estimate estimate(const Sums& before, const Sums& behind) const noexcept {
    const double re = behind.line.re + (before.line.re * turned.re - before.line.im * turned.im);
    const double im = behind.line.im + (before.line.re * turned.im + before.line.im * turned.re);
    const double energy = before.energy + behind.energy, line = sqrt(re * re + im * im);
    if (!(line > kFaintest * energy)) return {};
    const double turns = atan2(im, re) / (2 * std::numbers::pi);
    return {
        static_cast<std::int64_t>(floor((turns < 0 ? turns + 1 : turns) * static_cast<double>(kTurn))) & (kTurn - 1),
        static_cast<float>(line / energy)};
  }
  /// The estimate `hops` later, for a clock at its nominal rate.
  IQD_HOST_DEVICE Estimate later(Estimate e, int hops) const noexcept {
    e.phase = (e.phase + hops * nominal) & (kTurn - 1);
    return e;
  }
  /// From one estimate to the next along the shorter arc.
  IQD_HOST_DEVICE Clock between(const Estimate& now, const Estimate& next) const noexcept {
    const std::int64_t ahead = (next.phase - now.phase - nominal + kTurn / 2) & (kTurn - 1);
    return {now.phase, nominal + ahead - kTurn / 2, hop};
  }
  IQD_HOST_DEVICE void write(const Clock& clock, float strength, float* values) const noexcept {
    const std::int64_t turns = clock.phase < kTurn / 2 ? clock.phase : clock.phase - kTurn;
    values[0] = static_cast<float>(static_cast<double>(turns) / static_cast<double>(kTurn));
    values[1] = static_cast<float>(static_cast<double>(clock.advance - nominal) / static_cast<double>(nominal));
    values[2] = strength;
  }

  std::int64_t hop = 1;      // samples
  std::int64_t nominal = 1;  // advance of a hop, in 2^-32 turns
  Complex64 turned;          // exp(j 2 pi hop / samples_per_symbol)
};

}  // namespace iqd::symbol_sync
