// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Scaling and sorted QR of one vector's channel, in registers: the CPU's operations in the CPU's order
// (triangle_inl.hpp), so that both sort alike. Runs on the host as well, for tests.
#pragma once

#include <vector_types.h>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "pipeline/stages/mimo/detector.hpp"

namespace iqd::mimo {

IQD_HOST_DEVICE inline std::int32_t bits_of_float(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_int(x);
#else
  std::int32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
#endif
}
IQD_HOST_DEVICE inline float float_of_bits(std::int32_t bits) {
#ifdef __CUDA_ARCH__
  return __int_as_float(bits);
#else
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
#endif
}
/// 1 / x for powers of two from 2^-126 to 2^126.
IQD_HOST_DEVICE inline float per_power_of_two(float x) {
  return float_of_bits(0x7f000000 - bits_of_float(x));
}

/// A received vector and the columns of its channel. Rows that do not exist are 0. h and y are scaled by two powers of
/// two, `factor` and `rest`. Unless h is very large or small, the scaling is deferred to R, by `late`.
template <int kTx, int kRx> struct Received {
  float2 h[kTx][kRx];
  float2 y[kRx];
  float power[kTx];  // of the columns
  float noise;
  float factor, rest, late;
  bool erased;
};

/// H P = Q R, and y projected on Q. Symbols are pairs of odd numbers: the constellation's power is in R. A column that
/// depends on those before it has 0 on the diagonal.
template <int kTx> struct Triangle {
  float diagonal[kTx];
  float per_step[kTx];     // 1 / diagonal, or 0
  float2 above[kTx][kTx];  // [row][column > row]
  float2 y[kTx];           // Q^H y
  float residual;          // part of |y|^2 outside of Q
  int antenna[kTx];        // antenna of each column
  float noise;
  float factor, rest;
  bool erased;

  /// A distance without the scaling.
  IQD_HOST_DEVICE float unscaled(float distance) const {
    const float down = per_power_of_two(factor), further = per_power_of_two(rest);
    return distance * down * down * further * further;
  }
};

/// c - a b
IQD_HOST_DEVICE inline float2 minus_product(float2 c, float2 a, float2 b) {
  return {fmaf(a.y, b.y, fmaf(-a.x, b.x, c.x)), fmaf(-a.y, b.x, fmaf(-a.x, b.y, c.y))};
}
/// sum + |a|^2
IQD_HOST_DEVICE inline float plus_square(float sum, float2 a) {
  return fmaf(a.y, a.y, fmaf(a.x, a.x, sum));
}
template <int n> IQD_HOST_DEVICE float energy(const float2 (&x)[n]) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < n; ++i) sum = plus_square(sum, x[i]);
  return sum;
}
/// a^H x
template <int n> IQD_HOST_DEVICE float2 inner_product(const float2 (&a)[n], const float2 (&x)[n]) {
  float2 sum{0, 0};
#pragma unroll
  for (int i = 0; i < n; ++i) {
    sum.x = fmaf(a[i].y, x[i].y, fmaf(a[i].x, x[i].x, sum.x));
    sum.y = fmaf(-a[i].y, x[i].x, fmaf(a[i].x, x[i].y, sum.y));
  }
  return sum;
}
/// Two powers of two whose product brings x into [1, 2); the second is 1 except for the very largest and smallest x.
IQD_HOST_DEVICE inline void factors_for(float x, float& factor, float& rest) {
  const std::int32_t bits = bits_of_float(x);
  const bool subnormal = bits < 0x00800000;
  const std::int32_t counted = bits_of_float(static_cast<float>(bits));  // in units of 2^-149
  const std::int32_t up = subnormal ? 127 + 149 - (counted >> 23) : 127 - (bits >> 23);
  const std::int32_t first = up > 126 ? 126 : up < -126 ? -126 : up;
  factor = float_of_bits((first + 127) << 23);
  rest = float_of_bits((up - first + 127) << 23);
}

/// Scales so that the largest part of h is in [1, 2), and decides whether the vector is erased. An erased one may hold
/// anything, even NaN.
template <int kTx, int kRx> IQD_HOST_DEVICE Received<kTx, kRx> scaled(Received<kTx, kRx> r) {
  constexpr float kLargest = 0x1p120f;  // of |y|^2, so that all distances are finite
  float largest = 0;
#pragma unroll
  for (int l = 0; l < kTx; ++l)
#pragma unroll
    for (int n = 0; n < kRx; ++n) largest = fmaxf(largest, fmaxf(fabsf(r.h[l][n].x), fabsf(r.h[l][n].y)));
  const bool channel = largest > 0 && largest <= FLT_MAX;
  factors_for(channel ? largest : 1.0f, r.factor, r.rest);
  // Where squares neither overflow nor vanish, scaling later is cheaper.
  if (largest >= 0x1p-20f && largest < 0x1p4f) {
    r.late = r.factor;
  } else {
    const auto scale = [by = r.factor, further = r.rest](float2 x) {
      return float2{x.x * by * further, x.y * by * further};
    };
    r.late = 1;
#pragma unroll
    for (int n = 0; n < kRx; ++n) {
      r.y[n] = scale(r.y[n]);
#pragma unroll
      for (int l = 0; l < kTx; ++l) r.h[l][n] = scale(r.h[l][n]);
    }
  }
  float power = 0;  // NaN if a part of h is, which `largest` does not show
#pragma unroll
  for (int l = 0; l < kTx; ++l) power += r.power[l] = energy(r.h[l]);
  r.erased = !(channel && power > 0 && r.noise >= 0 && r.noise <= FLT_MAX && energy(r.y) * r.late * r.late <= kLargest);
  r.noise = fmaxf(r.noise * r.factor * r.factor * r.rest * r.rest, FLT_MIN);
  return r;
}

template <class T> IQD_HOST_DEVICE void swap_if(bool where, T& a, T& b) {
  const T kept = a;
  a = where ? b : a;
  b = where ? kept : b;
}
IQD_HOST_DEVICE inline void swap_if(bool where, float2& a, float2& b) {
  swap_if(where, a.x, b.x);
  swap_if(where, a.y, b.y);
}

/// Brings the column of least norm to place i; of equal norms the first.
template <int kTx, int kRx> IQD_HOST_DEVICE void choose_column(int i, Received<kTx, kRx>& q, Triangle<kTx>& r,
                                                               float (&norm)[kTx], float (&whole)[kTx]) {
  float least = norm[i];
  int choice = i;
#pragma unroll
  for (int j = 0; j < kTx; ++j)
    if (j > i && norm[j] < least) {
      least = norm[j];
      choice = j;
    }
#pragma unroll
  for (int j = 0; j < kTx; ++j) {
    if (j <= i) continue;
    const bool chosen = choice == j;
    swap_if(chosen, norm[i], norm[j]);
    swap_if(chosen, whole[i], whole[j]);
    swap_if(chosen, r.antenna[i], r.antenna[j]);
#pragma unroll
    for (int n = 0; n < kRx; ++n) swap_if(chosen, q.h[i][n], q.h[j][n]);
#pragma unroll
    for (int row = 0; row < kTx; ++row)
      if (row < i) swap_if(chosen, r.above[row][i], r.above[row][j]);
  }
}

/// 1 / sqrt(x), to within rounding: what remains of a dependent column has to be small.
IQD_HOST_DEVICE inline float per_root(float x) {
#ifdef __CUDA_ARCH__
  const float first = rsqrtf(x);
  return fmaf(0.5f * first, fmaf(-x * first, first, 1.0f), first);
#else
  return 1 / sqrtf(x);
#endif
}

/// The square root of the mean power of pairs of odd numbers.
IQD_HOST_DEVICE inline float root_of_power(int bits) {
  return bits == 2 ? 1.41421356f : bits == 4 ? 3.16227766f : bits == 6 ? 6.48074070f : 13.0384048f;
}

/// Modified Gram-Schmidt. `kSquare`: as many antennas on both sides, and all of them in use. Norms are recomputed at
/// each step: with nearly dependent columns, subtracting squares would leave only rounding errors.
template <bool kSquare, int kTx, int kRx> IQD_HOST_DEVICE Triangle<kTx> triangulate(Received<kTx, kRx> q, int bits) {
  constexpr float kDependent = 0x1p-40f;  // rounding leaves less than this of a column's square
  const float per_power = root_of_power(bits) * per_power_of_two(q.late), power = 1 / root_of_power(bits) * q.late;
  Triangle<kTx> r;
  r.noise = q.noise;
  r.factor = q.factor;
  r.rest = q.rest;
  r.erased = q.erased;
  float norm[kTx], whole[kTx];
#pragma unroll
  for (int c = 0; c < kTx; ++c) {
    norm[c] = whole[c] = q.power[c];
    r.antenna[c] = c;
  }
#pragma unroll
  for (int i = 0; i < kTx; ++i) {
    choose_column(i, q, r, norm, whole);
    const bool depends = norm[i] <= whole[i] * kDependent;
    const float inverse = depends ? 0.0f : per_root(norm[i]);
    r.diagonal[i] = norm[i] * inverse * power;
    r.per_step[i] = inverse * per_power;
#pragma unroll
    for (int n = 0; n < kRx; ++n) q.h[i][n] = {q.h[i][n].x * inverse, q.h[i][n].y * inverse};
#pragma unroll
    for (int c = 0; c < kTx; ++c) {
      if (c <= i) continue;
      const float2 along = inner_product(q.h[i], q.h[c]);
#pragma unroll
      for (int n = 0; n < kRx; ++n) q.h[c][n] = minus_product(q.h[c][n], q.h[i][n], along);
      r.above[i][c] = {along.x * power, along.y * power};
      norm[c] = energy(q.h[c]);
    }
    const float2 on_q = inner_product(q.h[i], q.y);
    r.y[i] = {on_q.x * q.late, on_q.y * q.late};
    if (kSquare && i == kTx - 1) continue;  // nothing is left
#pragma unroll
    for (int n = 0; n < kRx; ++n) q.y[n] = minus_product(q.y[n], q.h[i][n], on_q);
  }
  r.residual = kSquare ? 0 : energy(q.y) * q.late * q.late;
  return r;
}

}  // namespace iqd::mimo
