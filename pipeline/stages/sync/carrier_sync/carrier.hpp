// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <string_view>

#include "base/views.hpp"
#include "pipeline/stages/arithmetic.hpp"

/// The arithmetic of a carrier's phase, the same on every backend.
namespace iqd::carrier_sync {

enum class Constellation : std::uint8_t { bpsk, qpsk, psk8, qam16 };
inline std::span<const std::string_view> enum_names(Constellation) {
  static constexpr std::string_view names[] = {"bpsk", "qpsk", "8psk", "16qam"};
  return names;
}
/// M: rotated by 1 / M of a turn the constellation is the same.
IQD_HOST_DEVICE constexpr int symmetry(Constellation c) noexcept {
  return c == Constellation::bpsk ? 2 : c == Constellation::psk8 ? 8 : 4;
}

inline constexpr std::array<std::string_view, 3> kValues{
    "phase",    // of the carrier, radians, -pi … pi
    "offset",   // of its frequency, as a share of the symbol rate
    "strength"  // of the line: 1 if all samples of the window agree
};

using elementwise::Complex;
using elementwise::product;

/// |x|^2, or 0 if it is not finite.
IQD_HOST_DEVICE inline float power_of(Complex x) noexcept {
  const float power = x.re * x.re + x.im * x.im;
  return power <= std::numeric_limits<float>::max() ? power : 0.0f;
}
/// |x|^2 exp(j M arg x); `power` is |x|^2.
IQD_HOST_DEVICE inline Complex without_symbol(Complex x, float power, int symmetry) noexcept {
  if (!(power > 0)) return {};
  const float length = sqrtf(power);
  Complex u{x.re / length, x.im / length};
  for (int m = symmetry; m > 1; m /= 2) u = product(u, u);
  return {u.re * power, u.im * power};
}

/// A line at the symbol rate weaker than this share of the energy carries no timing information.
inline constexpr double kFaintest = 1e-4;

/// A sample's weight, by its place in the symbol: `timing` is the direction of the line at the symbol rate.
IQD_HOST_DEVICE inline float weight_of(Complex line, Complex timing) noexcept {
  return 1 + (line.re * timing.re + line.im * timing.im);
}

/// M times the carrier's phase at a hop's first place.
struct Estimate {
  double phase = 0;  // turns, -0.5 … 0.5
  double rate = 0;   // turns a sample
  float strength = 0;
};

/// The bins in which the line is searched: 1 / (4 hop) turns a sample apart, half of a window's resolution, so that
/// each rotates by a whole number of quarter turns from hop to hop.
struct Search {
  static constexpr int kMostBins = 513;

  Search() = default;
  Search(Constellation constellation, double samples_per_symbol, std::int64_t window, double max_offset)
      : symmetry(carrier_sync::symmetry(constellation)),
        negative(constellation == Constellation::qpsk || constellation == Constellation::qam16) {
    const double half = samples_per_symbol * static_cast<double>(window) / 2;
    const double fastest = symmetry * max_offset / samples_per_symbol;  // turns a sample
    // Within a part the line rotates by at most an eighth of a turn, so its samples may be summed before the search.
    part = static_cast<std::int64_t>(std::clamp(0.125 / fastest, 1.0, half));
    parts = std::llround(half / static_cast<double>(part));
    hop = part * parts;
    reach_bins = static_cast<int>(std::ceil(fastest * 4 * static_cast<double>(hop) - 1e-9));
    symbol_rate = samples_per_symbol / symmetry;
  }
  IQD_HOST_DEVICE int bins() const noexcept { return 2 * reach_bins + 1; }
  std::int64_t reach() const noexcept { return 2 * hop; }
  std::int64_t most_windows(std::int64_t samples) const noexcept { return samples / hop + 3; }

  /// A bin of the window around a place, from its hops' sums; each sum is relative to its hop's beginning.
  IQD_HOST_DEVICE Complex combined(Complex before, Complex behind, int bin) const noexcept {
    constexpr float kQuarters[] = {1, 0, -1, 0};
    const int quarter = (bin - reach_bins) & 3;
    const Complex turned = product(before, {kQuarters[quarter], kQuarters[(quarter + 3) & 3]});
    return {behind.re + turned.re, behind.im + turned.im};
  }

  /// The strongest line. `off_middle`: the position of the window's middle relative to the place.
  IQD_HOST_DEVICE Estimate estimate(const Complex* before, const Complex* behind, double weight,
                                    double off_middle) const noexcept {
    int best = -1;
    double highest = 0;
    for (int bin = 0; bin <= 2 * reach_bins; ++bin) {
      const double height = height_of(before, behind, bin);
      if (height > highest) highest = height, best = bin;
    }
    if (best < 0) return {};
    double beside = 0;
    if (best > 0 && best < 2 * reach_bins) {
      const double low = height_of(before, behind, best - 1), high = height_of(before, behind, best + 1);
      const double bend = low - 2 * highest + high;
      beside = bend < 0 ? (low - high) / (2 * bend) : 0;
    }
    const Complex sum = combined(before[best], behind[best], best);
    const double sign = negative ? -1 : 1, step = 0.25 / static_cast<double>(hop);
    const double phase = atan2(sign * static_cast<double>(sum.im), sign * static_cast<double>(sum.re));
    return {wrapped(phase / (2 * std::numbers::pi) - beside * step * off_middle), (best - reach_bins + beside) * step,
            static_cast<float>(sqrt(highest) / weight)};
  }
  /// The estimate `hops` later.
  IQD_HOST_DEVICE Estimate later(Estimate e, int hops) const noexcept {
    e.phase = wrapped(e.phase + e.rate * static_cast<double>(hop) * hops);
    return e;
  }
  /// Whole turns to add to the next estimate's phase, so that it continues this one as the rates predict.
  IQD_HOST_DEVICE std::int64_t turns_between(const Estimate& now, const Estimate& next) const noexcept {
    const double expected = (now.rate + next.rate) / 2 * static_cast<double>(hop);
    return static_cast<std::int64_t>(rint(now.phase + expected - next.phase));
  }
  IQD_HOST_DEVICE void write(const Estimate& e, std::int64_t turns, float* values) const noexcept {
    values[0] = static_cast<float>(2 * std::numbers::pi * wrapped(carrier(e, turns)));
    values[1] = static_cast<float>(e.rate * symbol_rate);
    values[2] = e.strength;
  }
  /// The carrier's phase in turns, without whole turns, so that it stays exact.
  IQD_HOST_DEVICE double carrier(const Estimate& e, std::int64_t turns) const noexcept {
    return (static_cast<double>(turns % symmetry) + e.phase) / symmetry;
  }
  /// The carrier's advance per sample within the hop.
  IQD_HOST_DEVICE double slope(const Estimate& now, const Estimate& next) const noexcept {
    const double advance = next.phase - now.phase + static_cast<double>(turns_between(now, next));
    return advance / static_cast<double>(symmetry * hop);
  }
  static IQD_HOST_DEVICE double wrapped(double turns) noexcept { return turns - rint(turns); }

  int symmetry = 4;
  bool negative = true;  // the M-th power of a symbol is negative
  std::int64_t part = 1;
  std::int64_t parts = 1;
  std::int64_t hop = 1;    // samples
  int reach_bins = 0;      // on each side of the middle one
  double symbol_rate = 1;  // samples_per_symbol / M: from turns of M phi a sample to shares of the symbol rate

 private:
  IQD_HOST_DEVICE double height_of(const Complex* before, const Complex* behind, int bin) const noexcept {
    const Complex s = combined(before[bin], behind[bin], bin);
    return static_cast<double>(s.re) * static_cast<double>(s.re) +
           static_cast<double>(s.im) * static_cast<double>(s.im);
  }
};

/// A hop's samples are rotated by products: one factor for a run of this length, one for the place in the run.
inline constexpr std::int64_t kRun = 32;

}  // namespace iqd::carrier_sync
