// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"

/// Streams at another rate: output m is at input m M / L, and is a sum of inputs around there with the taps of its
/// phase, (m M mod L) / L:
///   y(m) = sum over j = 0 … taps-1 of h(phase, j) x(floor(m M / L) + ahead - (taps - 1) + j)
/// Positions are integers, so nothing drifts, and every y(m) depends only on its own inputs and on m, however the
/// stream is cut.
namespace iqd {

/// L outputs per M inputs; both below 2^31, without a common divisor.
struct Ratio {
  std::int64_t up = 1;
  std::int64_t down = 1;
};

/// Position of an output: at input `at` + `phase` / up.
struct PolyphasePlace {
  std::int64_t at;
  std::int64_t phase;
};
IQD_HOST_DEVICE constexpr PolyphasePlace place_of(const Ratio& ratio, std::int64_t m) {
  const std::int64_t ahead = m % ratio.up * ratio.down;
  return {m / ratio.up * ratio.down + ahead / ratio.up, ahead % ratio.up};
}

/// The taps of each phase, [row][taps], that of the oldest input first.
struct PolyphaseTaps {
  Ratio ratio;
  std::int64_t rows = 1;   // at phase 0, 1/rows, 2/rows, …
  std::int64_t taps = 1;   // per row
  std::int64_t ahead = 0;  // inputs used after an output's position
  /// Rows from here on have no first tap; it is not multiplied.
  std::int64_t short_from = 1;
  /// There are fewer rows than phases: a phase's taps are interpolated between the neighbouring rows. Then there is one
  /// more row, at phase 1.
  bool between = false;
  std::vector<float> re = {};
  std::vector<float> im = {};  // empty if all taps are real

  std::int64_t past() const noexcept { return taps - 1 - ahead; }
};

/// A filter h at `up` times the input's rate, over inputs with up - 1 zeros inserted after each; every `down`-th output
/// is kept: y(m) = sum over k of h(k) x((m M - k) / L), over those k where that is an integer.
PolyphaseTaps polyphase_taps(std::span<const std::complex<double>> h, const Ratio& ratio);

/// For taps with `between`: [row][taps], the difference from each row to the next.
std::vector<float> way_to_next_row(const PolyphaseTaps& taps);

/// Such a filter prepared for this CPU, for cf32 or f32. May be used by many threads at once.
class PolyphaseFilter {
 public:
  virtual ~PolyphaseFilter() = default;
  virtual std::size_t scratch_bytes() const noexcept = 0;
  /// x [row][n], y [row][m] of floats, two per sample if complex: positions x_first … and y_first …; outside of x there
  /// are zeros. Extents and strides are in samples.
  virtual void run(View<const cf32, 2> x, std::int64_t x_first, View<cf32, 2> y, std::int64_t y_first,
                   std::byte* scratch) const noexcept = 0;
  virtual void run(View<const float, 2> x, std::int64_t x_first, View<float, 2> y, std::int64_t y_first,
                   std::byte* scratch) const noexcept = 0;
};
std::unique_ptr<PolyphaseFilter> make_polyphase_filter(const PolyphaseTaps& taps, bool complex);

}  // namespace iqd
