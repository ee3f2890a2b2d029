// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Included once for each SIMD target, after <hwy/foreach_target.h> and <hwy/highway.h>.
#if defined(IQD_MTT_BEST_PATHS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef IQD_MTT_BEST_PATHS_INL_HPP
#undef IQD_MTT_BEST_PATHS_INL_HPP
#else
#define IQD_MTT_BEST_PATHS_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <limits>

#include "pipeline/stages/mimo/mtt_detector/axis_costs_inl.hpp"
#include "pipeline/stages/mimo/mtt_detector/nearest_inl.hpp"
#include "pipeline/stages/mimo/mtt_detector/path_inl.hpp"

/// The choice among the paths that reach a row, for one vector per SIMD lane.
HWY_BEFORE_NAMESPACE();
namespace iqd::mtt_detector::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace mimo::HWY_NAMESPACE;
using U = hn::RebindToUnsigned<F>;

/// Index of the least of kCount numbers; the first of equal ones.
template <int kCount, class Number> HWY_INLINE hn::Vec<I> first_least(Number number) {
  V least = number(0);
  auto first = hn::Zero(I());
  for (int k = 1; k < kCount; ++k) {
    const V x = number(k);
    first = hn::IfThenElse(hn::RebindMask(I(), hn::Lt(x, least)), hn::Set(I(), k), first);
    least = hn::Min(least, x);
  }
  return first;
}

/// For each point of a row: which of kCount paths, one for each point of the row above, continues to it at least cost.
template <int kAxis, bool kPrior> class BestPaths {
 public:
  static constexpr int kLevels = Points<kAxis>::kLevels, kCount = Points<kAxis>::kCount;

  /// The path that continues to point q.
  HWY_INLINE hn::Vec<I> to(int q) const {
    return hn::BitCast(I(), hn::And(hn::Load(U(), best_[q]), hn::Set(U(), kCount - 1u)));
  }

  /// Finds the paths by definition: one by one. What the prior says of a point is the same for all paths.
  HWY_INLINE void scan(const Path* paths, const Front& f, int row) {
    for (int q = 0; q < kCount; ++q) {
      const auto best = first_least<kCount>([&](int k) { return paths[k].cost_with(f, row, point<kAxis>(q)); });
      hn::Store(hn::BitCast(U(), best), U(), best_[q]);
    }
  }

  /// The same with integer costs that have the path in their lowest bits. The axes' parts are separate, so each path
  /// and point takes one sum and one minimum.
  HWY_INLINE void reduce(const Path* paths, const Front& f, int row) {
    const V scale = key_scale(paths, f, row);
    for (auto& best : best_) hn::Store(hn::Set(U(), ~0u), U(), best);
    alignas(64) std::uint32_t re[kLevels][kMostLanes], im[kLevels][kMostLanes];
    for (int k = 0; k < kCount; ++k) {
      const AxisCosts<kAxis, kPrior> costs(f, row, paths[k]);
      for (int i = 0; i < kLevels; ++i) {
        hn::Store(hn::Or(key(costs.re[i], scale), hn::Set(U(), static_cast<unsigned>(k))), U(), re[i]);
        hn::Store(key(costs.im[i], scale), U(), im[i]);
      }
      for (int q = 0; q < kCount; ++q) {
        const auto sum = hn::Add(hn::Load(U(), re[kPoints<kAxis>.real[q]]), hn::Load(U(), im[kPoints<kAxis>.imag[q]]));
        hn::Store(hn::Min(hn::Load(U(), best_[q]), sum), U(), best_[q]);
      }
    }
  }

 private:
  /// Power of two that scales costs to integers: at least one path can continue to any point for less than 2^31, so the
  /// best path costs less than that too.
  static HWY_INLINE V key_scale(const Path* paths, const Front& f, int row) {
    V bound = all(std::numeric_limits<float>::max());
    const V farthest = hn::Mul(f.r[row][row].re.get(), all(kLevels - 1));
    for (int k = 0; k < kCount; ++k) {
      const ComplexV left = paths[k].left[row].get();
      const ComplexV most{hn::Add(hn::Abs(left.re), farthest), hn::Add(hn::Abs(left.im), farthest)};
      bound = hn::Min(bound, plus_square(paths[k].cost.get(), most));
    }
    if constexpr (kPrior) bound = hn::Add(bound, most_by_prior(f, row));
    if (f.mixed) bound = hn::Add(bound, bound);  // what costs infinitely much counts as twice the bound
    const auto exponent = hn::ShiftRight<23>(hn::BitCast(I(), hn::Max(bound, all(0x1p-60f))));
    return hn::BitCast(F(), hn::ShiftLeft<23>(hn::Sub(hn::Set(I(), 2 * 127 + 30), exponent)));
  }
  static HWY_INLINE V most_by_prior(const Front& f, int row) {
    V most = all(0);
    for (const auto& of_axis : f.level_cost[row]) {
      V of_levels = all(0);
      for (int i = 0; i < kLevels; ++i) {
        const V cost = of_axis[i].get();  // absent levels are never chosen
        of_levels = hn::Max(of_levels, hn::IfThenElseZero(hn::IsFinite(cost), cost));
      }
      most = hn::Add(most, of_levels);
    }
    return most;
  }
  static HWY_INLINE hn::Vec<U> key(const Real& cost, V scale) {
    const V whole = hn::Min(hn::Mul(cost.get(), scale), all(0x7fffff80));
    return hn::And(hn::BitCast(U(), hn::ConvertTo(I(), whole)), hn::Set(U(), ~(kCount - 1u)));
  }

  alignas(64) std::uint32_t best_[kCount][kMostLanes];  // the path is in the lowest bits
};

}  // namespace iqd::mtt_detector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
