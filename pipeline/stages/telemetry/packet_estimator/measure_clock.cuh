// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/warp_sum.cuh"
#include "pipeline/stages/telemetry/packet_estimator/turn.cuh"

/// The kernels that find the clock's error: W of each packet, and the error that fits a packet or the block best.
namespace iqd::packet_estimator {
namespace {

constexpr int kMostPerBit = 8;
constexpr int kMostSegment = kSegmentBits * kMostPerBit;
constexpr int kMostReach = 5 * kMostPerBit;
constexpr int kSegmentRuns = (kMostSegment + 2 * kMostReach) / kRun + 2;  // that a segment and its surroundings touch

/// What the threads of a packet share.
struct SegmentMemory {
  Turns<kSegmentRuns> turns;
  float2 x[kMostSegment + 2 * kMostReach];  // derotated, `reach` samples before the segment on
  float band_pass[kMostReach + 1];
  double2 line[2 * kMostPerBit];
  double memory[kWarps];
};

/// z of sample i of the segment.
__device__ float2 filter_sample(const Job& job, const SegmentMemory& shared, int i) {
  const float2* const x = shared.x + i + job.reach;
  float2 z{shared.band_pass[0] * x[0].x, shared.band_pass[0] * x[0].y};
  for (int m = 1; m <= job.reach; ++m) {
    const float b = shared.band_pass[m];
    if (b == 0) continue;
    z.x = fmaf(b, x[-m].x + x[m].x, z.x);
    z.y = fmaf(b, x[-m].y + x[m].y, z.y);
  }
  return z;
}

/// W of the segment in shared memory, valid in all threads.
__device__ LineProduct product_of_segment(const Job& job, SegmentMemory& shared) {
  double2 above{0, 0}, below{0, 0};
  for (int i = static_cast<int>(threadIdx.x); i < job.segment; i += kThreads) {
    const float2 z = filter_sample(job, shared, i);
    const double re = fmaf(-z.y, z.y, z.x * z.x), im = (z.x + z.x) * z.y;
    const double2 turn = shared.line[i % job.line];
    above.x += re * turn.x + im * turn.y;
    above.y += im * turn.x - re * turn.y;
    below.x += re * turn.x - im * turn.y;
    below.y += im * turn.x + re * turn.y;
  }
  above.x = gpu::sum_of_group<kThreads>(above.x, shared.memory);
  above.y = gpu::sum_of_group<kThreads>(above.y, shared.memory);
  below.x = gpu::sum_of_group<kThreads>(below.x, shared.memory);
  below.y = gpu::sum_of_group<kThreads>(below.y, shared.memory);
  return {above.x * below.x + above.y * below.y, above.y * below.x - above.x * below.y};
}

/// W of each packet; zeros if a sample is unusable. One thread block per packet.
__global__ void __launch_bounds__(kThreads) measure_clock(const Job job) {
  __shared__ SegmentMemory shared;
  const int thread = static_cast<int>(threadIdx.x);
  if (static_cast<int>(blockIdx.x) >= job.found->packets) return;
  LineProduct* const w = job.products + static_cast<std::int64_t>(blockIdx.x) * job.segments;
  const Correlation s = job.s[blockIdx.x];
  if (isnan(s.re)) {
    if (thread < job.segments) w[thread] = {};
    return;
  }
  set_turns(job, s, shared.turns);
  if (thread <= job.reach) shared.band_pass[thread] = job.band_pass[thread];
  if (thread < job.line) shared.line[thread] = job.line_turns[thread];
  for (int j = 0; j < job.segments; ++j) {
    const int begin = kGuard + job.first + j * job.segment - job.reach;
    load_turned(job, shared.turns, begin, job.segment + 2 * job.reach, shared.x);
    const LineProduct product = product_of_segment(job, shared);
    if (thread == 0) w[j] = product;
  }
}

/// What the threads of a search share.
struct GridMemory {
  double power[kCoarsePoints];
  double most;
  int place;  // of the largest
};

/// The power of one point of the grid, over packets begin … end - 1.
__device__ double power_of_point(const Job& job, int fine, int begin, int end) {
  double re, im, power = 0;
  sincospi(half_turns(fine), &im, &re);
  for (int p = begin; p < end; ++p)
    power += power_of_products(job.products + static_cast<std::int64_t>(p) * job.segments, job.segments, re, im);
  return power;
}

/// Computes the powers of `count` points, `stride` fine steps apart from `from` on; the first largest is `place`.
__device__ void search_grid(const Job& job, GridMemory& shared, int from, int stride, int count, int begin, int end) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < count) shared.power[thread] = power_of_point(job, from + stride * thread, begin, end);
  __syncthreads();
  if (thread == 0) {
    int place = 0;
    for (int i = 1; i < count; ++i)
      if (shared.power[i] > shared.power[place]) place = i;
    shared.place = place;
  }
  __syncthreads();
}

/// The error of each packet, one thread block per packet; or that of the block, with a single one.
__global__ void __launch_bounds__(kThreads) search_clock(const Job job) {
  static_assert(kCoarsePoints <= kThreads - kWarp);
  __shared__ GridMemory shared;
  const int thread = static_cast<int>(threadIdx.x);
  const int packets = job.found->packets;
  const bool alone = job.over == Clock::packet;
  const int begin = alone ? static_cast<int>(blockIdx.x) : 0;
  const int end = alone ? begin + 1 : packets;
  if (begin >= packets) return;
  if (thread >= kThreads - kWarp) {  // the last warp, which has no point of the grid
    double most = 0;
    for (int p = begin + thread % kWarp; p < end; p += kWarp)
      most += most_power(job.products + static_cast<std::int64_t>(p) * job.segments, job.segments);
    most = gpu::sum_of_warp(most);
    if (thread == kThreads - 1) shared.most = most;
  }
  search_grid(job, shared, -kFine, kFinePerCoarse, kCoarsePoints, begin, end);
  const int coarse = shared.place * kFinePerCoarse - kFine;
  __syncthreads();  // all have read it before it is overwritten
  const int from = max(coarse - kFinePerCoarse, -kFine);
  const int count = min(coarse + kFinePerCoarse, kFine) - from + 1;
  search_grid(job, shared, from, 1, count, begin, end);
  const int place = shared.place;
  const double* const power = shared.power + place;
  const bool inside = place > 0 && place < count - 1;
  const double fine = from + place + (inside ? vertex(power[-1], power[0], power[1]) : 0.0);
  const ClockError error = job.segments > 0 ? error_of(fine, power[0], shared.most) : ClockError{};
  for (int p = begin + thread; p < end; p += kThreads) job.errors[p] = error;
}

}  // namespace
}  // namespace iqd::packet_estimator
