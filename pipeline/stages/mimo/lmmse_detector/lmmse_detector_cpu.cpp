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

HWY_INLINE Value infinite_beyond(Value top, int level) {
  return hn::IfThenElseZero(hn::Lt(top, all(static_cast<float>(level < 0 ? -level : level))),
                            all(std::numeric_limits<float>::infinity()));
}

#include "pipeline/stages/mimo/lmmse_detector/equalize_inl.hpp"

/// With the bits that are known since an antenna has a smaller alphabet.
inline void load_known(const Front& f, int t, Decision& prior) {
  for (int b = 0; b < f.bits; ++b) {
    Real llr = f.prior[t][b];
    for (int l = 0; l < lanes(); ++l) {
      const Alphabet alphabet = alphabet_of(f, t, l);
      if (alphabet.own(b / 2) < 0) llr.at[l] = known_llr(alphabet, b);
    }
    prior.llr[b % 2][b / 2] = llr.get();
  }
}

template <bool kPrior, bool kMixed> void search(Front& f) {
  System system{};
  for (int i = 0; i < f.tx; ++i) {
    for (int j = i; j < f.tx; ++j) system.r[i][j] = {f.r[i][j].re.get(), f.r[i][j].im.get()};
    system.yh[i] = {f.z[i].re.get(), f.z[i].im.get()};
  }
  Decision prior[kMostAntennas], decision[kMostAntennas];
  Value top[kMostAntennas];
  for (int t = 0; kPrior && !kMixed && t < f.tx; ++t)
    for (int b = 0; b < f.bits; ++b) prior[t].llr[b % 2][b / 2] = f.prior[t][b].get();
  for (int t = 0; kMixed && t < f.tx; ++t) {
    load_known(f, t, prior[t]);
    top[t] = f.top[t].get();
  }
  f.least.set(detect<kPrior, kMixed>(f.tx, f.bits, f.noise.get(), system, prior, top, decision));
  for (int t = 0; t < f.tx; ++t)
    for (int b = 0; b < f.bits; ++b) f.llr[t][b].set(decision[t].llr[b % 2][b / 2]);
}

std::int64_t run(const mimo::DetectorShape& shape, const mimo::DetectorJob& job, const mimo::Batch& batch,
                 std::byte* memory) {
  Front& front = *Scratch(memory).take<Front>(1);
  if (shape.mixed) return detect_all(shape, job, batch, front, search<true, true>);
  return shape.prior ? detect_all(shape, job, batch, front, search<true, false>)
                     : detect_all(shape, job, batch, front, search<false, false>);
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
