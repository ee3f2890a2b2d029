// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Included once for each SIMD target, after front_end_inl.hpp.
#if defined(IQD_MIMO_PATHS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef IQD_MIMO_PATHS_INL_HPP
#undef IQD_MIMO_PATHS_INL_HPP
#else
#define IQD_MIMO_PATHS_INL_HPP
#endif

#include "pipeline/stages/mimo/front_end_inl.hpp"
#include "signal/filters/scratch.hpp"

/// One list of paths down the rows of R, for detectors that go through it once: computes each row's costs, lets the
/// detector choose among them, and computes LLRs from the final list.
HWY_BEFORE_NAMESPACE();
namespace iqd::mimo::HWY_NAMESPACE {

/// An integer per lane, in memory.
struct alignas(64) Whole {
  std::int32_t at[kMostLanes];

  HWY_INLINE hn::Vec<I> get() const { return hn::Load(I(), at); }
  HWY_INLINE void set(hn::Vec<I> v) { hn::Store(v, I(), at); }
};
/// For each lane, the number at the array index that the lane names.
HWY_INLINE V pick(const Real* from, hn::Vec<I> place) {
  const auto element = hn::Add(hn::ShiftLeft<4>(place), hn::Iota(I(), 0));
  static_assert(kMostLanes == 16);
  return hn::GatherIndex(F(), from->at, element);
}
HWY_INLINE hn::Vec<I> pick(const Whole* from, hn::Vec<I> place) {
  const auto element = hn::Add(hn::ShiftLeft<4>(place), hn::Iota(I(), 0));
  return hn::GatherIndex(I(), from->at, element);
}

class Paths {
 public:
  /// The detector's choice for the next row: path number `parent` continues with symbol number `symbol`.
  struct Choice {
    Whole* parent;
    Whole* symbol;
    Real* distance;
  };

  /// At most `most` paths at a time.
  Paths(int tx, int bits, std::int64_t most, Scratch& scratch)
      : tx_(tx),
        bits_(bits),
        most_(most),
        re_{scratch.take<Real>(tx * most), scratch.take<Real>(tx * most)},
        im_{scratch.take<Real>(tx * most), scratch.take<Real>(tx * most)},
        cost_re_(scratch.take<Real>(most << bits / 2)),
        cost_im_(scratch.take<Real>(most << bits / 2)),
        parent_(scratch.take<Whole>(tx * most)),
        symbol_(scratch.take<Whole>(tx * most)),
        distance_(scratch.take<Real>(most)),
        level_re_(scratch.take<float>(1 << bits)),
        level_im_(scratch.take<float>(1 << bits)),
        real_(scratch.take<std::int32_t>(1 << bits)),
        imag_(scratch.take<std::int32_t>(1 << bits)) {}

  int points() const { return 1 << bits_; }
  int levels() const { return 1 << bits_ / 2; }
  int size() const { return size_; }
  /// The bits of symbol q that choose its real and its imaginary part.
  int real_of(int q) const { return real_[q]; }
  int imag_of(int q) const { return imag_[q]; }
  /// Path k continues with symbol q at the cost cost_re(k)[real_of(q)] + cost_im(k)[imag_of(q)], its distance included.
  const Real* cost_re(int k) const { return cost_re_ + k * levels(); }
  const Real* cost_im(int k) const { return cost_im_ + k * levels(); }

  /// The cost of each lane's path and symbol.
  V cost(hn::Vec<I> path, hn::Vec<I> symbol) const {
    const auto first = hn::Mul(path, hn::Set(I(), levels()));
    return hn::Add(pick(cost_re_, hn::Add(first, hn::GatherIndex(I(), real_, symbol))),
                   pick(cost_im_, hn::Add(first, hn::GatherIndex(I(), imag_, symbol))));
  }

  /// Fills the tables, once a block.
  void prepare() {
    const int half = bits_ / 2;
    for (int i = 0; i < levels(); ++i)
      for (int j = 0; j < levels(); ++j) {
        const auto q = static_cast<int>(qam::weave(half, static_cast<unsigned>(i), static_cast<unsigned>(j)));
        real_[q] = i;
        imag_[q] = j;
        level_re_[q] = static_cast<float>(qam::amplitude(half, static_cast<unsigned>(i)));
        level_im_[q] = static_cast<float>(qam::amplitude(half, static_cast<unsigned>(j)));
      }
  }

  /// Goes down all rows: `choose(choice)` fills in the continuations and returns their number. Puts LLRs and least
  /// distance into the front; LLRs are within +-clip, and +-clip where no path has one value of a bit.
  template <class Choose> void descend(Front& f, float clip, const Choose& choose) {
    size_ = 1;
    distance_[0].set(all(0));
    for (int r = 0; r < tx_; ++r) re_[0][r * most_] = f.z[r].re, im_[0][r * most_] = f.z[r].im;
    for (int m = tx_ - 1; m >= 0; --m) {
      find_costs(f, m);
      if (f.has_costs) add_level_costs(f, m);
      const Choice choice{parent_ + m * most_, symbol_ + m * most_, distance_};
      size_ = choose(choice);
      advance(f, m);
    }
    find_llrs(f, clip);
  }

 private:
  void find_costs(const Front& f, int m) {
    const V diagonal = f.r[m][m].re.get();
    for (int k = 0; k < size_; ++k) {
      const V re = re_[0][m * most_ + k].get(), im = im_[0][m * most_ + k].get(), so_far = distance_[k].get();
      for (int i = 0; i < levels(); ++i) {
        const V level = all(static_cast<float>(qam::amplitude(bits_ / 2, static_cast<unsigned>(i))));
        const V x = hn::NegMulAdd(diagonal, level, re), y = hn::NegMulAdd(diagonal, level, im);
        cost_re_[k * levels() + i].set(hn::MulAdd(x, x, so_far));
        cost_im_[k * levels() + i].set(hn::Mul(y, y));
      }
    }
  }
  /// What levels cost by a prior, and that absent ones are never chosen.
  HWY_NOINLINE void add_level_costs(const Front& f, int m) {
    for (int k = 0; k < size_; ++k)
      for (int i = 0; i < levels(); ++i) {
        Real &cost_re = cost_re_[k * levels() + i], &cost_im = cost_im_[k * levels() + i];
        cost_re.set(hn::Add(cost_re.get(), f.level_cost[m][0][i].get()));
        cost_im.set(hn::Add(cost_im.get(), f.level_cost[m][1][i].get()));
      }
    if (f.mixed) keep_if_silent(f, m);
  }
  /// Where nothing is sent, each path continues to one symbol, its own: none is lost.
  void keep_if_silent(const Front& f, int m) {
    const V other = hn::IfThenElseZero(hn::Gt(f.silent[m].get(), all(0)), all(std::numeric_limits<float>::infinity()));
    for (int k = 0; k < size_; ++k)
      for (int i = 0; i < levels(); ++i) {
        const int own = k & (points() - 1);
        Real &cost_re = cost_re_[k * levels() + i], &cost_im = cost_im_[k * levels() + i];
        if (i != real_[own]) cost_re.set(hn::Add(cost_re.get(), other));
        if (i != imag_[own]) cost_im.set(hn::Add(cost_im.get(), other));
      }
  }

  /// Subtracts the symbols chosen on row m from the rows below.
  void advance(const Front& f, int m) {
    for (int k = 0; k < size_; ++k) {
      const auto parent = parent_[m * most_ + k].get(), symbol = symbol_[m * most_ + k].get();
      const ComplexV a{hn::GatherIndex(F(), level_re_, symbol), hn::GatherIndex(F(), level_im_, symbol)};
      for (int r = 0; r < m; ++r) {
        const ComplexV before{pick(re_[0] + r * most_, parent), pick(im_[0] + r * most_, parent)};
        const ComplexV rest = minus_product(before, f.r[r][m].get(), a);
        re_[1][r * most_ + k].set(rest.re);
        im_[1][r * most_ + k].set(rest.im);
      }
    }
    std::swap(re_[0], re_[1]);
    std::swap(im_[0], im_[1]);
  }

  /// Follows each path back up.
  void find_llrs(Front& f, float clip) {
    const V none = all(std::numeric_limits<float>::infinity());
    Real least[kMostAntennas][kMostAntennas][2];  // [row][bit][value]
    for (int m = 0; m < tx_; ++m)
      for (int b = 0; b < bits_; ++b) least[m][b][0].set(none), least[m][b][1].set(none);
    V best = none;
    for (int k = 0; k < size_; ++k) {
      const V distance = distance_[k].get();
      best = hn::Min(best, distance);
      auto path = hn::Set(I(), k);
      for (int m = 0; m < tx_; ++m) {
        const auto symbol = pick(symbol_ + m * most_, path);
        path = pick(parent_ + m * most_, path);
        for (int b = 0; b < bits_; ++b) {
          const auto bit = hn::TestBit(symbol, hn::Set(I(), 1 << (bits_ - 1 - b)));
          const auto set = hn::RebindMask(F(), bit);
          least[m][b][0].set(hn::Min(least[m][b][0].get(), hn::IfThenElse(set, none, distance)));
          least[m][b][1].set(hn::Min(least[m][b][1].get(), hn::IfThenElse(set, distance, none)));
        }
      }
    }
    f.least.set(best);
    for (int m = 0; m < tx_; ++m)
      for (int b = 0; b < bits_; ++b) {
        const V llr = llr_of(f, m, b, least[m][b][0].get(), least[m][b][1].get());
        f.llr[m][b].set(hn::Max(all(-clip), hn::Min(all(clip), llr)));
      }
  }

  int tx_, bits_;
  std::int64_t most_;
  int size_ = 0;
  // [row][k]: residual of z; those of this row and the next
  Real* re_[2];
  Real* im_[2];
  Real* cost_re_;  // [k][level]
  Real* cost_im_;
  Whole* parent_;  // [row][k]
  Whole* symbol_;
  Real* distance_;
  float* level_re_;  // [symbol]
  float* level_im_;
  std::int32_t* real_;
  std::int32_t* imag_;
};

}  // namespace iqd::mimo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
