// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/element.hpp"

namespace iqd::live {

/// How far a picture of values reaches: 1.5 times (or so) their rms, rounded up to 1, 2 or 5 times a power of ten. It
/// changes only if the values leave it or take less than a third of it, so that it does not flicker.
class Extent {
 public:
  /// For values of this rms; `times` of it have to fit.
  double fit(double rms, double times) noexcept;
  double value() const noexcept { return value_; }

 private:
  double value_ = 1;
};

/// The number at or above `x` that is 1, 2 or 5 times a power of ten; 1 for 0 and for what is not finite.
double round_up(double x) noexcept;

/// Counts symbols in 64 x 64 cells; both parts reach from -extent to extent. The first row has the largest imaginary
/// parts. Symbols outside count in the outermost cells; those that are not finite do not count.
class SymbolDensity {
 public:
  static constexpr int kCells = 64;

  explicit SymbolDensity(std::span<const cf32> symbols, double extent) noexcept;
  /// 1 + 254 log2(1 + count) / log2(1 + largest count), rounded.
  std::string codes() const;

 private:
  std::array<std::uint16_t, kCells * kCells> counts_{};
};

/// The root of the mean square of what is finite; 0 if nothing is.
double rms_of(std::span<const cf32> symbols) noexcept;
double rms_of(std::span<const float> values) noexcept;

}  // namespace iqd::live
