// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/arithmetic.hpp"

/// The conversion of one element for device code. NVRTC compiles this too: no standard library. Handles each type but
/// f16, for which convert_cuda.cu specialises ToFloat and FromFloat.
#if defined(__CUDACC__)
namespace iqd::convert {

using elementwise::Complex;
using elementwise::Complex16;

template <class Integer> struct Range;
template <> struct Range<signed char> { static constexpr int kLeast = -0x80, kMost = 0x7f; };
template <> struct Range<short> { static constexpr int kLeast = -0x8000, kMost = 0x7fff; };
template <> struct Range<int> { static constexpr int kLeast = -0x7fffffff - 1, kMost = 0x7fffffff; };
template <class Integer> constexpr float kScale = -static_cast<float>(Range<Integer>::kLeast);

template <class Integer> struct ToFloat {
  __device__ static float of(Integer x) { return static_cast<float>(x) * (1 / kScale<Integer>); }
};
template <> struct ToFloat<float> {
  __device__ static float of(float x) { return x; }
};

/// Rounds to nearest, halves to even, and saturates; NaN gives 0. For 32 bits the hardware does all of it.
template <class To> struct FromFloat {
  __device__ static To of(float x) {
    const int whole = __float2int_rn(x * kScale<To>);
    return static_cast<To>(min(max(whole, Range<To>::kLeast), Range<To>::kMost));
  }
};
template <> struct FromFloat<float> {
  __device__ static float of(float x) { return x; }
};

template <class From, class To> struct Conversion {
  using Input = From;
  using Output = To;
  static constexpr int kInputs = 1;
  static constexpr int kOutputs = 1;
  __device__ void operator()(From x, To& y, long long) const { y = FromFloat<To>::of(ToFloat<From>::of(x)); }
};
template <class T> struct Conversion<T, T> {
  using Input = T;
  using Output = T;
  static constexpr int kInputs = 1;
  static constexpr int kOutputs = 1;
  __device__ void operator()(T x, T& y, long long) const { y = x; }
};
/// A complex number is converted as two real ones.
template <> struct Conversion<Complex16, Complex> {
  __device__ void operator()(Complex16 x, Complex& y, long long) const {
    y = {ToFloat<short>::of(x.re), ToFloat<short>::of(x.im)};
  }
};
template <> struct Conversion<Complex, Complex16> {
  __device__ void operator()(Complex x, Complex16& y, long long) const {
    y = {FromFloat<short>::of(x.re), FromFloat<short>::of(x.im)};
  }
};

}  // namespace iqd::convert
#endif
