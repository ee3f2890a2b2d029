// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <limits>

#include "pipeline/stages/mimo/kbest_detector/kbest_detector.hpp"
#include "signal/filters/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/mimo/kbest_detector/kbest_detector_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "pipeline/stages/mimo/paths_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace iqd::kbest_detector::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace mimo::HWY_NAMESPACE;
using Number = hn::Vec<I>;
/// Chooses the K best continuations of a row. Finds the cost of the K-th by bisection over the bits of floats, counting
/// at each step; then collects them in one pass.
class Chooser {
 public:
  Chooser(const Config& config, int bits, Scratch& scratch)
      : most_(config.paths(bits)),
        best_(scratch.take<Real>(std::int64_t{most_} << bits / 2)),
        chosen_(scratch.take<Whole>(most_ + 1)) {}

  int choose(const Paths& paths, const Paths::Choice& choice) {
    const int survivors = std::min(most_, paths.size() * paths.points());
    collect(paths, find_limit(paths, survivors), survivors);
    const Number in_symbol = hn::Set(I(), paths.points() - 1);
    const int bits = std::countr_zero(static_cast<unsigned>(paths.points()));
    for (int n = 0; n < survivors; ++n) {
      const Number path = hn::ShiftRightSame(chosen_[n].get(), bits), symbol = hn::And(chosen_[n].get(), in_symbol);
      choice.parent[n].set(path);
      choice.symbol[n].set(symbol);
      choice.distance[n].set(paths.cost(path, symbol));
    }
    return survivors;
  }

 private:
  /// Bits of floats: at least `wanted` continuations cost at most `limit`, and fewer cost at most `above`.
  struct Range {
    Number above, limit;
  };

  /// Bisects until the range cannot shrink further, or `most_steps` times. Stops where exactly `wanted` are found: no
  /// limit is better.
  template <class Count> static void narrow(Range& range, int wanted, int most_steps, const Count& count) {
    const Number one = hn::Set(I(), 1), all_wanted = hn::Set(I(), wanted), fewer = hn::Set(I(), wanted - 1);
    for (int step = 0; step < most_steps; ++step) {
      const Number gap = hn::Sub(range.limit, range.above);
      if (hn::AllFalse(I(), hn::Gt(gap, one))) return;
      const Number middle = hn::Add(range.above, hn::ShiftRight<1>(gap));
      const Number found = count(hn::BitCast(F(), middle));
      const auto enough = hn::Gt(found, fewer);
      range.limit = hn::IfThenElse(enough, middle, range.limit);
      range.above = hn::IfThenElse(enough, range.above, middle);
      range.above = hn::IfThenElse(hn::Eq(found, all_wanted), hn::Sub(middle, one), range.above);
    }
  }

  static Number add_where(Number count, hn::Mask<F> where) {
    return hn::Sub(count, hn::VecFromMask(I(), hn::RebindMask(I(), where)));
  }

  /// The range of all costs. Keeps the best continuation of each path with each level of the real axis.
  Range whole_range(const Paths& paths) {
    V least = all(std::numeric_limits<float>::infinity()), most = all(0);
    for (int k = 0; k < paths.size(); ++k) {
      V least_im = paths.cost_im(k)[0].get(), most_im = least_im;
      for (int j = 1; j < paths.levels(); ++j) {
        least_im = hn::Min(least_im, paths.cost_im(k)[j].get());
        most_im = hn::Max(most_im, paths.cost_im(k)[j].get());
      }
      for (int i = 0; i < paths.levels(); ++i) {
        const V re = paths.cost_re(k)[i].get(), best = hn::Add(re, least_im);
        best_[k * paths.levels() + i].set(best);
        least = hn::Min(least, best);
        most = hn::Max(most, hn::Add(re, most_im));
      }
    }
    return {hn::Sub(hn::BitCast(I(), least), hn::Set(I(), 1)), hn::BitCast(I(), most)};
  }

  /// There are fewer row minima than continuations, so a limit for them is found sooner, and it bounds the survivors
  /// too.
  V find_limit(const Paths& paths, int survivors) {
    constexpr int kFewSteps = 8, kAllSteps = 32;
    Range range = whole_range(paths);
    if (survivors == paths.size() * paths.points()) return hn::BitCast(F(), range.limit);
    const int rows = paths.size() * paths.levels();
    if (rows >= survivors) {
      Range of_rows = range;
      narrow(of_rows, survivors, kFewSteps, [&](V limit) {
        Number found = hn::Zero(I());
        for (int n = 0; n < rows; ++n) found = add_where(found, hn::Le(best_[n].get(), limit));
        return found;
      });
      range.limit = of_rows.limit;
    }
    narrow(range, survivors, kAllSteps, [&](V limit) { return count(paths, limit); });
    return hn::BitCast(F(), range.limit);
  }

  Number count(const Paths& paths, V limit) const {
    Number found = hn::Zero(I());
    for (int k = 0, n = 0; k < paths.size(); ++k)
      for (int i = 0; i < paths.levels(); ++i, ++n) {
        if (hn::AllFalse(F(), hn::Le(best_[n].get(), limit))) continue;
        const V re = paths.cost_re(k)[i].get();
        for (int j = 0; j < paths.levels(); ++j)
          found = add_where(found, hn::Le(hn::Add(re, paths.cost_im(k)[j].get()), limit));
      }
    return found;
  }

  /// Collects, in the order of paths and symbols, those below the limit and the first of those that cost exactly the
  /// limit. Each is written to the end of its lane's list; the next one overwrites it if it does not belong there.
  void collect(const Paths& paths, V limit, int survivors) {
    const V below = hn::BitCast(F(), hn::Sub(hn::BitCast(I(), limit), hn::Set(I(), 1)));  // NaN below 0
    Number equal = hn::Sub(hn::Set(I(), survivors), count(paths, below));
    Number end = hn::Iota(I(), 0);
    for (int k = 0, path = 0; k < paths.size(); ++k)
      for (int q = 0; q < paths.points(); ++q, ++path) {
        const V cost = hn::Add(paths.cost_re(k)[paths.real_of(q)].get(), paths.cost_im(k)[paths.imag_of(q)].get());
        const auto no_more = hn::Le(cost, limit);
        if (hn::AllFalse(F(), no_more)) continue;
        hn::ScatterIndex(hn::Set(I(), path), I(), chosen_->at, end);
        const auto just = hn::And(no_more, hn::Ge(cost, limit));
        const auto out = hn::And(just, hn::RebindMask(F(), hn::Lt(equal, hn::Set(I(), 1))));
        equal = hn::Add(equal, hn::VecFromMask(I(), hn::RebindMask(I(), just)));
        const auto in = hn::AndNot(out, no_more);
        end = hn::Add(end, hn::And(hn::VecFromMask(I(), hn::RebindMask(I(), in)), hn::Set(I(), kMostLanes)));
      }
  }

  int most_;
  Real* best_;     // [path][level]
  Whole* chosen_;  // path · points + symbol
};

std::int64_t run(const mimo::DetectorShape& shape, const Config& config, const mimo::DetectorJob& job,
                 const mimo::Batch& batch, std::byte* memory) {
  Scratch scratch(memory);
  Front& front = *scratch.take<Front>(1);
  Paths paths(shape.tx, shape.bits, config.paths(shape.bits), scratch);
  Chooser chooser(config, shape.bits, scratch);
  paths.prepare();
  return detect_all(shape, job, batch, front, [&](Front& f) {
    paths.descend(f, static_cast<float>(config.clip),
                  [&](const Paths::Choice& choice) { return chooser.choose(paths, choice); });
  });
}

}  // namespace iqd::kbest_detector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::kbest_detector {

HWY_EXPORT(run);

std::size_t scratch_bytes(const mimo::DetectorShape& shape, const Config& config) {
  Scratch count(nullptr);
  count.take<mimo::HWY_NAMESPACE::Front>(1);
  mimo::HWY_NAMESPACE::Paths(shape.tx, shape.bits, config.paths(shape.bits), count);
  HWY_NAMESPACE::Chooser(config, shape.bits, count);
  return count.bytes();
}

std::int64_t run_cpu(const mimo::DetectorShape& shape, const Config& config, const mimo::DetectorJob& job,
                     const mimo::Batch& batch, std::byte* memory) noexcept {
  return HWY_DYNAMIC_DISPATCH(run)(shape, config, job, batch, memory);
}

}  // namespace iqd::kbest_detector
#endif
