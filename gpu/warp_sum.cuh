// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

namespace iqd::gpu {

inline constexpr int kWarp = 32;

/// The sum over a warp's threads, with the same bits for each: halves are added to halves, so the order depends only on
/// the threads' numbers.
template <class T> __device__ inline T sum_of_warp(T v) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) v += __shfl_xor_sync(~0u, v, distance);
  return v;
}
__device__ inline float2 sum_of_warp(float2 v) {
  return {sum_of_warp(v.x), sum_of_warp(v.y)};
}

}  // namespace iqd::gpu
