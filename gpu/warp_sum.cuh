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

__device__ inline float max_of_warp(float v) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, distance));
  return v;
}

/// The sum over a thread block of `Threads` threads, returned to all of them: of each warp, then of the warps in order.
/// `memory` is shared, with room for one number per warp, and may be used again at once.
template <int Threads, class T> __device__ inline T sum_of_group(T v, T* memory) {
  v = sum_of_warp(v);
  if (threadIdx.x % kWarp == 0) memory[threadIdx.x / kWarp] = v;
  __syncthreads();
  T sum = 0;
  for (int warp = 0; warp < Threads / kWarp; ++warp) sum += memory[warp];
  __syncthreads();
  return sum;
}

}  // namespace iqd::gpu
