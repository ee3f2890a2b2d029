// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Included anew for each kind of processor, after <hwy/foreach_target.h> and <hwy/highway.h>.
#if defined(IQD_MTT_PATH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef IQD_MTT_PATH_INL_HPP
#undef IQD_MTT_PATH_INL_HPP
#else
#define IQD_MTT_PATH_INL_HPP
#endif

#include <hwy/highway.h>

#include "pipeline/stages/mimo/front_end_inl.hpp"

/// A way through the trellis, of a vector in each lane.
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
  HWY_INLINE void append(const Front& f, int row, ComplexV s) {
    cost.set(cost_with(f, row, s));
    for (int below = 0; below < row; ++below)
      left[below].set(minus_product(left[below].get(), f.r[below][row].get(), s));
    symbol[row].set(s);
  }
  /// What it costs once `row` has this symbol.
  HWY_INLINE V cost_with(const Front& f, int row, ComplexV s) const {
    const V diagonal = f.r[row][row].re.get();
    const ComplexV rest = left[row].get();
    return plus_square(cost.get(), {hn::NegMulAdd(diagonal, s.re, rest.re), hn::NegMulAdd(diagonal, s.im, rest.im)});
  }
};

}  // namespace iqd::mtt_detector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
