// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/telemetry/preamble_search/job.cuh"
#include "pipeline/stages/telemetry/preamble_search/search_cells.cuh"

/// The second kernel: which cells have a candidate.
namespace iqd::preamble_search {
namespace {

/// U at n from the samples, for the few positions that a cell's largest does not decide.
template <class Sample> __device__ float both_from_samples(const Job& job, std::int64_t n) {
  float level = 0, energy = 0;
  for (int m = 0; m < job.repeats; ++m) {
    const std::int64_t first = n + m * job.layout.period;
    float2 c{0, 0};
#pragma unroll 8
    for (int l = 0; l < job.layout.period; ++l) add_product(sample_at<Sample>(job, first + l), job.preamble[l], c);
    level += power_of(c);
    energy += energy_of_period<Sample>(job, first);
  }
  return both_at<Sample>(job, n, metric_of(finite_level(level), energy));
}

/// A cell's largest U: bits 1, 2 and 4 of `open` say that it may be a candidate, and that the cell before or the one
/// behind has to be looked at position by position.
struct Contender {
  Candidate candidate;
  int open = 0;
};

__device__ Positions cells_around(const Job& job, std::int64_t n) {
  const std::int64_t from = max(n - job.near - job.searched.first, std::int64_t{0});
  const std::int64_t to = n + job.near - job.searched.first;
  return {from / job.layout.cell, min(to / job.layout.cell + 1, job.cell_count)};
}

__device__ Contender contender_of(const Job& job, std::int64_t k) {
  Contender c;
  if (k >= job.cell_count) return c;
  const Cell own = job.cells[k];
  c.candidate = {job.cell_first(k) + own.place, own.metric, own.level};
  if (!(own.level > 0) || !job.within.has(c.candidate.n)) return c;
  const Positions around = cells_around(job, c.candidate.n);
  int open = 1;
  for (std::int64_t j = around.first; j < around.end; ++j) {
    const Verdict verdict = compare(job.cells[j], job.cell_first(j), c.candidate.n, own.level, job.near);
    if (verdict == Verdict::no) return c;
    if (verdict == Verdict::look) open |= j < k ? 2 : 4;
  }
  c.open = open;
  return c;
}

/// One warp: whether n is the best in the part of a cell that lies within reach.
template <class Sample> __device__ bool is_best_in(const Job& job, std::int64_t cell, std::int64_t n, float level) {
  const std::int64_t from = max(job.cell_first(cell), n - job.near);
  const std::int64_t to = min(min(job.cell_first(cell + 1), n + job.near + 1), job.searched.end);
  bool better = false;
  for (std::int64_t at = from + threadIdx.x % 32; at < to; at += 32) {
    const float other = both_from_samples<Sample>(job, at);
    better = better || other > level || (other == level && at < n);
  }
  return !__any_sync(kAll, better);
}

/// A thread handles one cell; the rare, costly part is done by the whole warp.
template <class Sample> __global__ void __launch_bounds__(kThreads) find_candidates(const Job job) {
  __shared__ int before[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const Contender own = contender_of(job, static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x);
  bool found = false;
  for (unsigned todo = __ballot_sync(kAll, own.open != 0); todo != 0; todo &= todo - 1) {
    const int turn = __ffs(static_cast<int>(todo)) - 1;
    const std::int64_t n = __shfl_sync(kAll, own.candidate.n, turn);
    const float level = __shfl_sync(kAll, own.candidate.share, turn);
    const int open = __shfl_sync(kAll, own.open, turn);
    const Positions around = cells_around(job, n);
    if (open & 2 && !is_best_in<Sample>(job, around.first, n, level)) continue;
    if (open & 4 && !is_best_in<Sample>(job, around.end - 1, n, level)) continue;
    if (lane == turn) found = true;
  }
  const unsigned ballot = __ballot_sync(kAll, found);
  if (lane == 0) before[warp] = __popc(ballot);
  __syncthreads();
  int index = __popc(ballot & ((1u << lane) - 1));
  int all = 0;
  for (int w = 0; w < kWarps; ++w) {
    if (w < warp) index += before[w];
    all += before[w];
  }
  if (found) job.grouped[static_cast<std::int64_t>(blockIdx.x) * kThreads + index] = own.candidate;
  if (threadIdx.x == 0) job.counts[blockIdx.x] = all;
}

}  // namespace
}  // namespace iqd::preamble_search
