// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Includes nothing: NVRTC also compiles this file, and it has no standard library.
#ifndef IQD_HOST_DEVICE
#if defined(__CUDACC__)
#define IQD_HOST_DEVICE __host__ __device__
#else
#define IQD_HOST_DEVICE
#endif
#endif

/// The functions that the expressions of ops.def call, for host and device code. They do not use std::complex: its
/// products check for NaN and infinity, which makes them slow.
///
/// Every product, sum, quotient and root is rounded once, to single precision. A choice computes both values and
/// selects one. So the compiler vectorises everything, with the same bits on every CPU.
namespace iqd::elementwise {

/// Memory layout of cf32.
struct Complex {
  float re = 0;
  float im = 0;
};
/// Memory layout of sc16.
struct Complex16 {
  short re = 0;
  short im = 0;
};
/// The result of an operation with two outputs.
template <class T> struct Pair {
  T first;
  T second;
};
/// A constant that takes the type of the other operand.
struct Number {
  Complex complex;
  int whole = 0;

  IQD_HOST_DEVICE constexpr Complex as(Complex) const { return complex; }
  IQD_HOST_DEVICE constexpr float as(float) const { return complex.re; }
  IQD_HOST_DEVICE constexpr int as(int) const { return whole; }
  IQD_HOST_DEVICE constexpr short as(short) const { return static_cast<short>(whole); }
};

IQD_HOST_DEVICE constexpr float sum(float a, float b) {
  return a + b;
}
IQD_HOST_DEVICE constexpr float difference(float a, float b) {
  return a - b;
}
IQD_HOST_DEVICE constexpr float product(float a, float b) {
  return a * b;
}
IQD_HOST_DEVICE constexpr Complex sum(Complex a, Complex b) {
  return {a.re + b.re, a.im + b.im};
}
IQD_HOST_DEVICE constexpr Complex difference(Complex a, Complex b) {
  return {a.re - b.re, a.im - b.im};
}
/// Both parts are sums: from a difference next to a sum GCC 12 makes a fused multiply-add, even with -ffp-contract=off.
IQD_HOST_DEVICE constexpr Complex product(Complex a, Complex b) {
  return {a.re * b.re + a.im * -b.im, a.re * b.im + a.im * b.re};
}
/// The product of re + j im and b. jb is j b, which the caller already has if b comes from a table.
IQD_HOST_DEVICE constexpr Complex product(float re, float im, Complex b, Complex jb) {
  return {re * b.re + im * jb.re, re * b.im + im * jb.im};
}
IQD_HOST_DEVICE constexpr Complex scaled(Complex a, float b) {
  return {a.re * b, a.im * b};
}

/// Whole numbers wrap around. Computed as unsigned, since signed overflow is undefined.
template <class T> IQD_HOST_DEVICE constexpr T wrapped(unsigned x) {
  return static_cast<T>(x);
}
#define IQD_WRAPPING(T)                                                     \
  IQD_HOST_DEVICE constexpr T sum(T a, T b) {                               \
    return wrapped<T>(static_cast<unsigned>(a) + static_cast<unsigned>(b)); \
  }                                                                         \
  IQD_HOST_DEVICE constexpr T difference(T a, T b) {                        \
    return wrapped<T>(static_cast<unsigned>(a) - static_cast<unsigned>(b)); \
  }                                                                         \
  IQD_HOST_DEVICE constexpr T product(T a, T b) {                           \
    return wrapped<T>(static_cast<unsigned>(a) * static_cast<unsigned>(b)); \
  }
IQD_WRAPPING(short)
IQD_WRAPPING(int)
#undef IQD_WRAPPING

IQD_HOST_DEVICE constexpr Complex conj(Complex x) {
  return {x.re, -x.im};
}
IQD_HOST_DEVICE constexpr float norm(Complex x) {
  return x.re * x.re + x.im * x.im;
}
IQD_HOST_DEVICE inline float root(float x) {
#if defined(__CUDACC__)
  return sqrtf(x);
#else
  return __builtin_sqrtf(x);
#endif
}

template <class To, class From> IQD_HOST_DEVICE constexpr To bits_as(From x) {
  return __builtin_bit_cast(To, x);
}
IQD_HOST_DEVICE constexpr float size(float x) {
  return bits_as<float>(bits_as<unsigned>(x) & 0x7fffffffu);
}
/// x with the sign of `sign`; x must not be negative.
IQD_HOST_DEVICE constexpr float signed_as(float sign, float x) {
  return bits_as<float>(bits_as<unsigned>(x) | (bits_as<unsigned>(sign) & 0x80000000u));
}
IQD_HOST_DEVICE constexpr float not_below(float least, float x) {
  return x > least ? x : least;  // NaN gives `least`
}

/// The angle of x, -pi … pi, within 4e-7. It is 0 if both parts are 0, whatever their signs: -0 + j 0 gives 0, not pi.
/// Otherwise zeros and infinities give the same as atan2. NaN if a part is NaN.
IQD_HOST_DEVICE constexpr float arg(Complex x) {
  const float re = size(x.re), im = size(x.im);
  const bool steep = re < im;
  const float large = steep ? im : re;
  const float small = steep ? re : im;
  const float equal = large > 0 ? 1.0f : 0.0f;  // also for infinities
  const float q = large == small ? equal : small / large;
  const float z = q * q;
  // Minimax polynomial of atan(q) / q on 0 … 1, error 6e-9.
  float p = 0x1.4201fcp-9f;
  p = p * z + -0x1.d7e720p-7f;
  p = p * z + 0x1.45e344p-5f;
  p = p * z + -0x1.2856fap-4f;
  p = p * z + 0x1.ae096ep-4f;
  p = p * z + -0x1.2205a0p-3f;
  p = p * z + 0x1.994fb6p-3f;
  p = p * z + -0x1.555368p-2f;
  p = p * z + 0x1.fffffcp-1f;
  const float octant = p * q;
  const float quarter = steep ? 0x1.921fb6p0f - octant : octant;
  const float half = x.re < 0 ? 0x1.921fb6p1f - quarter : quarter;
  return signed_as(x.im, half);
}

/// The decimal logarithm of x ≥ 1e-37, within 1e-7 or the result's last bit. Infinity gives infinity.
IQD_HOST_DEVICE constexpr float decimal_log(float x) {
  // x = 2^e m, m in 1/sqrt(2) … sqrt(2).
  const unsigned above = bits_as<unsigned>(x) - 0x3f3504f3u;
  const float e = static_cast<float>(static_cast<int>(above) >> 23);
  const float m = bits_as<float>((above & 0x007fffffu) + 0x3f3504f3u);
  // log10(m) = 2 artanh(s) / ln(10). Minimax polynomial of that over s: error 1e-7, so 2e-8 in the logarithm.
  const float s = (m - 1.0f) / (m + 1.0f);
  const float z = s * s;
  float p = 0x1.6f506ep-3f;
  p = p * z + 0x1.2869fcp-2f;
  p = p * z + 0x1.bcb7b4p-1f;
  // log10(2) in two parts; e times the first is exact.
  const float log = e * 0x1.344p-2f + (e * 0x1.3509f8p-18f + s * p);
  return x <= 0x1.fffffep127f ? log : x;
}

/// exp(j 2 pi turns) for turns from -1/2 to 1/2, within 2e-7.
IQD_HOST_DEVICE constexpr Complex phasor(float turns) {
  const float quarters = 4 * turns;
  const float whole = (quarters + 0x1.8p23f) - 0x1.8p23f;  // the nearest, -2 … 2
  const float r = quarters - whole;
  const float z = r * r;
  // Minimax polynomials of the sine and the cosine of pi/2 r on -1/2 … 1/2, errors 5e-9 and 5e-11.
  float s = -0x1.2d9bb8p-8f;
  s = s * z + 0x1.465ec6p-4f;
  s = s * z + -0x1.4abbbap-1f;
  s = s * z + 0x1.921fb6p0f;
  s = s * r;
  float c = 0x1.d9f7bcp-11f;
  c = c * z + -0x1.55c662p-6f;
  c = c * z + 0x1.03c1dep-2f;
  c = c * z + -0x1.3bd3ccp0f;
  c = c * z + 1.0f;
  const bool turned = size(whole) == 1;
  const bool opposite = size(whole) == 2;
  const float re = turned ? s : c;
  const float im = turned ? c : s;
  return {opposite || whole == 1 ? -re : re, opposite || whole == -1 ? -im : im};
}
/// `turns` in units of 2^-64 turns: sums and products of such a phase wrap around as phases do.
IQD_HOST_DEVICE constexpr Complex phasor(unsigned long long turns) {
  return phasor(static_cast<float>(static_cast<int>(turns >> 32)) * 0x1p-32f);
}
/// exp(j angle), within 4e-7 for |angle| ≤ 1e9. A float cannot represent a larger angle that precisely: the result is
/// some number of magnitude 1. Infinity and NaN give NaN.
IQD_HOST_DEVICE constexpr Complex phasor_of_radians(float angle) {
  const double turns = static_cast<double>(angle) * 0.15915494309189535;
  const double nearest = (turns + 0x1.8p52) - 0x1.8p52;
  const bool small = turns < 0x1p51 && turns > -0x1p51;
  return phasor(static_cast<float>(turns - (small ? nearest : turns)));
}

}  // namespace iqd::elementwise
