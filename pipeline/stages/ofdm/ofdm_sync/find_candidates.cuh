// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/ofdm/ofdm_sync/job.cuh"

/// The first kernels: sums over steps; with `reject_tones`, the halves of each antenna; the grid points whose halves are
/// most alike.
namespace iqd::ofdm_sync {
namespace {

constexpr int kParts = 8;  // threads per step, one per partial sum

__host__ __device__ constexpr int parts_of(const Grid& grid) {
  return grid.step < kParts ? static_cast<int>(grid.step) : kParts;
}

/// Thread blocks by steps and antennas. Neighbouring threads add neighbouring samples.
template <class Sample> __global__ void __launch_bounds__(kThreads) sum_steps(const Job job) {
  __shared__ std::int64_t shared_lead;
  const Grid& grid = job.grid;
  if (threadIdx.x == 0) {
    const std::int64_t past = job.first() % grid.step;
    shared_lead = past == 0 ? 0 : grid.step - past;
    if (blockIdx.x == 0 && blockIdx.y == 0) *job.lead = shared_lead;
  }
  __syncthreads();
  const std::int64_t lead = shared_lead;
  const int parts = parts_of(grid);
  const std::int64_t r = blockIdx.y;
  const std::int64_t b = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / parts;
  const std::int64_t count = job.length > lead ? (job.length - lead) / grid.step : 0;
  const int part = static_cast<int>(threadIdx.x) % parts;
  float sums[kSums] = {};
  if (b < count) {
    const std::int64_t first = lead + b * grid.step;
#pragma unroll 4
    for (std::int64_t i = part; i < grid.step; i += parts) {
      const Complex x = sample_at<Sample>(job, r, first + i);
      const Complex later = sample_at<Sample>(job, r, first + i + grid.lag);
      sums[0] += x.re * later.re + x.im * later.im;
      sums[1] += x.re * later.im - x.im * later.re;
      sums[2] += x.re * x.re + x.im * x.im;
      sums[3] += x.re;
      sums[4] += x.im;
    }
  }
#pragma unroll
  for (int s = 0; s < kSums; ++s) {
    for (int distance = parts / 2; distance > 0; distance /= 2) sums[s] += __shfl_xor_sync(kAll, sums[s], distance);
    if (part == 0 && b < count) job.part(r, s)[b] = sums[s];
  }
}

/// Thread blocks by grid points and antennas; a thread compares the halves of one antenna at one grid point.
__global__ void __launch_bounds__(kThreads) compare_halves(const Job job) {
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (j >= job.halves()) return;
  const std::int64_t r = blockIdx.y;
  const Alike own = halves_at(job.grid, job.sums_of(r), j);
  const float inverse = inverse_energy(own);
  job.alike_part(r, 0)[j] = inverse > 0 ? own.c.re : 0;
  job.alike_part(r, 1)[j] = inverse > 0 ? own.c.im : 0;
  job.alike_part(r, 2)[j] = inverse;
}

constexpr int kCore = kThreads - 2 * static_cast<int>(kSteps);  // grid points of a thread block

template <bool kRejectsTones> __device__ float likeness_at(const Job& job, std::int64_t j) {
  Combined all;
  const std::int64_t halves = kRejectsTones ? job.halves() : 0;
  for (std::int64_t r = 0; r < job.grid.antennas; ++r) {
    if constexpr (kRejectsTones)
      all.add(halves_beside_tones(job.grid, job.alikes_of(r, halves), j).c);
    else
      all.add(halves_at(job.grid, job.sums_of(r), j).c);
  }
  return all.value();
}

/// A thread computes M of one grid point; those of the core check whether theirs is a candidate.
template <bool kRejectsTones> __global__ void __launch_bounds__(kThreads) find_candidates(const Job job) {
  __shared__ float likeness[kThreads];
  constexpr int kAround = static_cast<int>(kSteps);
  constexpr int kCell = static_cast<int>(kRejectsTones ? kNearbyBesideTones : kSteps);
  const int t = static_cast<int>(threadIdx.x);
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * kCore + t - kAround;
  const float own = j >= 0 && j < job.places() ? likeness_at<kRejectsTones>(job, j) : -1;
  likeness[t] = own;
  __syncthreads();
  const std::int64_t around = job.grid.half * job.grid.step;
  const Positions asked = job.grid.asked(job.fresh);
  const bool core = t >= kAround && t < kAround + kCore;
  bool largest = core && own > 0 && own >= job.grid.threshold &&
                 Positions{asked.first - around, asked.end + around}.has(job.at(j));
  if (largest)
    for (int i = 1; i <= kCell; ++i) largest = largest && likeness[t - i] < own && likeness[t + i] <= own;
  const unsigned found = __ballot_sync(kAll, largest) >> (t % 32 / kCell * kCell) & ((1u << kCell) - 1);
  const std::int64_t cell = j / kCell;
  if (!core || t % kCell != 0 || cell >= job.cell_count) return;
  const int place = __ffs(static_cast<int>(found)) - 1;
  job.cells[cell] = {found ? j + place : -1, found ? likeness[t + place] : 0, 0, 0};
}

}  // namespace
}  // namespace iqd::ofdm_sync
