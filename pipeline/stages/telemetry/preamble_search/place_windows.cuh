// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/warp_sum.cuh"
#include "pipeline/stages/telemetry/preamble_search/job.cuh"

/// The third and the fourth kernel: which windows may be sent, and copying them.
namespace iqd::preamble_search {
namespace {

/// The position of the packet with this index among those chosen, or -1; and how many there are.
__device__ std::int64_t find_chosen(const Job& job, int index, int& all) {
  __shared__ int sums[kWarps];
  __shared__ std::int64_t place;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (threadIdx.x == 0) place = -1;
  all = 0;
  for (int first = 0; first < job.groups; first += kThreads) {
    const int group = first + static_cast<int>(threadIdx.x);
    const int own = group < job.groups ? job.counts[group].whole : 0;
    int end = own;
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(kAll, end, static_cast<unsigned>(step));
      if (lane >= step) end += other;
    }
    __syncthreads();
    if (lane == 31) sums[warp] = end;
    __syncthreads();
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) end += sums[w];
    }
    end += all;
    if (index >= end - own && index < end) place = static_cast<std::int64_t>(group) * kThreads + index - (end - own);
    for (int w = 0; w < kWarps; ++w) all += sums[w];
  }
  __syncthreads();
  return place;
}

/// One thread block for each possible packet.
template <class Sample> __global__ void __launch_bounds__(kThreads) check_windows(const Job job) {
  __shared__ float memory[kWarps];
  const auto index = static_cast<int>(blockIdx.x);
  int all;
  const std::int64_t place = find_chosen(job, index, all);
  if (index == 0 && threadIdx.x == 0) *job.packet_count = all;
  if (place < 0) return;
  Packet packet = job.chosen[place];
  float sum = 0;
#pragma unroll 8
  for (std::int64_t i = threadIdx.x; i < job.window(); i += kThreads)
    sum += power_of(sample_at<Sample>(job, packet.start - kGuard + i));
  const float energy = gpu::sum_of_group<kThreads>(sum, memory);
  packet.fit = energy >= kLeastEnergy && energy <= kMostEnergy;
  if (threadIdx.x == 0) job.packets[index] = packet;
}

/// Called by the one thread block that knows how many windows are sent, and how many packets behind the last one have
/// no room.
__device__ void write_counts(const Job& job, int packets, int given, int crowded) {
  __shared__ int memory[kWarps];
  int cut = 0;
  for (int group = static_cast<int>(threadIdx.x); group < job.groups; group += kThreads) cut += job.counts[group].cut;
  cut = gpu::sum_of_group<kThreads>(cut, memory);
  if (threadIdx.x > 0) return;
  *job.windows.count = *job.start.count = *job.metric.count = given;
  *job.events.count = 1;
  job.events[kFound] = given;
  job.events[kCut] = cut;
  job.events[kNotFinite] = packets - given - crowded;
  job.events[kCrowded] = crowded;
}

/// kParts thread blocks for each possible packet.
template <class Sample> __global__ void __launch_bounds__(kThreads) place_windows(const Job job) {
  __shared__ int memory[kWarps];
  const auto index = static_cast<int>(blockIdx.x / kParts);
  const auto part = static_cast<int>(blockIdx.x % kParts);
  const int packets = *job.packet_count;
  if (index >= max(packets, 1)) return;
  int fit_before = 0;
  for (int i = static_cast<int>(threadIdx.x); i < index; i += kThreads) fit_before += job.packets[i].fit;
  const std::int64_t to = gpu::sum_of_group<kThreads>(fit_before, memory);
  Packet packet{0, 0, 0};
  if (index < packets) packet = job.packets[index];
  const bool takes_last_room = packet.fit && to == job.windows.most - 1;
  const bool last = index >= packets - 1 && to + packet.fit < job.windows.most;
  if (part == 0 && (takes_last_room || last))
    write_counts(job, packets, static_cast<int>(to) + packet.fit, takes_last_room ? packets - index - 1 : 0);
  if (!packet.fit || to >= job.windows.most) return;
  const std::int64_t each = (job.window() + kParts - 1) / kParts;
  const std::int64_t end = min((part + 1) * each, job.window());
  float2* const window = job.windows.data + to * job.window();
#pragma unroll 4
  for (std::int64_t i = part * each + threadIdx.x; i < end; i += kThreads)
    window[i] = sample_at<Sample>(job, packet.start - kGuard + i);
  if (part > 0 || threadIdx.x > 0) return;
  job.start[to] = *job.first_at + packet.start;
  job.metric[to] = packet.metric;
}

}  // namespace
}  // namespace iqd::preamble_search
