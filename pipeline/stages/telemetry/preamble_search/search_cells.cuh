// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/telemetry/preamble_search/job.cuh"

/// The first kernel: T of all positions, S where T suffices, and the largest U of each cell.
namespace iqd::preamble_search {
namespace {

/// |c|^2 and the energy of one period for eight positions; the first begins with the sample at x. From tap to tap the
/// window moves by one sample, so eight products need one load: the new sample replaces the dropped one.
__device__ void correlate_eight(const float2* x, const float2* q, int period, float (&power)[kEach],
                                float (&energy)[kEach]) {
  float2 window[kEach];
  float2 c[kEach] = {};
  float squares[2 * kEach];
#pragma unroll
  for (int r = 0; r < kEach; ++r) {
    window[r] = x[r];
    squares[kEach + r] = power_of(window[r]);
    energy[r] = 0;
  }
#pragma unroll 1
  for (int l = 0; l < period; l += kEach) {
    x += kEach + 1;
#pragma unroll
    for (int u = 0; u < kEach; ++u) {
      const float2 tap = q[l + u];
#pragma unroll
      for (int r = 0; r < kEach; ++r) add_product(window[(r + u) % kEach], tap, c[r]);
      window[u] = x[u];
      squares[u] = squares[kEach + u];
      squares[kEach + u] = power_of(window[u]);
    }
    // Sums of eight by halves: of sums of two, sums of four.
    float sums[2 * kEach];
#pragma unroll
    for (int i = 0; i < 2 * kEach - 2; ++i) sums[i] = squares[i] + squares[i + 1];
#pragma unroll
    for (int i = 0; i < 2 * kEach - 4; ++i) sums[i] = sums[i] + sums[i + 2];
#pragma unroll
    for (int r = 0; r < kEach; ++r) energy[r] += sums[r] + sums[r + 4];
  }
#pragma unroll
  for (int r = 0; r < kEach; ++r) power[r] = power_of(c[r]);
}

__device__ void store_eight(const float (&from)[kEach], float* to) {
  reinterpret_cast<float4*>(to)[0] = {from[0], from[1], from[2], from[3]};
  reinterpret_cast<float4*>(to)[1] = {from[4], from[5], from[6], from[7]};
}

/// The larger of two, of equal ones the earlier.
__device__ void keep_larger(Cell& cell, const Cell& other) {
  if (other.level > cell.level || (other.level == cell.level && other.place < cell.place)) cell = other;
}
__device__ Cell largest_of_warp(Cell cell) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    Cell other;
    other.level = __shfl_xor_sync(kAll, cell.level, distance);
    other.metric = __shfl_xor_sync(kAll, cell.metric, distance);
    other.place = __shfl_xor_sync(kAll, cell.place, distance);
    keep_larger(cell, other);
  }
  return cell;
}

/// The energy of one period from n on, in correlate_eight's order.
template <class Sample> __device__ float energy_of_period(const Job& job, std::int64_t n) {
  float energy = 0;
  for (int l = 0; l < job.layout.period; l += kEach) {
    float squares[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) squares[i] = power_of(sample_at<Sample>(job, n + l + i));
    const float first = (squares[0] + squares[1]) + (squares[2] + squares[3]);
    energy += first + ((squares[4] + squares[5]) + (squares[6] + squares[7]));
  }
  return energy;
}

/// S at n, 0 where the sync word is not complete.
template <class Sample> __device__ float share_at(const Job& job, std::int64_t n) {
  const std::int64_t word = n + job.span;
  if (word + job.sync_length > job.length) return 0;
  float sum = 0, energy = 0;
  for (int first = 0; first < job.sync_length; first += job.layout.period) {
    const int end = min(first + job.layout.period, job.sync_length);
    float2 c{0, 0};
    for (int l = first; l < end; ++l) {
      const float2 x = sample_at<Sample>(job, word + l);
      add_product(x, job.sync_word[l], c);
      energy = fmaf(x.y, x.y, fmaf(x.x, x.x, energy));
    }
    sum += power_of(c) / static_cast<float>(end - first);
  }
  return energy > 0 && energy <= FLT_MAX && sum <= FLT_MAX ? sum / energy : 0;
}

/// U at n, or 0 if it may not be a start.
template <class Sample> __device__ float both_at(const Job& job, std::int64_t n, float metric) {
  if (!(metric >= job.threshold)) return 0;
  const float share = share_at<Sample>(job, n);
  return share >= job.least_share ? metric + share : 0;
}

/// One warp: sums |c|^2 over the repeats and returns the cell's largest U; also writes T where it is wanted.
template <class Sample>
__device__ Cell search_cell(const Job& job, std::int64_t first, const float* power, const float* energy) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto length = static_cast<int>(job.layout.cell);
  const int period = job.layout.period;
  Cell best;
  best.place = lane;
  for (int i = lane; i < length; i += 32) {
    const std::int64_t n = first + i;
    float level = power[i];
    float sum = energy[i];
#pragma unroll 4
    for (int m = 1; m < job.repeats; ++m) {
      level += power[i + m * period];
      sum += energy[i + m * period];
    }
    const bool there = n >= -job.before && n < job.valid;
    const float metric = there ? metric_of(finite_level(level), sum) : 0;
    if (job.correlation && job.correlated.has(n)) job.correlation[n - job.correlated.first] = metric;
    const float both = there ? both_at<Sample>(job, n, metric) : 0;
    if (both > best.level) best = {both, metric, i};
  }
  return largest_of_warp(best);
}

template <class Sample> __global__ void __launch_bounds__(kThreads) search_cells(const Job job) {
  extern __shared__ float4 memory[];
  const Layout& layout = job.layout;
  const int period = layout.period;
  float* const power = reinterpret_cast<float*>(memory);
  float* const energy = power + layout.count();
  float2* const q = reinterpret_cast<float2*>(energy + layout.count());
  float2* const x = q + period;
  const int t = static_cast<int>(threadIdx.x);
  const std::int64_t tile = job.first_tile + blockIdx.x;
  const std::int64_t first = job.searched.first + tile * layout.tile;

  for (int i = t; i < period; i += kThreads) q[i] = job.preamble[i];
  for (int pass = 0; pass < layout.passes; ++pass) {
    if (pass > 0) __syncthreads();
    const std::int64_t from = first + pass * kPass;
#pragma unroll 8
    for (int i = t; i < kPass + period; i += kThreads) x[Layout::padded(i)] = sample_at<Sample>(job, from + i);
    __syncthreads();
    float own_power[kEach], own_energy[kEach];
    correlate_eight(x + Layout::padded(kEach * t), q, period, own_power, own_energy);
    store_eight(own_power, power + pass * kPass + kEach * t);
    store_eight(own_energy, energy + pass * kPass + kEach * t);
  }
  __syncthreads();
  const auto cells = static_cast<int>(layout.tile / layout.cell);
  for (int c = t / 32; c < cells; c += kWarps) {
    const std::int64_t at = c * layout.cell;
    const Cell largest = search_cell<Sample>(job, first + at, power + at, energy + at);
    const std::int64_t k = tile * cells + c;
    if (t % 32 == 0 && k >= 0 && k < job.cell_count) job.cells[k] = largest;
  }
}

}  // namespace
}  // namespace iqd::preamble_search
