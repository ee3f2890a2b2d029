// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/element.hpp"
#include "base/views.hpp"
#include "pipeline/stages/arithmetic.hpp"
#include "signal/transmit/aph.hpp"

/// The arithmetic of one sample, for CPUs and GPUs.
///
/// The branches of x and of x* share their powers: with v = |x|^2b x, h v + g v* is a real 2 x 2 matrix times (Re v, Im
/// v), so the conjugate branches cost nothing. z starts at c and adds the taps from the oldest on, each with its
/// branches from the lowest on: 4 fused multiply-adds a branch and tap.
namespace iqd::aph_predistorter {

using elementwise::Complex;
using elementwise::scaled;

/// The contribution of a branch and tap: z.re += re_re v.re + re_im v.im, z.im += im_re v.re + im_im v.im.
struct Weights {
  float re_re = 0;
  float re_im = 0;
  float im_re = 0;
  float im_im = 0;
};

/// The coefficients in the form used for computing.
struct Model {
  static constexpr int kMostBranches = (AphOrders::kMostMain + 1) / 2;
  static constexpr int kMostTaps = AphOrders::kMostTaps;

  int branches = 1;
  int taps = 1;
  Complex constant;
  Weights weights[kMostTaps * kMostBranches];  // [tap][branch], the newest tap first
};

/// The statistics of samples.
struct Watch {
  float largest = 0;  // |z|^2
  std::int32_t clipped = 0;
  std::int32_t not_finite = 0;

  IQD_HOST_DEVICE void add(const Watch& o) {
    largest = fmaxf(largest, o.largest);
    clipped += o.clipped;
    not_finite += o.not_finite;
  }
};

IQD_HOST_DEVICE inline float square(Complex x) {
  return fmaf(x.re, x.re, x.im * x.im);
}
IQD_HOST_DEVICE inline void add(Complex& z, const Weights& w, Complex v) {
  z.re = fmaf(w.re_im, v.im, fmaf(w.re_re, v.re, z.re));
  z.im = fmaf(w.im_im, v.im, fmaf(w.im_re, v.re, z.im));
}
IQD_HOST_DEVICE inline Complex to_complex(Complex x) {
  return x;
}
IQD_HOST_DEVICE inline Complex to_complex(sc16 x) {
  return {static_cast<float>(x.re) * 0x1p-15f, static_cast<float>(x.im) * 0x1p-15f};
}

/// Rounds a part to sc16; sets `cut` if it does not fit.
IQD_HOST_DEVICE inline std::int16_t to_part(float part, bool& cut) {
  const float rounded = rintf(part * 0x1p15f);
  const float fitting = fminf(fmaxf(rounded, -0x1p15f), 0x1p15f - 1);
  cut = cut || rounded != fitting;
  return static_cast<std::int16_t>(fitting);
}

/// z as sent: a Complex or sc16.
template <class Out> IQD_HOST_DEVICE Out limit(Complex z, float clip, Watch& watch) {
  float size = square(z);
  if (!(size <= std::numeric_limits<float>::max())) {
    ++watch.not_finite;
    z = {};
    size = 0;
  }
  watch.largest = fmaxf(watch.largest, size);
  bool cut = size > clip * clip;
  if (cut) z = scaled(z, clip / sqrtf(size));
  Out out;
  if constexpr (std::is_same_v<Out, sc16>)
    out = {to_part(z.re, cut), to_part(z.im, cut)};
  else
    out = z;
  watch.clipped += cut ? 1 : 0;
  return out;
}

}  // namespace iqd::aph_predistorter
