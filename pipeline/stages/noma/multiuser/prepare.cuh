// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/noma/multiuser/task.cuh"

/// From received data to scaled pilots. Inputs may be in host memory, so each value is read only once.
namespace iqd::noma::training {

inline constexpr int kPrepareThreads = 256;
inline constexpr int kPrepareWarps = kPrepareThreads / kWarp;

/// How many frames each of `items` serves; 0 if they do not divide evenly.
__device__ inline int share_evenly(int frames, int items) {
  return items > 0 && frames % items == 0 ? max(frames / items, 1) : 0;
}

/// One thread.
static __global__ void begin_block(const Task task) {
  State state{};
  state.frames = min(*task.job.frames, task.most);
  const bool genie = task.start == Start::genie;
  state.of_start = genie || task.start == Start::port ? share_evenly(state.frames, *task.job.starts) : 1;
  state.of_noise = genie ? share_evenly(state.frames, *task.job.noises) : 1;
  if (state.of_start == 0 || state.of_noise == 0) state.frames = 0;
  *task.state = state;
  for (int o = 0; o < kOutputs; ++o)
    if (task.job.counts[o]) *task.job.counts[o] = o == kTally ? 1 : state.frames;
  if (task.online && task.fresh) *task.kept.present = false;
}

/// One thread, at the end.
static __global__ void tell_events(const Task task) {
  const State& state = *task.state;
  task.job.events[kFrames] = state.frames;
  task.job.events[kUntrained] = state.untrained;
  task.job.events[kPilotsLeftOut] = state.left_out;
  task.job.events[kErased] = state.erased;
}

/// The filter or the channel that this frame starts from.
__device__ inline void fetch_side(const Task& task) {
  const bool genie = task.start == Start::genie;
  if (!genie && task.start != Start::port) return;
  const int values = task.antennas * task.users;
  const auto* const from = reinterpret_cast<const float2*>(genie ? task.job.h : task.job.start) +
                           std::int64_t{task.frame / task.state->of_start} * values;
  const auto first = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int i = first; i < values; i += static_cast<int>(gridDim.x * blockDim.x))
    task.side[i] = task.uses(genie ? i / task.users : i % task.antennas) ? from[i] : float2{0, 0};
  if (genie && first == 0) task.state->genie_noise = task.job.noise[task.frame / task.state->of_noise];
}

/// Copies the pilots, finds those to be left out, and the power of each. One warp per pilot.
static __global__ void __launch_bounds__(kPrepareThreads) inspect_pilots(const Task task) {
  if (task.idle()) return;
  fetch_side(task);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int t = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  if (t >= task.pilots) return;
  const std::int64_t row = std::int64_t{task.frame} * task.pilots + t;
  const auto* const rx = reinterpret_cast<const float2*>(task.job.train_rx) + row * task.antennas;
  const auto* const tx = reinterpret_cast<const float2*>(task.job.train_tx) + row * task.users;
  const auto antenna = [&](int m) { return m < task.antennas && task.uses(m) ? rx[m] : float2{0, 0}; };
  const float2 r[2] = {antenna(lane), antenna(lane + kWarp)};
  const float2 b = lane < task.users ? tx[lane] : float2{0, 0};
  const bool valid = __all_sync(0xffffffffu, finite(r[0]) && finite(r[1]) && finite(b));
  double power = 0;
  for (const float2 v : r) power += double{v.x} * double{v.x} + double{v.y} * double{v.y};
  power = sum_of_warp(power);
  if (lane == 0) task.power[t] = valid ? power : -1;
  if (lane < task.users) task.b[lane * task.pilots + t] = valid ? b : float2{0, 0};
  float2* const x = task.x + std::int64_t{task.old_places + t} * task.antennas;
  for (int m = lane; m < task.antennas; m += kWarp) x[m] = valid ? r[m / kWarp] : float2{0, 0};
}

/// The gain, and whether the frame can be trained. Each thread block computes it; the first one writes it.
__device__ inline float find_gain(const Task& task, bool begins) {
  __shared__ double memory[kPrepareWarps];
  double sum = 0, count = 0;
  for (int t = static_cast<int>(threadIdx.x); t < task.pilots; t += kPrepareThreads)
    if (const double p = task.power[t]; p >= 0) sum += p, count += 1;
  sum = sum_of_group<kPrepareThreads>(sum, memory);
  count = sum_of_group<kPrepareThreads>(count, memory);
  const double mean = sum / (count * task.used_count);
  float gain = static_cast<float>(1 / sqrt(mean));
  bool good = count > 0 && mean > 0 && isfinite(gain) && gain > 0;
  if (!task.agc) gain = 1;
  if (begins && (task.start == Start::port || task.start == Start::genie))
    for (int i = static_cast<int>(threadIdx.x); i < task.antennas * task.users; i += kPrepareThreads)
      good = good && finite(task.side[i]);
  if (begins && task.start == Start::genie) good = good && isfinite(task.state->genie_noise);
  good = __syncthreads_and(good);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    State& state = *task.state;
    state.trained = good;
    state.begins = begins;
    state.valid = static_cast<int>(count);
    state.gain = gain;
    state.left_out += task.pilots - state.valid;
  }
  return good ? gain : 0;
}

/// The places: those kept from earlier frames, then the pilots, scaled. One warp per place.
static __global__ void __launch_bounds__(kPrepareThreads) scale_pilots(const Task task) {
  if (task.idle()) return;
  const bool present = task.online && *task.kept.present;
  const float gain = find_gain(task, !present);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int place = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / kWarp, t = place - task.old_places;
  if (place >= task.places) return;
  float2* const x = task.x + std::int64_t{place} * task.antennas;
  float norm = 0;
  for (int first = 0; first < task.antennas; first += kWarp) {
    const int m = first + lane;
    float2 v{0, 0};
    if (m < task.antennas && t < 0 && present) v = task.kept.x[std::int64_t{place} * task.antennas + m];
    if (m < task.antennas && t >= 0 && gain > 0) v = {gain * x[m].x, gain * x[m].y};
    if (m < task.antennas) x[m] = v;
    for (int i = 0; i < min(task.antennas - first, kWarp); ++i) {  // in the order in which gram.cuh sums a product
      const float re = __shfl_sync(0xffffffffu, v.x, i), im = __shfl_sync(0xffffffffu, v.y, i);
      norm = fmaf(im, im, fmaf(re, re, norm));
    }
  }
  if (lane < task.users) {
    float2 gamma{0, 0};
    if (t < 0 && present) gamma = task.kept.gamma[std::int64_t{lane} * task.old_places + place];
    task.gamma[std::int64_t{lane} * task.places + place] = gamma;
    if (t >= 0) task.factor[std::int64_t{lane} * task.pilots + t] = {0, 0};
  }
  if (lane != 0) return;
  task.norm[place] = norm;
  if (t < 0) return;
  const bool valid = task.power[t] >= 0, kernel = valid && t >= task.first_kernel;
  const float below = task.linear * norm + (kernel ? task.gaussian : 0);
  task.height[t] = kernel ? task.gaussian : 0;
  task.inverse[t] = valid && below > 0 ? 1 / below : 0;
}

}  // namespace iqd::noma::training
