// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/telemetry/preamble_search/job.cuh"

/// The third kernel: the chain of candidates, and the starts that follow from it. One thread block.
namespace iqd::preamble_search {
namespace {

/// Copies the candidates of all groups one behind the other; returns how many there are. Afterwards all threads see them.
__device__ int gather_candidates(const Job& job) {
  __shared__ int sums[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  int all = 0;
  for (int first = 0; first < job.groups; first += kThreads) {
    const int group = first + static_cast<int>(threadIdx.x);
    const int own = group < job.groups ? job.counts[group] : 0;
    int end = own;
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(kAll, end, static_cast<unsigned>(step));
      if (lane >= step) end += other;
    }
    __syncthreads();
    if (lane == 31) sums[warp] = end;
    __syncthreads();
    for (int w = 0; w < warp; ++w) end += sums[w];
    const Candidate* const from = job.grouped + static_cast<std::int64_t>(group) * kThreads;
    for (int i = 0; i < own; ++i) job.candidates[all + end - own + i] = from[i];
    for (int w = 0; w < kWarps; ++w) all += sums[w];
  }
  __syncthreads();
  return all;
}

/// Takes the starts of the walk.
struct PacketWriter {
  const Job& job;
  int packets = 0;
  int cut = 0;

  __device__ void operator()(const Start& start) {
    if (start.n < 0 || start.n + job.spacing.samples + kGuard > job.length) {
      cut += 1 - start.flywheel;
    } else if (packets < job.most_packets) {
      job.packets[packets++] = {start, 0};
    }
  }
};

__global__ void __launch_bounds__(kThreads) choose_starts(const Job job) {
  const int count = gather_candidates(job);
  if (threadIdx.x > 0) return;
  const std::int64_t origin = *job.first_at;
  Track track{};
  if (job.track && !job.restart) track = *job.track;
  link_candidates(job.spacing, job.candidates, count, job.links);
  PacketWriter writer{job};
  StartWalk<PacketWriter> walk(job.spacing, job.fresh, origin, job.flywheel, track, writer);
  for (int at = first_of_chain(job.spacing, job.candidates, count, job.links, track.last - origin,
                               job.carry ? track.run : 0);
       at >= 0; at = job.links[at].next)
    walk.found(Pattern::settled(job.candidates[at].n), job.candidates[at].metric);
  walk.none();
  if (job.track) *job.track = track;
  *job.outcome = {writer.packets, writer.cut, static_cast<int>(walk.locks), static_cast<int>(walk.losses)};
}

}  // namespace
}  // namespace iqd::preamble_search
