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

/// Streams at another rate: output m lies at input m M / L, and is a sum of inputs about there with the taps of its
/// phase, (m M mod L) / L:
///   y(m) = sum over j = 0 … taps-1 of h(phase, j) x(floor(m M / L) + ahead - (taps - 1) + j)
/// Positions are whole numbers, so nothing drifts, and every y(m) is a function of its own inputs and of m only,
/// however the stream is cut.
namespace iqd {

/// L outputs for M inputs; both below 2^31, without a common divisor.
struct Ratio {
  std::int64_t up = 1;
  std::int64_t down = 1;
};

/// Where an output lies: at input `at` + `phase` / up.
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
  std::int64_t rows = 1;   // that lie at phase 0, 1/rows, 2/rows, …
  std::int64_t taps = 1;   // of a row
  std::int64_t ahead = 0;  // inputs behind an output's place that it takes
  /// Rows from here on lack their first tap, which is not multiplied.
  std::int64_t short_from = 1;
  /// There are fewer rows than phases: a phase's taps lie on the line between those of the rows beside it. Then there
  /// is one row more, at phase 1.
  bool between = false;
  std::vector<float> re = {};
  std::vector<float> im = {};  // empty where all taps are real

  std::int64_t past() const noexcept { return taps - 1 - ahead; }
};

/// A filter h at `up` times the input's rate over inputs with up - 1 zeros put behind each, of which every `down`-th
/// output is kept: y(m) = sum over k of h(k) x((m M - k) / L), over those k where that is whole.
PolyphaseTaps polyphase_taps(std::span<const std::complex<double>> h, const Ratio& ratio);

/// Of taps with `between`: [row][taps], what lies between each row's and the next's.
std::vector<float> way_to_next_row(const PolyphaseTaps& taps);

/// Such a filter made ready for the processor, for cf32 or f32. May be used by many threads at once.
class PolyphaseFilter {
 public:
  virtual ~PolyphaseFilter() = default;
  virtual std::size_t scratch_bytes() const noexcept = 0;
  /// x [row][n], y [row][m] of floats, two a sample where complex: positions x_first … and y_first …; there is zero
  /// where x has none. Extents and strides are in samples.
  virtual void run(View<const cf32, 2> x, std::int64_t x_first, View<cf32, 2> y, std::int64_t y_first,
                   std::byte* scratch) const noexcept = 0;
  virtual void run(View<const float, 2> x, std::int64_t x_first, View<float, 2> y, std::int64_t y_first,
                   std::byte* scratch) const noexcept = 0;
};
std::unique_ptr<PolyphaseFilter> make_polyphase_filter(const PolyphaseTaps& taps, bool complex);

}  // namespace iqd
