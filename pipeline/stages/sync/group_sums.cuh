// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "gpu/warp_sum.cuh"

/// Sums over the threads of a thread block, in an order that depends only on their numbers.
namespace iqd::dsp {
namespace {

using gpu::kWarp;
using gpu::sum_of_warp;

/// The sum over a thread block of `Threads` threads, returned to all of them; `memory` has room for one number per
/// warp.
template <int Threads> __device__ double sum_of_group(double v, double* memory) {
  v = sum_of_warp(v);
  if (threadIdx.x % kWarp == 0) memory[threadIdx.x / kWarp] = v;
  __syncthreads();
  double sum = 0;
  for (int warp = 0; warp < Threads / kWarp; ++warp) sum += memory[warp];
  __syncthreads();
  return sum;
}

/// The sum over the threads before this one; `total` is that over all. `memory` as above.
template <int Threads> __device__ std::int64_t scan(std::int64_t v, std::int64_t* memory, std::int64_t& total) {
  const std::int64_t own = v;
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (unsigned step = 1; step < kWarp; step *= 2) {
    const std::int64_t before = __shfl_up_sync(~0u, v, step);
    if (lane >= step) v += before;
  }
  if (lane == kWarp - 1) memory[warp] = v;
  __syncthreads();
  std::int64_t before = 0;
  total = 0;
  for (unsigned w = 0; w < Threads / kWarp; ++w) {
    before += w < warp ? memory[w] : 0;
    total += memory[w];
  }
  __syncthreads();
  return before + v - own;
}

}  // namespace
}  // namespace iqd::dsp
