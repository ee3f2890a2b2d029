// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/convolution_kernel.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "signal/convolution_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

/// The dull version of what the vectors below compute.
void convolve(const float* x, const float* h, std::int64_t taps, float* y, std::int64_t floats) {
  for (std::int64_t i = 0; i < floats; ++i) {
    float sum = 0;
    for (std::int64_t k = 0; k < taps; ++k)
      sum += h[2 * k] * x[i - 2 * k] + (i % 2 ? h[2 * k + 1] : -h[2 * k + 1]) * x[(i ^ 1) - 2 * k];
    y[i] = sum;
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(D()));
static_assert(kLanes <= 2 * kConvolutionMargin);
constexpr int kVectors = 4;  // of outputs at once: eight sums hide what one takes

/// Products with a tap's real and with its imaginary part are summed apart; the latter change places at the end.
template <int n, class Store>
HWY_INLINE void convolve_vectors(const float* x, const float* h, std::int64_t taps, const Store& store) {
  const D d;
  V re[n], im[n];
  for (int j = 0; j < n; ++j) re[j] = im[j] = hn::Zero(d);
  for (std::int64_t k = 0; k < taps; ++k) {
    const V h_re = hn::Set(d, h[2 * k]), h_im = hn::Set(d, h[2 * k + 1]);
    for (int j = 0; j < n; ++j) {
      const V v = hn::LoadU(d, x - 2 * k + j * kLanes);
      re[j] = hn::MulAdd(h_re, v, re[j]);
      im[j] = hn::MulAdd(h_im, v, im[j]);
    }
  }
  for (int j = 0; j < n; ++j) {
    const V turned = hn::Shuffle2301(im[j]);
    store(hn::OddEven(hn::Add(re[j], turned), hn::Sub(re[j], turned)), j * kLanes);
  }
}

void convolve(const float* x, const float* h, std::int64_t taps, float* y, std::int64_t floats) {
  const D d;
  std::int64_t at = 0;
  for (; at + kVectors * kLanes <= floats; at += kVectors * kLanes)
    convolve_vectors<kVectors>(x + at, h, taps, [&](V v, std::int64_t j) HWY_ATTR { hn::StoreU(v, d, y + at + j); });
  for (; at < floats; at += kLanes) {
    HWY_ALIGN float last[kLanes];
    convolve_vectors<1>(x + at, h, taps, [&](V v, std::int64_t) HWY_ATTR { hn::Store(v, d, last); });
    std::copy_n(last, std::min(kLanes, floats - at), y + at);
  }
}

#endif

}  // namespace iqd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd {

HWY_EXPORT(convolve);

void convolve_directly(const cf32* x, const cf32* h, std::int64_t taps, cf32* y, std::int64_t outputs) noexcept {
  const auto floats = [](const cf32* z) { return reinterpret_cast<const float*>(z); };
  HWY_DYNAMIC_DISPATCH(convolve)(floats(x), floats(h), taps, reinterpret_cast<float*>(y), 2 * outputs);
}

}  // namespace iqd
#endif
