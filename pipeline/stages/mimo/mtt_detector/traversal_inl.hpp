// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Included once for each SIMD target, after <hwy/foreach_target.h> and <hwy/highway.h>.
#if defined(IQD_MTT_TRAVERSAL_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef IQD_MTT_TRAVERSAL_INL_HPP
#undef IQD_MTT_TRAVERSAL_INL_HPP
#else
#define IQD_MTT_TRAVERSAL_INL_HPP
#endif

#include <hwy/highway.h>

#include <limits>
#include <utility>

#include "pipeline/stages/mimo/mtt_detector/axis_costs_inl.hpp"
#include "pipeline/stages/mimo/mtt_detector/best_paths_inl.hpp"
#include "pipeline/stages/mimo/mtt_detector/least_costs_inl.hpp"
#include "pipeline/stages/mimo/mtt_detector/mtt_detector.hpp"
#include "pipeline/stages/mimo/mtt_detector/nearest_inl.hpp"
#include "pipeline/stages/mimo/mtt_detector/path_inl.hpp"
#include "signal/filters/scratch.hpp"

/// The passes through the trellis, for one vector per SIMD lane.
HWY_BEFORE_NAMESPACE();
namespace iqd::mtt_detector::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace mimo::HWY_NAMESPACE;

/// `kMixed`, without a prior: rows have the levels up to their top, and absent points cost infinitely much.
template <int kAxis, bool kPrior, bool kMixed = false> class Traversal {
 public:
  Traversal(const Config& config, Scratch& scratch)
      : pooled_(config.lists == Lists::pooled),
        paper_(config.variant == Variant::paper),
        now_(scratch.take<Path>(kCount)),
        next_(scratch.take<Path>(kCount)) {}

  HWY_INLINE void operator()(Front& f) {
    least_.clear();
    for (int q = 0; q < kCount; ++q) {
      now_[q].start(f);
      append_point(f, f.tx - 1, q, now_[q]);
    }
    for (int row = f.tx - 1; row > 0; --row) {
      list(f, row);
      if (row == 1 && !pooled_ && !paper_) break;
      go_down(f, row - 1);
      std::swap(now_, next_);
    }
    if (f.tx > 1 && !pooled_ && !paper_)
      finish(f);
    else
      list(f, 0);
    least_.give_llrs(f);
  }

 private:
  static constexpr int kCount = Points<kAxis>::kCount;

  /// The survivors of `row` from those of the row above.
  HWY_INLINE void go_down(const Front& f, int row) {
    if (!kPrior && !paper_ && row == f.tx - 2) return join_all(f);
    paper_ ? best_.scan(now_, f, row) : best_.reduce(now_, f, row);
    for (int q = 0; q < kCount; ++q) {
      next_[q].keep(f, row + 1, pooled_, now_, best_.to(q));
      append_point(f, row, q, next_[q]);
    }
  }

  /// The first reduction, where each point k has a path. With u = z - R q of the row, what k adds to both rows,
  /// |z' - r k|^2 + |u - a k|^2, grows in circles around (r z' + a* u) / (r^2 + |a|^2). So the best point is the one
  /// nearest to it.
  HWY_INLINE void join_all(const Front& f) {
    const int last = f.tx - 1, row = last - 1;
    const ComplexV z = f.z[last].get(), a = f.r[row][last].get();
    const V r = f.r[last][last].re.get(), diagonal = f.r[row][row].re.get();
    const V square = plus_square(hn::Mul(r, r), a);
    const auto matters = hn::Ge(square, all(std::numeric_limits<float>::min()));
    const V per_step = hn::IfThenElseZero(matters, hn::Div(all(1), square));
    const V anywhere = hn::IfThenZeroElse(matters, all(kPoints<kAxis>.level[0]));
    for (int q = 0; q < kCount; ++q) {
      const ComplexV s = point<kAxis>(q), rest = f.z[row].get();
      const ComplexV u{hn::NegMulAdd(diagonal, s.re, rest.re), hn::NegMulAdd(diagonal, s.im, rest.im)};
      const V re = hn::MulAdd(a.im, u.im, hn::MulAdd(a.re, u.re, hn::Mul(r, z.re)));
      const V im = hn::NegMulAdd(a.im, u.re, hn::MulAdd(a.re, u.im, hn::Mul(r, z.im)));
      next_[q].start(f);
      next_[q].append(f, last, within(f, last, nearest_point<kAxis>(re, im, per_step, anywhere)));
      append_point(f, row, q, next_[q]);
    }
  }

  /// The nearest point of those that the row has.
  HWY_INLINE static ComplexV within(const Front& f, int row, ComplexV s) {
    if constexpr (!kMixed) return s;
    const V top = f.top[row].get(), bottom = hn::Neg(top);
    return {hn::Max(bottom, hn::Min(top, s.re)), hn::Max(bottom, hn::Min(top, s.im))};
  }
  HWY_INLINE static void append_point(const Front& f, int row, int q, Path& path) {
    path.append(f, row, point<kAxis>(q));
    if constexpr (kPrior || kMixed)
      path.pay(hn::Add(f.level_cost[row][0][kPoints<kAxis>.real[q]].get(),
                       f.level_cost[row][1][kPoints<kAxis>.imag[q]].get()));
  }

  /// Appends the symbol of `row` that costs least.
  HWY_INLINE void append_cheapest(const Front& f, int row, Path& path) const {
    if constexpr (kPrior) {
      const AxisCosts<kAxis, true> costs(f, row, path);
      const V re = cheapest_level(costs.re), im = cheapest_level(costs.im);
      V prior = all(0);
      for (int i = 0; i < Points<kAxis>::kLevels; ++i) {
        const V level = all(kPoints<kAxis>.level[i]);
        prior = hn::Add(prior, hn::IfThenElseZero(hn::Eq(re, level), f.level_cost[row][0][i].get()));
        prior = hn::Add(prior, hn::IfThenElseZero(hn::Eq(im, level), f.level_cost[row][1][i].get()));
      }
      path.append(f, row, {re, im});
      path.pay(prior);
    } else {
      path.append(f, row, cheapest(f, row, path));
    }
  }
  HWY_INLINE static V cheapest_level(const Real* costs) {
    V least = costs[0].get(), level = all(kPoints<kAxis>.level[0]);
    for (int i = 1; i < Points<kAxis>::kLevels; ++i) {
      level = hn::IfThenElse(hn::Lt(costs[i].get(), least), all(kPoints<kAxis>.level[i]), level);
      least = hn::Min(least, costs[i].get());
    }
    return level;
  }
  /// The symbol of `row` that costs a path least, without a prior.
  HWY_INLINE ComplexV cheapest(const Front& f, int row, const Path& path) const {
    const ComplexV left = path.left[row].get();
    if (!paper_)
      return within(f, row, nearest_point<kAxis>(left.re, left.im, f.per_step[row].get(), f.anywhere[row].get()));
    const auto q = first_least<kCount>([&](int k) { return path.cost_with(f, row, point<kAxis>(k)); });
    return {hn::GatherIndex(F(), kPoints<kAxis>.re, q), hn::GatherIndex(F(), kPoints<kAxis>.im, q)};
  }

  /// Each survivor of `row` continues over the rows below; its final cost counts for its bits.
  HWY_INLINE void list(const Front& f, int row) {
    for (int q = 0; q < kCount; ++q) {
      Path path;
      path.keep(f, row, pooled_, now_[q]);
      for (int below = row - 1; below >= 0; --below) append_cheapest(f, below, path);
      const V cost = path.cost.get();
      least_.count(row, q, cost);
      for (int other = 0; pooled_ && other < f.tx; ++other)
        if (other != row) least_.count(other, path.symbol[other], cost);
    }
  }

  /// The list of row 0.
  HWY_INLINE void finish(const Front& f) {
    for (int k = 0; k < kCount; ++k) least_.count(0, AxisCosts < kAxis, kPrior || kMixed > (f, 0, now_[k]));
  }

  const bool pooled_;
  const bool paper_;
  Path* now_;  // survivors: one for each point
  Path* next_;
  LeastCosts<kAxis> least_;
  BestPaths<kAxis, kPrior> best_;  // for each point of the next row
};

}  // namespace iqd::mtt_detector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
