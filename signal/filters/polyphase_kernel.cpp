// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/polyphase_kernel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "signal/filters/polyphase_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::HWY_NAMESPACE {

/// Taps of a sum. one: those of a row; both: also those of a second row, for a separate sum; between: those at `part`
/// of the way from a row to the next.
enum class Take { one, both, between };
struct Row {
  const float* h;
  const float* g;  // the second row; or the difference to the next row
  float part;
};

/// Sums of products, separately for the first and the second float of samples.
struct Sums {
  float even = 0, odd = 0;
  float second_even = 0, second_odd = 0;
};

/// By definition; used for rows shorter than a vector.
template <Take take> HWY_INLINE void add_products(const float* x, const Row& row, std::int64_t floats, Sums& sums) {
  for (std::int64_t i = 0; i < floats; ++i) {
    const float h = take == Take::between ? row.h[i] + row.part * row.g[i] : row.h[i];
    (i % 2 ? sums.odd : sums.even) += h * x[i];
    if constexpr (take == Take::both) (i % 2 ? sums.second_odd : sums.second_even) += row.g[i] * x[i];
  }
}

#if HWY_TARGET == HWY_SCALAR

template <Take take> HWY_INLINE Sums sums_of(const float* x, const Row& row, std::int64_t floats) {
  Sums sums;
  add_products<take>(x, row, floats, sums);
  return sums;
}

#else

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(D()));

/// Sums even lanes and odd lanes.
template <class Tag, class Vector> HWY_INLINE void fold(Tag d, Vector v, float& even, float& odd) {
  if constexpr (hn::MaxLanes(Tag()) > 4) {
    const hn::Half<Tag> half;
    fold(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), even, odd);
  } else {
    HWY_ALIGN float lane[4];
    hn::Store(v, d, lane);
    even = lane[0] + lane[2];
    odd = lane[1] + lane[3];
  }
}

struct VectorSums {
  V sum;
  V second;

  template <Take take> HWY_INLINE void add(V x, const Row& row, std::int64_t i) {
    const D d;
    const V g = take == Take::one ? x : hn::LoadU(d, row.g + i);
    V h = hn::LoadU(d, row.h + i);
    if constexpr (take == Take::between) h = hn::MulAdd(hn::Set(d, row.part), g, h);
    sum = hn::MulAdd(h, x, sum);
    if constexpr (take == Take::both) second = hn::MulAdd(g, x, second);
  }
};

template <Take take> HWY_INLINE Sums sums_of(const float* x, const Row& row, std::int64_t floats) {
  const D d;
  Sums sums;
  if (floats < kLanes) return add_products<take>(x, row, floats, sums), sums;
  VectorSums one{hn::Zero(d), hn::Zero(d)}, two = one;
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= floats; i += 2 * kLanes) {
    one.add<take>(hn::LoadU(d, x + i), row, i);
    two.add<take>(hn::LoadU(d, x + i + kLanes), row, i + kLanes);
  }
  if (i + kLanes <= floats) one.add<take>(hn::LoadU(d, x + i), row, i), i += kLanes;
  if (i < floats) {
    // The last vector overlaps the one before; the overlap is zeroed, since nothing beyond the row may be multiplied.
    const auto taken = hn::FirstN(d, static_cast<std::size_t>(i + kLanes - floats));
    i = floats - kLanes;
    two.add<take>(hn::IfThenZeroElse(taken, hn::LoadU(d, x + i)), row, i);
  }
  fold(d, hn::Add(one.sum, two.sum), sums.even, sums.odd);
  if constexpr (take == Take::both) fold(d, hn::Add(one.second, two.second), sums.second_even, sums.second_odd);
  return sums;
}

#endif

template <int step, Take take>
HWY_INLINE void output(const PolyphaseRows& h, const float* x, std::int64_t phase, double rows_per_phase, float* y) {
  const double place = static_cast<double>(phase) * rows_per_phase;
  const std::int64_t at = take == Take::between ? static_cast<std::int64_t>(place) : phase;
  const std::int64_t left_out = at >= h.short_from ? step : 0;
  const std::int64_t begin = at * h.floats + left_out;
  const Row row{h.first + begin, take == Take::one ? nullptr : h.second + begin,
                take == Take::between ? static_cast<float>(place - static_cast<double>(at)) : 0};
  const Sums s = sums_of<take>(x + left_out, row, h.floats - left_out);
  if constexpr (step == 1) {
    y[0] = s.even + s.odd;
  } else {
    y[0] = take == Take::both ? s.even - s.second_odd : s.even;
    y[1] = take == Take::both ? s.odd + s.second_even : s.odd;
  }
}

template <int step, Take take>
void all_outputs(const PolyphaseRows& h, const float* x, PolyphasePlace place, float* y, std::int64_t outputs) {
  const double rows_per_phase = static_cast<double>(h.rows) / static_cast<double>(h.ratio.up);
  const std::int64_t whole = h.ratio.down / h.ratio.up, rest = h.ratio.down % h.ratio.up;
  for (std::int64_t m = 0; m < outputs; ++m) {
    output<step, take>(h, x + place.at * step, place.phase, rows_per_phase, y + m * step);
    place.at += whole;
    place.phase += rest;
    if (place.phase < h.ratio.up) continue;
    place.phase -= h.ratio.up;
    ++place.at;
  }
}

template <int step>
void run_with(const PolyphaseRows& h, const float* x, PolyphasePlace place, float* y, std::int64_t outputs) {
  if (h.between) return all_outputs<step, Take::between>(h, x, place, y, outputs);
  if (h.second == nullptr) return all_outputs<step, Take::one>(h, x, place, y, outputs);
  if constexpr (step == 2) all_outputs<step, Take::both>(h, x, place, y, outputs);
}

void run(const PolyphaseRows& h, bool complex, const float* x, PolyphasePlace place, float* y, std::int64_t outputs) {
  complex ? run_with<2>(h, x, place, y, outputs) : run_with<1>(h, x, place, y, outputs);
}

}  // namespace iqd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd {

HWY_EXPORT(run);

void polyphase_outputs(const PolyphaseRows& h, bool complex, const float* x, PolyphasePlace place, float* y,
                       std::int64_t outputs) noexcept {
  HWY_DYNAMIC_DISPATCH(run)(h, complex, x, place, y, outputs);
}

}  // namespace iqd
#endif
