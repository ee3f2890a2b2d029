// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "pipeline/stages/mimo/lmmse_detector/lmmse_detector.hpp"
#include "signal/filters/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/mimo/lmmse_detector/lmmse_detector_cpu.cpp"
// foreach_target.h comes first.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

#include "pipeline/stages/mimo/front_end_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace iqd::lmmse_detector::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using mimo::kMostAntennas;
using namespace mimo::HWY_NAMESPACE;
using Value = V;

HWY_INLINE Value number(float x) {
  return all(x);
}
HWY_INLINE Value root(Value x) {
  return hn::Sqrt(x);
}
HWY_INLINE Value least(Value a, Value b) {
  return hn::Min(a, b);
}
HWY_INLINE Value greatest(Value a, Value b) {
  return hn::Max(a, b);
}
HWY_INLINE Value sign(Value x) {
  return hn::IfThenElse(hn::Lt(x, all(0)), all(-1), all(1));
}
HWY_INLINE Value exponential(Value x) {
  return hn::Exp(F(), x);
}

#include "pipeline/stages/mimo/lmmse_detector/equalize_inl.hpp"

template <bool kPrior> void search(Front& f) {
  System system{};
  for (int i = 0; i < f.tx; ++i) {
    for (int j = i; j < f.tx; ++j) system.r[i][j] = {f.r[i][j].re.get(), f.r[i][j].im.get()};
    system.yh[i] = {f.z[i].re.get(), f.z[i].im.get()};
  }
  Decision prior[kMostAntennas], decision[kMostAntennas];
  for (int t = 0; kPrior && t < f.tx; ++t)
    for (int b = 0; b < f.bits; ++b) prior[t].llr[b % 2][b / 2] = f.prior[t][b].get();
  f.least.set(detect<kPrior>(f.tx, f.bits, f.noise.get(), system, prior, decision));
  for (int t = 0; t < f.tx; ++t)
    for (int b = 0; b < f.bits; ++b) f.llr[t][b].set(decision[t].llr[b % 2][b / 2]);
}

std::int64_t run(const mimo::DetectorShape& shape, const mimo::DetectorJob& job, const mimo::Batch& batch,
                 std::byte* memory) {
  Front& front = *Scratch(memory).take<Front>(1);
  return shape.prior ? detect_all(shape, job, batch, front, search<true>)
                     : detect_all(shape, job, batch, front, search<false>);
}

}  // namespace iqd::lmmse_detector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::lmmse_detector {

HWY_EXPORT(run);

std::size_t scratch_bytes() {
  Scratch count(nullptr);
  count.take<mimo::HWY_NAMESPACE::Front>(1);
  return count.bytes();
}

std::int64_t run_cpu(const mimo::DetectorShape& shape, const mimo::DetectorJob& job, const mimo::Batch& batch,
                     std::byte* memory) noexcept {
  return HWY_DYNAMIC_DISPATCH(run)(shape, job, batch, memory);
}

}  // namespace iqd::lmmse_detector
#endif
