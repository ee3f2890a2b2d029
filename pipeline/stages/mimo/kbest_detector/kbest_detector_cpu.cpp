// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/mimo/kbest_detector/kbest_detector.hpp"
#include "signal/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/mimo/kbest_detector/kbest_detector_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "pipeline/stages/mimo/paths_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace iqd::kbest_detector::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mimo::HWY_NAMESPACE::all;
using mimo::HWY_NAMESPACE::F;
using mimo::HWY_NAMESPACE::Front;
using mimo::HWY_NAMESPACE::I;
using mimo::HWY_NAMESPACE::lanes;
using mimo::HWY_NAMESPACE::Paths;
using mimo::HWY_NAMESPACE::Real;
using mimo::HWY_NAMESPACE::V;
using mimo::HWY_NAMESPACE::Whole;
using Number = hn::Vec<I>;

/// The least cost of a path's continuations, and the largest.
struct Range {
  V least, most;
};
HWY_INLINE Range range_of(const Paths& paths, int k) {
  const Real *const re = paths.cost_re(k), *const im = paths.cost_im(k);
  Range a{re[0].get(), re[0].get()}, b{im[0].get(), im[0].get()};
  for (int i = 1; i < paths.levels(); ++i) {
    a = {hn::Min(a.least, re[i].get()), hn::Max(a.most, re[i].get())};
    b = {hn::Min(b.least, im[i].get()), hn::Max(b.most, im[i].get())};
  }
  return {hn::Add(a.least, b.least), hn::Add(a.most, b.most)};
}

/// How many continuations cost `limit` or less.
Number count(const Paths& paths, V limit) {
  Number found = hn::Zero(I());
  for (int k = 0; k < paths.size(); ++k) {
    const Real *const re = paths.cost_re(k), *const im = paths.cost_im(k);
    for (int i = 0; i < paths.levels(); ++i) {
      const V a = re[i].get();
      for (int j = 0; j < paths.levels(); ++j)
        found = hn::Sub(found, hn::VecFromMask(I(), hn::RebindMask(I(), hn::Le(hn::Add(a, im[j].get()), limit))));
    }
  }
  return found;
}

/// The cost that `survivors` continuations do not exceed, or more where several have just that: by halving the range,
/// in the order of floats' bits. Ends where the number is right.
V find_limit(const Paths& paths, int survivors) {
  V low = all(std::numeric_limits<float>::infinity()), high = all(0);
  for (int k = 0; k < paths.size(); ++k) {
    const Range range = range_of(paths, k);
    low = hn::Min(low, range.least);
    high = hn::Max(high, paths.size() < survivors ? range.most : range.least);
  }
  const Number one = hn::Set(I(), 1), wanted = hn::Set(I(), survivors), fewer = hn::Sub(wanted, one);
  Number above = hn::Sub(hn::BitCast(I(), low), one), limit = hn::BitCast(I(), high);
  for (;;) {
    const Number gap = hn::Sub(limit, above);
    if (hn::AllFalse(I(), hn::Gt(gap, one))) return hn::BitCast(F(), limit);
    const Number middle = hn::Add(above, hn::ShiftRight<1>(gap));
    const Number found = count(paths, hn::BitCast(F(), middle));
    const auto enough = hn::Gt(found, fewer);
    limit = hn::IfThenElse(enough, middle, limit);
    above = hn::IfThenElse(hn::Eq(found, wanted), hn::Sub(middle, one), hn::IfThenElse(enough, above, middle));
  }
}

/// Of lane l: those that cost less than the limit, and the first `equal` of those that cost just that.
void gather(const Paths& paths, const Paths::Choice& choice, int l, float limit, int equal) {
  int n = 0;
  for (int k = 0; k < paths.size(); ++k) {
    const Real *const re = paths.cost_re(k), *const im = paths.cost_im(k);
    float least = im[0].at[l];
    for (int j = 1; j < paths.levels(); ++j) least = std::min(least, im[j].at[l]);
    bool any = false;
    for (int i = 0; i < paths.levels(); ++i) any |= re[i].at[l] + least <= limit;
    for (int q = 0; any && q < paths.points(); ++q) {
      const float cost = re[paths.real_of(q)].at[l] + im[paths.imag_of(q)].at[l];
      if (cost > limit || (cost == limit && equal-- <= 0)) continue;
      choice.parent[n].at[l] = k;
      choice.symbol[n].at[l] = q;
      choice.distance[n++].at[l] = cost;
    }
  }
}

int choose(const Paths& paths, const Paths::Choice& choice, int most) {
  const int survivors = std::min(most, paths.size() * paths.points());
  const V limit = find_limit(paths, survivors);
  const V below = hn::BitCast(F(), hn::Sub(hn::BitCast(I(), limit), hn::Set(I(), 1)));
  Real limits;
  Whole equal;
  limits.set(limit);
  equal.set(hn::Sub(hn::Set(I(), survivors),
                    hn::IfThenZeroElse(hn::Eq(hn::BitCast(I(), limit), hn::Zero(I())), count(paths, below))));
  for (int l = 0; l < lanes(); ++l) gather(paths, choice, l, limits.at[l], equal.at[l]);
  return survivors;
}

std::int64_t run(const mimo::DetectorShape& shape, const Config& config, const mimo::DetectorJob& job,
                 const mimo::Batch& batch, std::byte* memory) {
  Scratch scratch(memory);
  Front& front = *scratch.take<Front>(1);
  const int survivors = config.paths(shape.bits);
  Paths paths(shape.tx, shape.bits, survivors, scratch);
  paths.prepare();
  return mimo::HWY_NAMESPACE::detect_all(shape, job, batch, front, [&](Front& f) {
    paths.descend(f, static_cast<float>(config.clip),
                  [&](const Paths::Choice& choice) { return choose(paths, choice, survivors); });
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
  return count.bytes();
}

std::int64_t run_cpu(const mimo::DetectorShape& shape, const Config& config, const mimo::DetectorJob& job,
                     const mimo::Batch& batch, std::byte* memory) noexcept {
  return HWY_DYNAMIC_DISPATCH(run)(shape, config, job, batch, memory);
}

}  // namespace iqd::kbest_detector
#endif
