// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "base/views.hpp"

/// The arithmetic and the indices of one thread in a transform of N = 2 … 8192 points, N a power of two: Stockham's
/// algorithm with radix 16 (the last step takes what is left), in natural order before and after. All of a transform's
/// threads together hold its points: thread t has t + e N/points, e = 0 … points-1, before each step and after the
/// last. In between the points pass through memory: see `write_at` and `read_at`. For host and device.
///
/// After steps that covered P points: i = t, k = i mod P; the step of radix R multiplies its inputs, r = 0 … R-1, by
/// exp(-j 2 pi r k / (R P)), transforms them, and result r goes to (i - k) R + k + r P.
/// (N. K. Govindaraju et al., SC 2008.)
namespace iqd::gpu {

struct alignas(8) Complex32 {
  float re;
  float im;
};

IQD_HOST_DEVICE constexpr Complex32 operator+(Complex32 a, Complex32 b) {
  return {a.re + b.re, a.im + b.im};
}
IQD_HOST_DEVICE constexpr Complex32 operator-(Complex32 a, Complex32 b) {
  return {a.re - b.re, a.im - b.im};
}
IQD_HOST_DEVICE inline Complex32 times(Complex32 a, Complex32 w) {
  return {fmaf(a.re, w.re, -(a.im * w.im)), fmaf(a.re, w.im, a.im * w.re)};
}

/// z exp(-j 2 pi J / 16)
template <int J> IQD_HOST_DEVICE Complex32 rotate16(Complex32 z) {
  constexpr float kHalf = 0.70710678118654752440f;  // cos(pi/4)
  constexpr float kCos = 0.92387953251128675613f;   // cos(pi/8)
  constexpr float kSin = 0.38268343236508977173f;
  static_assert(J >= 0 && J < 10 && J != 5 && J != 7 && J != 8);
  if constexpr (J == 0) return z;
  if constexpr (J == 1) return times(z, {kCos, -kSin});
  if constexpr (J == 2) return {(z.re + z.im) * kHalf, (z.im - z.re) * kHalf};
  if constexpr (J == 3) return times(z, {kSin, -kCos});
  if constexpr (J == 4) return {z.im, -z.re};
  if constexpr (J == 6) return {(z.im - z.re) * kHalf, -(z.re + z.im) * kHalf};
  if constexpr (J == 9) return times(z, {-kCos, kSin});
}

IQD_HOST_DEVICE inline void transform4(Complex32& a, Complex32& b, Complex32& c, Complex32& d) {
  const Complex32 even = a + c, odd = b + d, less = a - c, turned = rotate16<4>(b - d);
  a = even + odd;
  b = less + turned;
  c = even - odd;
  d = less - turned;
}

/// v(k) = sum v(n) exp(-j 2 pi n k / R)
template <int R> IQD_HOST_DEVICE void transform(Complex32 (&v)[R]) {
  static_assert(R == 2 || R == 4 || R == 8 || R == 16);
  if constexpr (R == 2) {
    const Complex32 a = v[0];
    v[0] = a + v[1];
    v[1] = a - v[1];
  } else if constexpr (R == 4) {
    transform4(v[0], v[1], v[2], v[3]);
  } else if constexpr (R == 8) {
    transform4(v[0], v[2], v[4], v[6]);
    transform4(v[1], v[3], v[5], v[7]);
    const Complex32 odd[] = {v[1], rotate16<2>(v[3]), rotate16<4>(v[5]), rotate16<6>(v[7])};
    const Complex32 even[] = {v[0], v[2], v[4], v[6]};
    for (int k = 0; k < 4; ++k) v[k] = even[k] + odd[k], v[k + 4] = even[k] - odd[k];
  } else {
    for (int n = 0; n < 4; ++n) transform4(v[n], v[n + 4], v[n + 8], v[n + 12]);
    v[5] = rotate16<1>(v[5]), v[6] = rotate16<2>(v[6]), v[7] = rotate16<3>(v[7]);
    v[9] = rotate16<2>(v[9]), v[10] = rotate16<4>(v[10]), v[11] = rotate16<6>(v[11]);
    v[13] = rotate16<3>(v[13]), v[14] = rotate16<6>(v[14]), v[15] = rotate16<9>(v[15]);
    for (int k = 0; k < 4; ++k) transform4(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
    for (int i = 0; i < 4; ++i)
      for (int j = i + 1; j < 4; ++j) {
        const Complex32 swapped = v[4 * i + j];
        v[4 * i + j] = v[4 * j + i];
        v[4 * j + i] = swapped;
      }
  }
}

/// Points of a thread, and threads of a transform.
template <int N> inline constexpr int kFftPoints = N < 16 ? N : 16;
template <int N> inline constexpr int kFftThreads = N / kFftPoints<N>;
/// The radix of the step after P points are covered.
template <int N, int P> inline constexpr int kFftRadix = N / P < 16 ? N / P : 16;

/// Position of point `at` in the memory that threads exchange points through. One place in 17 stays free, so that 16
/// threads with points one or 16 apart use 16 banks of 8 bytes. (With several transforms, point `at` of transform f is
/// f N + at.)
IQD_HOST_DEVICE constexpr int padded(int at) {
  return at + at / 16;
}
/// Where thread t puts result r of the step after P covered points; not after the last step. `base` is padded.
template <int P> IQD_HOST_DEVICE constexpr int write_at(int base, int t, int r) {
  const int k = t % P;
  return base + padded((t - k) * 16 + k) + r * (P == 1 ? 1 : P + P / 16);
}
/// Where it reads its point e.
template <int N> IQD_HOST_DEVICE constexpr int read_at(int base, int t, int e) {
  return base + padded(t) + kFftThreads<N> * e + kFftThreads<N> * e / 16;
}

IQD_HOST_DEVICE inline Complex32 fft_factor(const Complex32* factors, int at) {
#if defined(__CUDA_ARCH__)
  const float2 w = __ldg(reinterpret_cast<const float2*>(factors) + at);
  return {w.x, w.y};
#else
  return factors[at];
#endif
}

/// Thread t's part of the step after P covered points.
template <int N, int P> IQD_HOST_DEVICE void fft_step(Complex32 (&v)[kFftPoints<N>], const Complex32* factors, int t) {
  constexpr int kRadix = kFftRadix<N, P>;
  constexpr int kApart = kFftPoints<N> / kRadix;  // number of transforms of kRadix points
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int b = 0; b < kApart; ++b) {
    const int k = (t + b * kFftThreads<N>) % P;
    Complex32 u[kRadix];
    for (int r = 0; r < kRadix; ++r) {
      u[r] = v[b + r * kApart];
      if (P > 1 && r > 0) u[r] = times(u[r], fft_factor(factors, r * P + k));
    }
    transform(u);
    for (int r = 0; r < kRadix; ++r) v[b + r * kApart] = u[r];
  }
}

/// The factors of `fft_step`: exp(-j 2 pi r k / (R P)) is at r P + k; the first 16 are not used.
inline std::vector<Complex32> fft_factors(int size) {
  std::vector<Complex32> factors(static_cast<std::size_t>(size), Complex32{1, 0});
  for (std::int64_t p = 16; p < size; p *= 16) {
    const std::int64_t covered = size / p < 16 ? size : 16 * p;
    for (std::int64_t at = p; at < covered; ++at) {
      const double turn = static_cast<double>(at / p * (at % p)) / static_cast<double>(covered);
      factors[static_cast<std::size_t>(at)] = {static_cast<float>(std::cos(2 * std::numbers::pi * turn)),
                                               static_cast<float>(-std::sin(2 * std::numbers::pi * turn))};
    }
  }
  return factors;
}

/// The supported sizes.
constexpr bool fft_in_one_pass(std::int64_t size) {
  return size >= 2 && size <= 8192 && (size & (size - 1)) == 0;
}

}  // namespace iqd::gpu
