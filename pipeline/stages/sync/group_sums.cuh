// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "gpu/warp_sum.cuh"

/// Sums over a part of a thread block's threads.
namespace iqd::dsp {
namespace {

using gpu::kWarp;

/// The sum over the threads before this one, in a thread block of `Threads`; `total` is that over all. `memory` has room
/// for one number per warp.
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
