// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/telemetry/preamble_search/job.cuh"

/// The second kernel: which cells have a peak, and where its packet starts.
namespace iqd::preamble_search {
namespace {

/// L(n) from the samples, for the few positions that a cell's largest does not decide.
template <class Sample> __device__ float level_at(const Job& job, std::int64_t n) {
  float level = 0;
  for (int m = 0; m < job.repeats; ++m) {
    float2 c{0, 0};
#pragma unroll 8
    for (int l = 0; l < job.layout.period; ++l)
      add_product(sample_at<Sample>(job, n + m * job.layout.period + l), job.preamble[l], c);
    level += power_of(c);
  }
  return finite_level(level);
}

/// A cell's result: nothing, or perhaps a peak at n. Bits 1 and 2 of `open`: the first or the last cell within half a
/// packet has to be checked position by position.
struct Candidate {
  std::int64_t n = 0;
  float level = 0;
  float metric = 0;
  int open = 0;
};

__device__ Positions cells_around(const Job& job, std::int64_t n) {
  const std::int64_t from = max(n - job.half - job.searched.first, std::int64_t{0});
  const std::int64_t to = n + job.half - job.searched.first;
  return {from / job.layout.cell, min(to / job.layout.cell + 1, job.cell_count)};
}

__device__ Candidate candidate_of(const Job& job, std::int64_t k) {
  Candidate c;
  if (k >= job.cell_count) return c;
  const Cell own = job.cells[k];
  c.n = job.cell_first(k) + own.place;
  c.level = own.level;
  c.metric = own.metric;
  if (!(own.level > 0 && own.metric >= job.threshold) || !job.peaks.has(c.n)) return c;
  const Positions around = cells_around(job, c.n);
  int open = 1;
  for (std::int64_t j = around.first; j < around.end; ++j) {
    const Verdict verdict = compare(job.cells[j], job.cell_first(j), c.n, c.level, job.half);
    if (verdict == Verdict::no) return c;
    if (verdict == Verdict::look) open |= j < k ? 2 : 4;
  }
  c.open = open;
  return c;
}

/// One warp: whether n is the largest in the part of a cell that lies within half a packet.
template <class Sample> __device__ bool is_largest_in(const Job& job, std::int64_t cell, std::int64_t n, float level) {
  const std::int64_t from = max(job.cell_first(cell), n - job.half);
  const std::int64_t to = min(min(job.cell_first(cell + 1), n + job.half + 1), job.valid);
  bool larger = false;
  for (std::int64_t at = from + threadIdx.x % 32; at < to; at += 32) {
    const float other = level_at<Sample>(job, at);
    larger = larger || other > level || (other == level && at < n);
  }
  return !__any_sync(kAll, larger);
}

constexpr int kLanes = 6;        // that share a step
constexpr int kStepsAtOnce = 5;  // of one warp

/// One warp: how well the sync word fits at `word`, if it is there; each group of six lanes has its step, and takes a
/// block of the word at a time. -1 where it cannot be computed.
template <class Sample> __device__ float fit_of_step(const Job& job, std::int64_t word, bool there) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int period = job.layout.period;
  float sum = 0;
  for (int first = 0; first < job.sync_length; first += kLanes * period) {
    const int begin = first + lane % kLanes * period;
    const int end = there ? min(begin + period, job.sync_length) : 0;
    float2 c{0, 0};
#pragma unroll 8
    for (int l = begin; l < end; ++l) add_product(sample_at<Sample>(job, word + l), job.sync_word[l], c);
    const float power = power_of(c);
    for (int i = 0; i < kLanes; ++i) {
      const float other = __shfl_sync(kAll, power, min(lane / kLanes * kLanes + i, 31));
      if (first + i * period < job.sync_length) sum += other;
    }
  }
  return there && sum <= FLT_MAX ? sum : -1;
}

/// One warp: the start at which the sync word fits best.
template <class Sample> __device__ std::int64_t refined(const Job& job, std::int64_t n) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int period = job.layout.period;
  std::int64_t best = n;
  float best_fit = -1;
  for (int first = n < job.span ? 1 - job.repeats : -job.steps; first <= job.steps; first += kStepsAtOnce) {
    const int step = first + lane / kLanes;
    const std::int64_t start = n + step * period;
    const std::int64_t word = start + job.span;
    const bool tried = lane < kStepsAtOnce * kLanes && step <= job.steps && (step >= -job.steps || start < 0);
    const float fit = fit_of_step<Sample>(job, word, tried && word + job.sync_length <= job.length);
    for (int s = 0; s < kStepsAtOnce; ++s) {
      const float here = __shfl_sync(kAll, fit, s * kLanes);
      if (!(here > best_fit)) continue;
      best_fit = here;
      best = n + (first + s) * period;
    }
  }
  return Pattern::settled(best);
}

/// A thread handles one cell; the rare, costly part is done by the whole warp.
template <class Sample> __global__ void __launch_bounds__(kThreads) choose_peaks(const Job job) {
  __shared__ int before[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const Candidate own = candidate_of(job, static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x);
  Packet packet{0, own.metric, 0};
  bool found = false;
  for (unsigned todo = __ballot_sync(kAll, own.open != 0); todo != 0; todo &= todo - 1) {
    const int turn = __ffs(static_cast<int>(todo)) - 1;
    const std::int64_t n = __shfl_sync(kAll, own.n, turn);
    const float level = __shfl_sync(kAll, own.level, turn);
    const int open = __shfl_sync(kAll, own.open, turn);
    const Positions around = cells_around(job, n);
    if (open & 2 && !is_largest_in<Sample>(job, around.first, n, level)) continue;
    if (open & 4 && !is_largest_in<Sample>(job, around.end - 1, n, level)) continue;
    const std::int64_t start = job.refine ? refined<Sample>(job, n) : n;
    if (lane != turn) continue;
    packet.start = start;
    found = job.fresh.has(start < 0 ? n : start);
  }
  const bool cut = found && (packet.start < 0 || packet.start + job.samples + kGuard > job.length);
  const bool whole = found && !cut;
  const unsigned ballot = __ballot_sync(kAll, whole);
  if (lane == 0) before[warp] = __popc(ballot);
  const int cut_count = __syncthreads_count(cut);
  int index = __popc(ballot & ((1u << lane) - 1));
  int all = 0;
  for (int w = 0; w < kWarps; ++w) {
    if (w < warp) index += before[w];
    all += before[w];
  }
  if (whole) job.chosen[static_cast<std::int64_t>(blockIdx.x) * kThreads + index] = packet;
  if (threadIdx.x == 0) job.counts[blockIdx.x] = {all, cut_count};
}

}  // namespace
}  // namespace iqd::preamble_search
