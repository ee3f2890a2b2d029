// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/mimo/exhaustive_detector/exhaustive_detector.hpp"
#include "signal/filters/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/mimo/exhaustive_detector/exhaustive_detector_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "pipeline/stages/mimo/front_end_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace iqd::exhaustive_detector::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mimo::kMostAntennas;
using namespace mimo::HWY_NAMESPACE;

HWY_INLINE void lower(Real& to, V value) {
  to.set(hn::Min(to.get(), value));
}

/// Walks the tree of all symbols, from the last row of R. Each bit belongs to one axis, so LLRs need only the least
/// distance for each level of each axis. On row 0, which has the most nodes, the axes separate: it tries levels, not
/// symbols.
class Tree {
 public:
  void search(Front& f) {
    front_ = &f;
    levels_ = 1 << f.bits / 2;
    for (int l = 0; l < levels_; ++l)
      level_[l] = static_cast<float>(qam::amplitude(f.bits / 2, static_cast<unsigned>(l)));
    for (int m = 0; m < f.tx; ++m) {
      rest_[f.tx - 1][m] = f.z[m];
      for (int l = 0; l < levels_; ++l) least_[m][0][l].set(none()), least_[m][1][l].set(none());
    }
    f.least.set(least_below(f.tx - 1, all(0)));
    for (int m = 0; m < f.tx; ++m)
      for (int b = 0; b < f.bits; ++b) f.llr[m][b].set(llr(m, b));
  }

 private:
  static V none() { return all(std::numeric_limits<float>::infinity()); }

  /// The least distance of all ways down from row m, for the path that `rest_[m]` and the distance so far belong to.
  V least_below(int m, V so_far) {
    Real re[kMostLevels], im[kMostLevels];
    V best_re = none(), best_im = none();
    const V diagonal = front_->r[m][m].re.get();
    const ComplexV e = rest_[m][m].get();
    for (int l = 0; l < levels_; ++l) {
      const V x = hn::NegMulAdd(diagonal, all(level_[l]), e.re), y = hn::NegMulAdd(diagonal, all(level_[l]), e.im);
      re[l].set(hn::Add(hn::MulAdd(x, x, so_far), front_->level_cost[m][0][l].get()));
      im[l].set(hn::Add(hn::Mul(y, y), front_->level_cost[m][1][l].get()));
      best_re = hn::Min(best_re, re[l].get());
      best_im = hn::Min(best_im, im[l].get());
    }
    if (m > 0) return least_of_children(m, re, im);
    for (int l = 0; l < levels_; ++l) {
      lower(least_[0][0][l], hn::Add(re[l].get(), best_im));
      lower(least_[0][1][l], hn::Add(best_re, im[l].get()));
    }
    return hn::Add(best_re, best_im);
  }

  V least_of_children(int m, const Real* re, const Real* im) {
    V best = none();
    for (int i = 0; i < levels_; ++i)
      for (int j = 0; j < levels_; ++j) {
        const ComplexV a{all(level_[i]), all(level_[j])};
        for (int r = 0; r < m; ++r) rest_[m - 1][r].set(minus_product(rest_[m][r].get(), front_->r[r][m].get(), a));
        if (front_->mixed && hn::AllTrue(F(), hn::Eq(hn::Add(re[i].get(), im[j].get()), none()))) continue;
        const V least = least_below(m - 1, hn::Add(re[i].get(), im[j].get()));
        lower(least_[m][0][i], least);
        lower(least_[m][1][j], least);
        best = hn::Min(best, least);
      }
    return best;
  }

  V llr(int m, int b) const {
    V least[2] = {none(), none()};
    for (int l = 0; l < levels_; ++l) {
      V& of_bit = least[l >> (front_->bits / 2 - 1 - b / 2) & 1];
      of_bit = hn::Min(of_bit, least_[m][b % 2][l].get());
    }
    return llr_of(*front_, m, b, least[0], least[1]);
  }

  const Front* front_;
  int levels_;
  float level_[kMostLevels];                         // by label
  ComplexLanes rest_[kMostAntennas][kMostAntennas];  // residual of z: [next row][row]
  Real least_[kMostAntennas][2][kMostLevels];        // [row][axis][label]
};

std::int64_t run(const mimo::DetectorShape& shape, const mimo::DetectorJob& job, const mimo::Batch& batch,
                 std::byte* memory) {
  Scratch scratch(memory);
  Front& front = *scratch.take<Front>(1);
  Tree& tree = *scratch.take<Tree>(1);
  return detect_all(shape, job, batch, front, [&](Front& f) { tree.search(f); });
}

}  // namespace iqd::exhaustive_detector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::exhaustive_detector {

HWY_EXPORT(run);

std::size_t scratch_bytes() {
  Scratch count(nullptr);
  count.take<mimo::HWY_NAMESPACE::Front>(1);
  count.take<HWY_NAMESPACE::Tree>(1);
  return count.bytes();
}

std::int64_t run_cpu(const mimo::DetectorShape& shape, const mimo::DetectorJob& job, const mimo::Batch& batch,
                     std::byte* memory) noexcept {
  return HWY_DYNAMIC_DISPATCH(run)(shape, job, batch, memory);
}

}  // namespace iqd::exhaustive_detector
#endif
