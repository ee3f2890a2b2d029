// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Included anew for each kind of processor, after <hwy/foreach_target.h> and <hwy/highway.h>.
#if defined(IQD_MTT_TRAVERSAL_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef IQD_MTT_TRAVERSAL_INL_HPP
#undef IQD_MTT_TRAVERSAL_INL_HPP
#else
#define IQD_MTT_TRAVERSAL_INL_HPP
#endif

#include <hwy/highway.h>

#include <limits>
#include <utility>

#include "pipeline/stages/mimo/mtt_detector/mtt_detector.hpp"
#include "pipeline/stages/mimo/mtt_detector/path_inl.hpp"
#include "pipeline/stages/mimo/mtt_detector/points.hpp"
#include "signal/filters/scratch.hpp"

/// The passes through the trellis, of a vector in each lane.
HWY_BEFORE_NAMESPACE();
namespace iqd::mtt_detector::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace mimo::HWY_NAMESPACE;
using mimo::kMostAntennas;
using U = hn::RebindToUnsigned<F>;

template <int kAxis> class Traversal {
 public:
  Traversal(const Config& config, Scratch& scratch)
      : pooled_(config.lists == Lists::pooled),
        paper_(config.variant == Variant::paper),
        now_(scratch.take<Path>(kCount)),
        next_(scratch.take<Path>(kCount)) {}

  void operator()(Front& f) {
    for (auto& of_row : least_)
      for (auto& of_axis : of_row)
        for (Real& least : of_axis) least.set(all(kMost));
    for (int q = 0; q < kCount; ++q) {
      now_[q].start(f);
      now_[q].append(f, f.tx - 1, point(q));
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
    give_llrs(f);
  }

 private:
  static constexpr Points<kAxis> kPoints{};
  static constexpr int kLevels = kPoints.kLevels, kCount = kPoints.kCount;
  static constexpr float kMost = std::numeric_limits<float>::max();

  static HWY_INLINE ComplexV point(int q) { return {all(kPoints.re[q]), all(kPoints.im[q])}; }

  /// What goes on from `row`, of a path that is kept.
  void copy(const Front& f, int row, const Path& from, Path& to) const {
    to.cost = from.cost;
    for (int below = 0; below < row; ++below) to.left[below] = from.left[below];
    for (int above = row; pooled_ && above < f.tx; ++above) to.symbol[above] = from.symbol[above];
  }
  /// The same of the path that each lane names.
  void copy(const Front& f, int row, hn::Vec<I> path, Path& to) const {
    constexpr int kSize = sizeof(Path) / sizeof(float);
    const auto at = hn::Add(hn::Mul(path, hn::Set(I(), kSize)), hn::Iota(I(), 0));
    const auto real = [at](const Real& of_first) { return gather(of_first.at, at, 0); };
    to.cost.set(real(now_->cost));
    for (int below = 0; below < row; ++below)
      to.left[below].set({real(now_->left[below].re), real(now_->left[below].im)});
    for (int above = row; pooled_ && above < f.tx; ++above)
      to.symbol[above].set({real(now_->symbol[above].re), real(now_->symbol[above].im)});
  }

  /// The survivors of `row` from those of the row above.
  void go_down(const Front& f, int row) {
    if (!paper_ && row == f.tx - 2) return join_all(f);
    paper_ ? scan(f, row) : reduce(f, row);
    for (int q = 0; q < kCount; ++q) {
      copy(f, row + 1, hn::BitCast(I(), hn::And(hn::Load(U(), best_[q]), hn::Set(U(), kCount - 1u))), next_[q]);
      next_[q].append(f, row, point(q));
    }
  }

  /// The first time, when there is a path for each point k: with u = z - R q of the row, what k adds to both rows,
  /// |z' - r k|^2 + |u - a k|^2, grows in circles around the number (r z' + a* u) / (r^2 + |a|^2). So the best point is
  /// the one that is nearest to it.
  void join_all(const Front& f) {
    const int last = f.tx - 1, row = last - 1;
    const ComplexV z = f.z[last].get(), a = f.r[row][last].get();
    const V r = f.r[last][last].re.get(), diagonal = f.r[row][row].re.get();
    const V square = plus_square(hn::Mul(r, r), a);
    const auto matters = hn::Ge(square, all(std::numeric_limits<float>::min()));
    const V per_step = hn::IfThenElseZero(matters, hn::Div(all(1), square));
    const V anywhere = hn::IfThenZeroElse(matters, all(kPoints.level[0]));
    for (int q = 0; q < kCount; ++q) {
      const ComplexV s = point(q), rest = f.z[row].get();
      const ComplexV u{hn::NegMulAdd(diagonal, s.re, rest.re), hn::NegMulAdd(diagonal, s.im, rest.im)};
      const V re = hn::MulAdd(a.im, u.im, hn::MulAdd(a.re, u.re, hn::Mul(r, z.re)));
      const V im = hn::NegMulAdd(a.im, u.re, hn::MulAdd(a.re, u.im, hn::Mul(r, z.im)));
      next_[q].start(f);
      next_[q].append(f, last, nearest_point(re, im, per_step, anywhere));
      next_[q].append(f, row, s);
    }
  }

  /// Which of kCount numbers is the least, the first of them where there are several.
  template <class Number> static hn::Vec<I> first_least(Number number) {
    V least = number(0);
    auto first = hn::Zero(I());
    for (int k = 1; k < kCount; ++k) {
      const V x = number(k);
      first = hn::IfThenElse(hn::RebindMask(I(), hn::Lt(x, least)), hn::Set(I(), k), first);
      least = hn::Min(least, x);
    }
    return first;
  }

  /// The path of least cost for each point of `row`, as it is defined: one by one.
  void scan(const Front& f, int row) {
    for (int q = 0; q < kCount; ++q) {
      const auto best = first_least([&](int k) { return now_[k].cost_with(f, row, point(q)); });
      hn::Store(hn::BitCast(U(), best), U(), best_[q]);
    }
  }

  struct AxisCosts {
    Real re[kLevels], im[kLevels];
  };
  /// What path k costs with each level of `row`: its cost so far and the real part's, the imaginary part's.
  AxisCosts axis_costs(const Front& f, int row, int k) const {
    AxisCosts costs;
    const V diagonal = f.r[row][row].re.get();
    const ComplexV left = now_[k].left[row].get();
    for (int i = 0; i < kLevels; ++i) {
      const V re = hn::NegMulAdd(diagonal, all(kPoints.level[i]), left.re);
      const V im = hn::NegMulAdd(diagonal, all(kPoints.level[i]), left.im);
      costs.re[i].set(hn::MulAdd(re, re, now_[k].cost.get()));
      costs.im[i].set(hn::Mul(im, im));
    }
    return costs;
  }

  /// A power of two that makes whole numbers of costs: one path can go on to any point for less than 2^31, and so can
  /// the best.
  V key_scale(const Front& f, int row) const {
    V bound = all(kMost);
    const V farthest = hn::Mul(f.r[row][row].re.get(), all(kLevels - 1));
    for (int k = 0; k < kCount; ++k) {
      const ComplexV left = now_[k].left[row].get();
      const ComplexV most{hn::Add(hn::Abs(left.re), farthest), hn::Add(hn::Abs(left.im), farthest)};
      bound = hn::Min(bound, plus_square(now_[k].cost.get(), most));
    }
    const auto exponent = hn::ShiftRight<23>(hn::BitCast(I(), hn::Max(bound, all(0x1p-60f))));
    return hn::BitCast(F(), hn::ShiftLeft<23>(hn::Sub(hn::Set(I(), 2 * 127 + 30), exponent)));
  }
  static hn::Vec<U> key(const Real& cost, V scale) {
    const V whole = hn::Min(hn::Mul(cost.get(), scale), all(0x7fffff80));
    return hn::And(hn::BitCast(U(), hn::ConvertTo(I(), whole)), hn::Set(U(), ~(kCount - 1u)));
  }

  /// The same by costs in whole numbers, with the path in their lowest bits: the axes' parts are separate, so that one
  /// sum and one minimum are left for each path and point.
  void reduce(const Front& f, int row) {
    const V scale = key_scale(f, row);
    for (auto& best : best_) hn::Store(hn::Set(U(), ~0u), U(), best);
    alignas(64) std::uint32_t re[kLevels][kMostLanes], im[kLevels][kMostLanes];
    for (int k = 0; k < kCount; ++k) {
      const AxisCosts costs = axis_costs(f, row, k);
      for (int i = 0; i < kLevels; ++i) {
        hn::Store(hn::Or(key(costs.re[i], scale), hn::Set(U(), static_cast<unsigned>(k))), U(), re[i]);
        hn::Store(key(costs.im[i], scale), U(), im[i]);
      }
      for (int q = 0; q < kCount; ++q) {
        const auto sum = hn::Add(hn::Load(U(), re[kPoints.real[q]]), hn::Load(U(), im[kPoints.imag[q]]));
        hn::Store(hn::Min(hn::Load(U(), best_[q]), sum), U(), best_[q]);
      }
    }
  }

  /// The nearest level; the bits of its label are found one by one, 0 where both are as near.
  static HWY_INLINE V nearest_level(V x) {
    constexpr float kHalf[] = {1, 2, 4, 8};  // the middle of what is left on either side
    V signs[kAxis];
    for (int b = kAxis - 1; b >= 0; --b) {
      signs[b] = x;
      x = hn::Sub(all(kHalf[b]), hn::Abs(x));
    }
    V level = all(0);
    for (int b = 0; b < kAxis; ++b) level = hn::CopySignToAbs(hn::Sub(all(kHalf[b]), level), signs[b]);
    return level;
  }
  static HWY_INLINE ComplexV nearest_point(V re, V im, V per_step, V anywhere) {
    return {nearest_level(hn::MulAdd(re, per_step, anywhere)), nearest_level(hn::MulAdd(im, per_step, anywhere))};
  }
  /// The symbol of `row` that costs a path least.
  HWY_INLINE ComplexV cheapest(const Front& f, int row, const Path& path) const {
    const ComplexV left = path.left[row].get();
    if (!paper_) return nearest_point(left.re, left.im, f.per_step[row].get(), f.anywhere[row].get());
    const auto q = first_least([&](int k) { return path.cost_with(f, row, point(k)); });
    return {hn::GatherIndex(F(), kPoints.re, q), hn::GatherIndex(F(), kPoints.im, q)};
  }

  /// Each survivor of `row` goes on over the rows below; what it costs in the end counts for its bits.
  void list(const Front& f, int row) {
    for (int q = 0; q < kCount; ++q) {
      Path path;
      copy(f, row, now_[q], path);
      for (int below = row - 1; below >= 0; --below) path.append(f, below, cheapest(f, below, path));
      const V cost = path.cost.get();
      count(least_[row][0][kPoints.real[q]], cost);
      count(least_[row][1][kPoints.imag[q]], cost);
      for (int other = 0; pooled_ && other < f.tx; ++other)
        if (other != row) count(other, path.symbol[other], cost);
    }
  }
  static void count(Real& least, V cost) { least.set(hn::Min(least.get(), cost)); }
  void count(int row, const ComplexLanes& symbol, V cost) {
    for (int i = 0; i < kLevels; ++i) {
      const V level = all(kPoints.level[i]);
      count(least_[row][0][i], hn::IfThenElse(hn::Eq(symbol.re.get(), level), cost, all(kMost)));
      count(least_[row][1][i], hn::IfThenElse(hn::Eq(symbol.im.get(), level), cost, all(kMost)));
    }
  }

  /// The list of row 0, where only the least costs are asked for and not who their paths are: a point's axes are
  /// separate, so no path has to be chosen for each point.
  void finish(const Front& f) {
    for (int k = 0; k < kCount; ++k) {
      const AxisCosts costs = axis_costs(f, 0, k);
      V re = costs.re[0].get(), im = costs.im[0].get();
      for (int i = 1; i < kLevels; ++i) {
        re = hn::Min(re, costs.re[i].get());
        im = hn::Min(im, costs.im[i].get());
      }
      for (int i = 0; i < kLevels; ++i) {
        count(least_[0][0][i], hn::Add(costs.re[i].get(), im));
        count(least_[0][1][i], hn::Add(re, costs.im[i].get()));
      }
    }
  }

  void give_llrs(Front& f) const {
    V least = least_[0][0][0].get();
    for (int row = 0; row < f.tx; ++row) {
      for (int bit = 0; bit < 2 * kAxis; ++bit) {
        V with[2] = {all(kMost), all(kMost)};
        for (unsigned i = 0; i < kLevels; ++i) {
          V& of_value = with[i >> (kAxis - 1 - bit / 2) & 1];
          of_value = hn::Min(of_value, least_[row][bit % 2][i].get());
        }
        f.llr[row][bit].set(llr_of(f, with[0], with[1]));
        least = hn::Min(least, hn::Min(with[0], with[1]));
      }
    }
    f.least.set(least);
  }

  const bool pooled_;
  const bool paper_;
  Path* now_;  // survivors: one for each point
  Path* next_;
  Real least_[kMostAntennas][2][kLevels];  // cost of the paths that have a level: [row][axis][level]
  /// In their lowest bits: the path that goes on to each point.
  alignas(64) std::uint32_t best_[kCount][kMostLanes];
};

}  // namespace iqd::mtt_detector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
