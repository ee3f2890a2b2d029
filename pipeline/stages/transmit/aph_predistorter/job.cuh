// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "gpu/runtime.hpp"
#include "gpu/warp_sum.cuh"
#include "pipeline/stages/transmit/aph_predistorter/tile_inl.hpp"

namespace iqd::aph_predistorter {

inline constexpr int kThreads = Tile::kThreads;
inline constexpr int kMostGroups = 2048;  // each writes one Watch, and handles as many tiles as needed

/// One block, as passed to a kernel; the model is passed with it, in constant memory.
struct Job {
  const std::byte* x;  // at the first output's position
  std::byte* z;
  std::int64_t x_pitch;  // bytes
  std::int64_t z_pitch;
  std::int64_t past;
  std::int64_t length;
  int rows;
  Told told;
  Watch* watches;  // [group]
  float clip;
  Model model;

  template <class In> __device__ const In* x_at(std::int64_t row, std::int64_t i) const {
    return reinterpret_cast<const In*>(x + row * x_pitch) + i;
  }
  template <class Out> __device__ Out* z_at(std::int64_t row, std::int64_t i) const {
    return reinterpret_cast<Out*>(z + row * z_pitch) + i;
  }
};

/// Compile-time numbers of branches and taps; 0: known at run time only.
template <int branches_, int taps_> struct Sizes {
  static constexpr int kBranches = branches_;
  static constexpr int kTaps = taps_;
  static __device__ int branches(const Model& model) { return kBranches > 0 ? kBranches : model.branches; }
  static __device__ int taps(const Model& model) { return kTaps > 0 ? kTaps : model.taps; }
};
/// Calls `f` with the usual sizes, 5/3 and 5 taps, or with run-time sizes for any other model.
template <class F> void with_sizes(const Model& model, F f) {
  if (model.branches == 3 && model.taps == 5)
    f(Sizes<3, 5>());
  else
    f(Sizes<0, 0>());
}

/// Combines those of all threads in thread 0. All threads call it.
template <int threads> __device__ Watch together(Watch watch) {
  __shared__ Watch of_warps[threads / 32];
  // Turing has no instructions for a warp's sum.
  watch.largest = gpu::max_of_warp(watch.largest);
  watch.clipped = gpu::sum_of_warp(watch.clipped);
  watch.not_finite = gpu::sum_of_warp(watch.not_finite);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = watch;
  __syncthreads();
  for (int w = 1; threadIdx.x == 0 && w < threads / 32; ++w) watch.add(of_warps[w]);
  return watch;
}
__device__ inline void leave(const Job& job, Watch watch) {
  watch = together<kThreads>(watch);
  if (threadIdx.x == 0) job.watches[blockIdx.x] = watch;
}

/// Thread blocks for this number of pieces of work, which they share.
inline int groups_for(std::int64_t pieces) {
  return static_cast<int>(pieces < kMostGroups ? pieces : kMostGroups);
}

}  // namespace iqd::aph_predistorter
