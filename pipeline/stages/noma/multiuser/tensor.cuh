// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_fp16.h>

#include <cstring>

/// Matrix products on tensor cores with nearly float precision: a value is the sum of two of binary16, accurate to
/// 2^-22 of it (and to 2^-25 where it is small), so three products of binary16 make one. Values beyond 65504 saturate,
/// in both parts, and never become infinite.
///
/// A warp holds its matrices in pieces. With g = lane / 4 and t = lane % 4, a lane has
///
/// left    16 x 16  {row g, row g + 8} of columns 2t, 2t + 1, then the same of columns 2t + 8, 2t + 9
/// right   16 x 8   rows 2t, 2t + 1 of column g, then rows 2t + 8, 2t + 9 of it
/// result  16 x 8   {row g, row g + 8} x {column 2t, column 2t + 1}
namespace iqd::noma {

/// Two values, the first in the lower bits.
struct HighLow {
  unsigned high;
  unsigned low;
};
struct Left {
  unsigned high[4];
  unsigned low[4];
};
struct Right {
  unsigned high[2];
  unsigned low[2];
};
struct Result {
  float value[4];
  __device__ float& operator[](int i) { return value[i]; }
  __device__ float operator[](int i) const { return value[i]; }
};

/// NaN stays NaN.
__device__ inline unsigned halves(float a, float b) {
  unsigned pair;
#if __CUDA_ARCH__ >= 900
  asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
#else
  const auto most = [](float x) { return x > 65504.0f ? 65504.0f : x < -65504.0f ? -65504.0f : x; };
  const __half2 both = __floats2half2_rn(most(a), most(b));
  memcpy(&pair, &both, sizeof pair);
#endif
  return pair;
}

__device__ inline HighLow split(float a, float b) {
  HighLow pair;
  pair.high = halves(a, b);
  __half2 high;
  memcpy(&high, &pair.high, sizeof high);
  pair.low = halves(a - __low2float(high), b - __high2float(high));
  return pair;
}

__device__ inline unsigned negated(unsigned pair) {
  return pair ^ 0x80008000u;
}

/// sum + left right, in binary16
__device__ inline Result multiply_halves(const unsigned (&a)[4], const unsigned (&b)[2], const Result& sum) {
  Result d;
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(sum[0]), "f"(sum[1]), "f"(sum[2]),
        "f"(sum[3]));
#else
  const auto step = [&](int k, const Result& c) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
  };
  step(0, sum);
  step(1, Result(d));
#endif
  return d;
}

/// 2^x; results below the normal float range are 0.
__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// sum + left right
__device__ inline Result multiply(const Left& a, const Right& b, const Result& sum) {
  return multiply_halves(a.high, b.high, multiply_halves(a.high, b.low, multiply_halves(a.low, b.high, sum)));
}

}  // namespace iqd::noma
