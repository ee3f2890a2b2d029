// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "pipeline/stages/transmit/aph_predistorter/job.cuh"

/// Two other implementations for comparison, for cf32.
///
/// `paper`: a thread computes one sample's powers and gets those of earlier samples from other lanes of its warp. The
/// first taps - 1 lanes lack them: the previous warp computes their outputs again.
/// `three_kernels`: powers, filters and their sum, each in a kernel, with all intermediate results in memory.
namespace iqd::aph_predistorter {

template <class S> __device__ Complex paper_sum(const Model& model, Complex x) {
  const int branches = S::branches(model);
  Complex v[Model::kMostBranches];
  v[0] = x;
  const float a = square(x);
#pragma unroll
  for (int b = 1; b < Model::kMostBranches; ++b) v[b] = b < branches ? scaled(v[b - 1], a) : Complex{};
  Complex z = model.constant;
#pragma unroll
  for (int k = S::taps(model) - 1; k >= 0; --k)
#pragma unroll
    for (int b = 0; b < Model::kMostBranches; ++b)
      if (b < branches) {
        const Complex before{__shfl_up_sync(0xffffffff, v[b].re, k), __shfl_up_sync(0xffffffff, v[b].im, k)};
        add(z, model.weights[k * branches + b], before);
      }
  return z;
}

template <class S> __global__ void __launch_bounds__(kThreads) predistort_paper(const __grid_constant__ Job job) {
  const int redundant = S::taps(job.model) - 1;
  const int lane = threadIdx.x % 32;
  const std::int64_t warps = (job.length + 31 - redundant) / (32 - redundant);
  Watch watch;
  for (std::int64_t w = (blockIdx.x * kThreads + threadIdx.x) / 32; w < warps * job.rows;
       w += gridDim.x * (kThreads / 32)) {
    const std::int64_t row = w / warps;
    const std::int64_t i = (w - row * warps) * (32 - redundant) + lane - redundant;
    const bool there = i >= -job.past && i < job.length;
    const Complex z = paper_sum<S>(job.model, there ? *job.x_at<Complex>(row, i) : Complex{});
    if (lane < redundant || i >= job.length) continue;
    Watch one;
    *job.z_at<Complex>(row, i) = limit<Complex>(z, job.clip, one);
    if (i >= job.told.begin && i < job.told.end) watch.add(one);
  }
  leave(job, watch);
}

/// Memory between the three kernels: a piece of a row at a time.
struct Between {
  static constexpr std::int64_t kMostPiece = 1 << 22;
  static constexpr int kHistory = Model::kMostTaps;

  Complex* powers;  // [branch][kHistory + piece]
  Complex* parts;   // [branch][piece]
  std::int64_t piece;

  static constexpr std::size_t bytes(int branches, std::int64_t piece) {
    return static_cast<std::size_t>(branches * (2 * piece + kHistory)) * sizeof(Complex);
  }
  __device__ Complex* power(int b, std::int64_t i) const { return powers + b * (kHistory + piece) + kHistory + i; }
  __device__ Complex* part(int b, std::int64_t i) const { return parts + b * piece + i; }
};

template <class S> __global__ void __launch_bounds__(kThreads)
    make_powers(const __grid_constant__ Job job, const Between between) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x - Between::kHistory;
  if (i >= job.length) return;
  Complex v = i >= -job.past ? *job.x_at<Complex>(0, i) : Complex{};
  const float a = square(v);
  for (int b = 0; b < S::branches(job.model); ++b) {
    *between.power(b, i) = v;
    v = scaled(v, a);
  }
}
template <class S> __global__ void __launch_bounds__(kThreads)
    filter_powers(const __grid_constant__ Job job, const Between between) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= job.length) return;
  const int b = static_cast<int>(blockIdx.y);
  Complex z;
#pragma unroll
  for (int k = S::taps(job.model) - 1; k >= 0; --k)
    add(z, job.model.weights[k * S::branches(job.model) + b], *between.power(b, i - k));
  *between.part(b, i) = z;
}
/// `more`: the watches hold the statistics of earlier pieces.
template <class S> __global__ void __launch_bounds__(kThreads)
    sum_parts(const __grid_constant__ Job job, const Between between, bool more) {
  Watch watch;
  if (more && threadIdx.x == 0) watch = job.watches[blockIdx.x];
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < job.length;
       i += static_cast<std::int64_t>(gridDim.x) * kThreads) {
    Complex z = job.model.constant;
    for (int b = 0; b < S::branches(job.model); ++b) {
      const Complex part = *between.part(b, i);
      z = {z.re + part.re, z.im + part.im};
    }
    Watch one;
    *job.z_at<Complex>(0, i) = limit<Complex>(z, job.clip, one);
    if (i >= job.told.begin && i < job.told.end) watch.add(one);
  }
  leave(job, watch);
}

/// Returns the number of watches written.
template <class S> int run_three_kernels(Job job, const Between& between, cudaStream_t stream) {
  const Job all = job;
  const int groups = groups_for(gpu::groups_of(std::min(all.length, between.piece), kThreads));
  bool more = false;
  for (int row = 0; row < all.rows; ++row)
    for (std::int64_t at = 0; at < all.length; at += between.piece) {
      job.x = all.x + row * all.x_pitch + at * static_cast<std::int64_t>(sizeof(Complex));
      job.z = all.z + row * all.z_pitch + at * static_cast<std::int64_t>(sizeof(Complex));
      job.past = all.past + at;
      job.length = std::min(between.piece, all.length - at);
      job.told = {all.told.begin - at, all.told.end - at};
      const dim3 wide(gpu::groups_of(job.length, kThreads), static_cast<unsigned>(job.model.branches));
      make_powers<S><<<gpu::groups_of(job.length + Between::kHistory, kThreads), kThreads, 0, stream>>>(job, between);
      filter_powers<S><<<wide, kThreads, 0, stream>>>(job, between);
      sum_parts<S><<<groups, kThreads, 0, stream>>>(job, between, more);
      more = true;
    }
  return groups;
}

}  // namespace iqd::aph_predistorter
