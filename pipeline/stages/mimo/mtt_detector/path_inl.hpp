// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Included once for each SIMD target, after <hwy/foreach_target.h> and <hwy/highway.h>.
#if defined(IQD_MTT_PATH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef IQD_MTT_PATH_INL_HPP
#undef IQD_MTT_PATH_INL_HPP
#else
#define IQD_MTT_PATH_INL_HPP
#endif

#include <hwy/highway.h>

#include "pipeline/stages/mimo/front_end_inl.hpp"

/// A path through the trellis, for one vector per SIMD lane.
HWY_BEFORE_NAMESPACE();
namespace iqd::mtt_detector::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace mimo::HWY_NAMESPACE;
using mimo::kMostAntennas;

/// Symbols of some rows, from the last one upward.
struct Path {
  Real cost;
  ComplexLanes left[kMostAntennas];    // of each row below: z - R s
  ComplexLanes symbol[kMostAntennas];  // of each row so far

  void start(const Front& f) {
    cost.set(all(0));
    for (int row = 0; row < f.tx; ++row) left[row] = f.z[row];
  }
  /// Copies what the path needs from `row` on. Symbols are needed only for lists that count all rows.
  HWY_INLINE void keep(const Front& f, int row, bool with_symbols, const Path& from) {
    cost = from.cost;
    for (int below = 0; below < row; ++below) left[below] = from.left[below];
    for (int above = row; with_symbols && above < f.tx; ++above) symbol[above] = from.symbol[above];
  }
  /// The same from the path that each lane names.
  HWY_INLINE void keep(const Front& f, int row, bool with_symbols, const Path* paths, hn::Vec<I> path) {
    constexpr int kSize = sizeof(Path) / sizeof(float);
    const auto at = hn::Add(hn::Mul(path, hn::Set(I(), kSize)), hn::Iota(I(), 0));
    const auto real = [at](const Real& of_first) { return gather(of_first.at, at, 0); };
    cost.set(real(paths->cost));
    for (int below = 0; below < row; ++below)
      left[below].set({real(paths->left[below].re), real(paths->left[below].im)});
    for (int above = row; with_symbols && above < f.tx; ++above)
      symbol[above].set({real(paths->symbol[above].re), real(paths->symbol[above].im)});
  }
  HWY_INLINE void append(const Front& f, int row, ComplexV s) {
    cost.set(cost_with(f, row, s));
    for (int below = 0; below < row; ++below)
      left[below].set(minus_product(left[below].get(), f.r[below][row].get(), s));
    symbol[row].set(s);
  }
  /// Adds what the prior says of the last symbol.
  HWY_INLINE void pay(V prior) { cost.set(hn::Add(cost.get(), prior)); }
  /// The cost once `row` has this symbol.
  HWY_INLINE V cost_with(const Front& f, int row, ComplexV s) const {
    const V diagonal = f.r[row][row].re.get();
    const ComplexV rest = left[row].get();
    return plus_square(cost.get(), {hn::NegMulAdd(diagonal, s.re, rest.re), hn::NegMulAdd(diagonal, s.im, rest.im)});
  }
};

}  // namespace iqd::mtt_detector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
