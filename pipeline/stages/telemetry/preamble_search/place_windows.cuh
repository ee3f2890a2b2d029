// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/warp_sum.cuh"
#include "pipeline/stages/telemetry/preamble_search/job.cuh"

/// The fourth and the fifth kernel: which windows may be sent, and copying them.
namespace iqd::preamble_search {
namespace {

/// One thread block for each possible packet.
template <class Sample> __global__ void __launch_bounds__(kThreads) check_windows(const Job job) {
  __shared__ float memory[kWarps];
  const auto index = static_cast<int>(blockIdx.x);
  if (index >= job.outcome->packets) return;
  const std::int64_t start = job.packets[index].start.n;
  float sum = 0;
#pragma unroll 8
  for (std::int64_t i = threadIdx.x; i < job.window(); i += kThreads)
    sum += power_of(sample_at<Sample>(job, start - kGuard + i));
  const float energy = gpu::sum_of_group<kThreads>(sum, memory);
  if (threadIdx.x == 0) job.packets[index].fit = energy >= kLeastEnergy && energy <= kMostEnergy;
}

/// Called by the one thread block that knows how many windows are sent, among the first `seen` packets, and how many
/// packets behind these have no room.
__device__ void write_counts(const Job& job, int seen, int given, int crowded) {
  __shared__ int memory[kWarps];
  int put = 0;
  for (int i = static_cast<int>(threadIdx.x); i < seen; i += kThreads)
    put += job.packets[i].fit != 0 && job.packets[i].start.flywheel != 0;
  put = gpu::sum_of_group<kThreads>(put, memory);
  if (threadIdx.x > 0) return;
  const Outcome outcome = *job.outcome;
  *job.windows.count = *job.start.count = *job.metric.count = given;
  *job.put.count = *job.lock.count = job.flywheel ? given : 0;
  *job.events.count = 1;
  job.events[kFound] = given;
  job.events[kCut] = outcome.cut;
  job.events[kNotFinite] = outcome.packets - given - crowded;
  job.events[kCrowded] = crowded;
  job.events[kFlywheel] = put;
  job.events[kLocked] = job.flywheel ? outcome.locked : 0;
  job.events[kLostLock] = job.flywheel ? outcome.lost_lock : 0;
}

/// kParts thread blocks for each possible packet.
template <class Sample> __global__ void __launch_bounds__(kThreads) place_windows(const Job job) {
  __shared__ int memory[kWarps];
  const auto index = static_cast<int>(blockIdx.x / kParts);
  const auto part = static_cast<int>(blockIdx.x % kParts);
  const int packets = job.outcome->packets;
  if (index >= max(packets, 1)) return;
  int fit_before = 0;
  for (int i = static_cast<int>(threadIdx.x); i < index; i += kThreads) fit_before += job.packets[i].fit;
  const std::int64_t to = gpu::sum_of_group<kThreads>(fit_before, memory);
  Packet packet{};
  if (index < packets) packet = job.packets[index];
  const bool takes_last_room = packet.fit && to == job.windows.most - 1;
  const bool last = index >= packets - 1 && to + packet.fit < job.windows.most;
  if (part == 0 && (takes_last_room || last))
    write_counts(job, min(index + 1, packets), static_cast<int>(to) + packet.fit,
                 takes_last_room ? packets - index - 1 : 0);
  if (!packet.fit || to >= job.windows.most) return;
  const std::int64_t each = (job.window() + kParts - 1) / kParts;
  const std::int64_t end = min((part + 1) * each, job.window());
  float2* const window = job.windows.data + to * job.window();
#pragma unroll 4
  for (std::int64_t i = part * each + threadIdx.x; i < end; i += kThreads)
    window[i] = sample_at<Sample>(job, packet.start.n - kGuard + i);
  if (part > 0 || threadIdx.x > 0) return;
  job.start[to] = *job.first_at + packet.start.n;
  job.metric[to] = packet.start.metric;
  if (!job.flywheel) return;
  job.put[to] = packet.start.flywheel;
  job.lock[to] = packet.start.lock;
}

}  // namespace
}  // namespace iqd::preamble_search
