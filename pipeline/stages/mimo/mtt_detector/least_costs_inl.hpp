// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Included once for each SIMD target, after <hwy/foreach_target.h> and <hwy/highway.h>.
#if defined(IQD_MTT_LEAST_COSTS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef IQD_MTT_LEAST_COSTS_INL_HPP
#undef IQD_MTT_LEAST_COSTS_INL_HPP
#else
#define IQD_MTT_LEAST_COSTS_INL_HPP
#endif

#include <hwy/highway.h>

#include <limits>

#include "pipeline/stages/mimo/front_end_inl.hpp"
#include "pipeline/stages/mimo/mtt_detector/axis_costs_inl.hpp"
#include "pipeline/stages/mimo/mtt_detector/nearest_inl.hpp"

/// The costs that LLRs are computed from, for one vector per SIMD lane.
HWY_BEFORE_NAMESPACE();
namespace iqd::mtt_detector::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace mimo::HWY_NAMESPACE;
using mimo::kMostAntennas;

/// The least cost of the counted paths that have each level of each row and axis.
template <int kAxis> class LeastCosts {
 public:
  HWY_INLINE void clear() {
    for (auto& of_row : least_)
      for (auto& of_axis : of_row)
        for (Real& least : of_axis) least.set(all(kMost));
  }

  /// Counts a path with point q on `row`.
  HWY_INLINE void count(int row, int q, V cost) {
    count(least_[row][0][kPoints<kAxis>.real[q]], cost);
    count(least_[row][1][kPoints<kAxis>.imag[q]], cost);
  }
  /// The same where each lane has a symbol of its own.
  HWY_INLINE void count(int row, const ComplexLanes& symbol, V cost) {
    for (int i = 0; i < kLevels; ++i) {
      const V level = all(kPoints<kAxis>.level[i]);
      count(least_[row][0][i], hn::IfThenElse(hn::Eq(symbol.re.get(), level), cost, all(kMost)));
      count(least_[row][1][i], hn::IfThenElse(hn::Eq(symbol.im.get(), level), cost, all(kMost)));
    }
  }
  /// Counts a path's continuations to all points of `row`. Only the least costs are needed, not their paths, and a
  /// point's axes are separate, so no path has to be chosen for each point.
  template <bool kPrior> HWY_INLINE void count(int row, const AxisCosts<kAxis, kPrior>& costs) {
    V re = costs.re[0].get(), im = costs.im[0].get();
    for (int i = 1; i < kLevels; ++i) {
      re = hn::Min(re, costs.re[i].get());
      im = hn::Min(im, costs.im[i].get());
    }
    for (int i = 0; i < kLevels; ++i) {
      count(least_[row][0][i], hn::Add(costs.re[i].get(), im));
      count(least_[row][1][i], hn::Add(re, costs.im[i].get()));
    }
  }

  /// Fills f.llr and f.least.
  HWY_INLINE void give_llrs(Front& f) const {
    V least = least_[0][0][0].get();
    for (int row = 0; row < f.tx; ++row) {
      for (int bit = 0; bit < 2 * kAxis; ++bit) {
        V with[2] = {all(kMost), all(kMost)};
        for (unsigned i = 0; i < kLevels; ++i) {
          V& of_value = with[i >> (kAxis - 1 - bit / 2) & 1];
          of_value = hn::Min(of_value, least_[row][bit % 2][i].get());
        }
        f.llr[row][bit].set(llr_of(f, row, bit, with[0], with[1]));
        least = hn::Min(least, hn::Min(with[0], with[1]));
      }
    }
    f.least.set(least);
  }

 private:
  static constexpr int kLevels = Points<kAxis>::kLevels;
  static constexpr float kMost = std::numeric_limits<float>::max();

  static HWY_INLINE void count(Real& least, V cost) { least.set(hn::Min(least.get(), cost)); }

  Real least_[kMostAntennas][2][kLevels];  // [row][axis][level]
};

}  // namespace iqd::mtt_detector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
