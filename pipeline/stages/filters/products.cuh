// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Products and sums of samples and taps, real or complex, in one rounding each.
#pragma once

#include <cuda_runtime_api.h>

namespace iqd::dsp {

__device__ inline float multiply_add(float h, float x, float sum) {
  return fmaf(h, x, sum);
}
__device__ inline float2 multiply_add(float h, float2 x, float2 sum) {
  return {fmaf(h, x.x, sum.x), fmaf(h, x.y, sum.y)};
}
__device__ inline float2 multiply_add(float2 h, float2 x, float2 sum) {
  return {fmaf(-h.y, x.y, fmaf(h.x, x.x, sum.x)), fmaf(h.y, x.x, fmaf(h.x, x.y, sum.y))};
}
__device__ inline void add(float x, float& sum) {
  sum += x;
}
__device__ inline void add(float2 x, float2& sum) {
  sum.x += x.x;
  sum.y += x.y;
}

}  // namespace iqd::dsp
