// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Included once for each SIMD target, after <hwy/foreach_target.h> and <hwy/highway.h>.
#if defined(IQD_MTT_AXIS_COSTS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef IQD_MTT_AXIS_COSTS_INL_HPP
#undef IQD_MTT_AXIS_COSTS_INL_HPP
#else
#define IQD_MTT_AXIS_COSTS_INL_HPP
#endif

#include <hwy/highway.h>

#include "pipeline/stages/mimo/mtt_detector/nearest_inl.hpp"
#include "pipeline/stages/mimo/mtt_detector/path_inl.hpp"

/// The costs of a path with each level of a row, for one vector per SIMD lane.
HWY_BEFORE_NAMESPACE();
namespace iqd::mtt_detector::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace mimo::HWY_NAMESPACE;

/// The axes' parts are separate: a point costs the sum of its two levels'. `kPrior`: with what the prior says of them.
template <int kAxis, bool kPrior> struct AxisCosts {
  static constexpr int kLevels = Points<kAxis>::kLevels;

  Real re[kLevels], im[kLevels];  // the cost so far plus the real part's, and the imaginary part's

  HWY_INLINE AxisCosts(const Front& f, int row, const Path& path) {
    const V diagonal = f.r[row][row].re.get();
    const ComplexV left = path.left[row].get();
    for (int i = 0; i < kLevels; ++i) {
      const V x = hn::NegMulAdd(diagonal, all(kPoints<kAxis>.level[i]), left.re);
      const V y = hn::NegMulAdd(diagonal, all(kPoints<kAxis>.level[i]), left.im);
      re[i].set(hn::MulAdd(x, x, path.cost.get()));
      im[i].set(hn::Mul(y, y));
      if constexpr (kPrior) {
        re[i].set(hn::Add(re[i].get(), f.level_cost[row][0][i].get()));
        im[i].set(hn::Add(im[i].get(), f.level_cost[row][1][i].get()));
      }
    }
  }
};

}  // namespace iqd::mtt_detector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
