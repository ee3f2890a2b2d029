// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Included once for each SIMD target, after <hwy/foreach_target.h> and <hwy/highway.h>.
#if defined(IQD_MTT_NEAREST_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef IQD_MTT_NEAREST_INL_HPP
#undef IQD_MTT_NEAREST_INL_HPP
#else
#define IQD_MTT_NEAREST_INL_HPP
#endif

#include <hwy/highway.h>

#include "pipeline/stages/mimo/mtt_detector/path_inl.hpp"
#include "pipeline/stages/mimo/mtt_detector/points.hpp"

/// The points of the constellation, and the one nearest to a number, for one vector per SIMD lane.
HWY_BEFORE_NAMESPACE();
namespace iqd::mtt_detector::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace mimo::HWY_NAMESPACE;

template <int kAxis> inline constexpr Points<kAxis> kPoints{};

template <int kAxis> HWY_INLINE ComplexV point(int q) {
  return {all(kPoints<kAxis>.re[q]), all(kPoints<kAxis>.im[q])};
}

/// The nearest level. The bits of its label are found one by one; a tie gives 0.
template <int kAxis> HWY_INLINE V nearest_level(V x) {
  constexpr float kHalf[] = {1, 2, 4, 8};  // the middle of the remaining levels on either side
  V signs[kAxis];
  for (int b = kAxis - 1; b >= 0; --b) {
    signs[b] = x;
    x = hn::Sub(all(kHalf[b]), hn::Abs(x));
  }
  V level = all(0);
  for (int b = 0; b < kAxis; ++b) level = hn::CopySignToAbs(hn::Sub(all(kHalf[b]), level), signs[b]);
  return level;
}

/// The point nearest to (re + j im) per_step. Where any point will do, per_step is 0 and `anywhere` is a level.
template <int kAxis> HWY_INLINE ComplexV nearest_point(V re, V im, V per_step, V anywhere) {
  return {nearest_level<kAxis>(hn::MulAdd(re, per_step, anywhere)),
          nearest_level<kAxis>(hn::MulAdd(im, per_step, anywhere))};
}

}  // namespace iqd::mtt_detector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
