// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/warp_sum.cuh"
#include "pipeline/stages/telemetry/packet_estimator/packet_estimator.hpp"

/// What the kernels share, and the first two: S of each packet, and the mean that its offset is computed from.
namespace iqd::packet_estimator {
namespace {

constexpr int kThreads = 512;
using gpu::kWarp;
constexpr int kWarps = kThreads / kWarp;
constexpr int kBatch = 8;  // loads in flight per thread
constexpr int kGuard = static_cast<int>(PacketFormat::kGuard);

/// Memory between the kernels: the number of packets; then S of each and, with `clock`, W and the error of each.
struct alignas(16) Found {
  std::int32_t packets;
};

struct Job {
  const float2* windows;
  const std::int32_t* packets;
  Found* found;
  Correlation* s;
  Mean* mean;
  float2* out_windows;
  float2* channel;
  float* noise;
  float* offset;
  float* offset_hz;
  std::int32_t* counts[5];
  std::int32_t* clock_counts[2];
  const float2* wave;   // p
  const float2* solve;  // G
  double rho;
  int most;
  int window;
  int lag;
  int terms;
  int rows;
  int columns;
  Offsets offsets;
  bool fresh;

  // Of the clock.
  Clock over;
  LineProduct* products;
  ClockError* errors;
  float* clock;
  float* clock_quality;
  const float* band_pass;
  const double2* line_turns;
  const float* warp;  // [kPhases + 1][kWarpTaps]
  double middle;
  int first;
  int segment;
  int segments;
  int line;
  int reach;
};

__device__ int bits_of(float x) {
  return __float_as_int(x) & 0x7fffffff;
}

/// This thread's part of S.
__device__ Correlation terms_of(const Job& job, const float2* window) {
  const float2* const r = window + kGuard + 2 * job.lag;
  Correlation s;
  for (int n = static_cast<int>(threadIdx.x); n < job.terms; n += kThreads) {
    const float2 now = r[n], before = r[n - job.lag];
    s.re += double{now.x} * double{before.x} + double{now.y} * double{before.y};
    s.im += double{now.y} * double{before.x} - double{now.x} * double{before.y};
  }
  return s;
}

/// S of each packet, NaN if a sample is unusable. One thread block per packet; the first passes on the count. Three
/// thread blocks share a multiprocessor, so that one loads samples while others wait for the count.
__global__ void __launch_bounds__(kThreads, 3) correlate_packets(const Job job) {
  __shared__ int packets;
  __shared__ double memory[kWarps];
  if (threadIdx.x == 0) packets = min(*job.packets, job.most);
  __syncthreads();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    job.found->packets = packets;
    for (std::int32_t* const count : job.counts) *count = packets;
    for (std::int32_t* const count : job.clock_counts) *count = job.over == Clock::off ? 0 : packets;
  }
  if (static_cast<int>(blockIdx.x) >= packets) return;
  const float2* const window = job.windows + static_cast<std::int64_t>(blockIdx.x) * job.window;
  Correlation s = terms_of(job, window);
  int largest = 0;
#pragma unroll kBatch
  for (int n = static_cast<int>(threadIdx.x); n < job.window; n += kThreads) {
    const float2 r = window[n];
    largest = max(largest, max(bits_of(r.x), bits_of(r.y)));
  }
  const bool unusable = __syncthreads_or(largest > bits_of(kLargest));
  s.re = gpu::sum_of_group<kThreads>(s.re, memory);
  s.im = gpu::sum_of_group<kThreads>(s.im, memory);
  if (threadIdx.x == 0) job.s[blockIdx.x] = unusable ? Correlation{NAN, NAN} : s;
}

/// Replaces each S by the sum of all. One thread block.
__global__ void __launch_bounds__(kThreads) average_block(const Job job) {
  __shared__ double memory[kWarps];
  __shared__ Correlation total;
  const int packets = job.found->packets;
  Correlation s;
  for (int p = static_cast<int>(threadIdx.x); p < packets; p += kThreads) {
    const Correlation one = job.s[p];
    if (isnan(one.re)) continue;
    s.re += one.re;
    s.im += one.im;
  }
  s.re = gpu::sum_of_group<kThreads>(s.re, memory);
  s.im = gpu::sum_of_group<kThreads>(s.im, memory);
  if (threadIdx.x == 0) total = s;
  __syncthreads();
  for (int p = static_cast<int>(threadIdx.x); p < packets; p += kThreads)
    if (!isnan(job.s[p].re)) job.s[p] = total;
}

/// Replaces each S by the mean so far. One thread block: all threads copy, one computes.
__global__ void __launch_bounds__(kThreads) average_carry(const Job job) {
  __shared__ Correlation s[kThreads];
  const int packets = job.found->packets;
  Mean mean{};
  if (threadIdx.x == 0 && !job.fresh) mean = *job.mean;
  for (int first = 0; first < packets; first += kThreads) {
    const int p = first + static_cast<int>(threadIdx.x);
    if (p < packets) s[threadIdx.x] = job.s[p];
    __syncthreads();
    for (int i = 0; threadIdx.x == 0 && i < min(packets - first, kThreads); ++i) {
      if (isnan(s[i].re)) continue;
      mean.add(s[i], job.offsets.weight);
      s[i] = mean.value;
    }
    __syncthreads();
    if (p < packets) job.s[p] = s[threadIdx.x];
  }
  if (threadIdx.x == 0) *job.mean = mean;
}

}  // namespace
}  // namespace iqd::packet_estimator
