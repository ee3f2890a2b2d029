// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/noma/multiuser/task.cuh"

/// Estimates of all pilots before and after training, the resulting model, and its published values.
namespace iqd::noma::training {

inline constexpr int kTargets = 16;  // pilots of a thread block
inline constexpr int kColumns = 4;   // users of a thread block
inline constexpr int kEstimateThreads = 512;
inline constexpr int kEstimateWarps = kEstimateThreads / kWarp;
inline constexpr int kFinishThreads = 512;
inline constexpr int kFinishWarps = kFinishThreads / kWarp;

/// A pilot and a user, for the threads that have them.
struct Estimated {
  int t;
  int user;
  bool there;
  float2 value;
};

/// Places first … first + count - 1, except `left_out` of them from first + gap on.
struct Range {
  int first;
  int count;
  int gap;
  int left_out;
};

/// The sum over places of gram times their factors, [user][place] with `pitch`, for pilots from `first_pilot` on.
__device__ inline Estimated sum_places(const Task& task, int first_pilot, Range range, const float2* factors,
                                       int pitch) {
  __shared__ float2 parts[kEstimateWarps][kColumns][kTargets];
  const int thread = static_cast<int>(threadIdx.x), target = thread % kTargets;
  const int first_t = first_pilot + static_cast<int>(blockIdx.x) * kTargets,
            first_user = static_cast<int>(blockIdx.y) * kColumns;
  const float4* const gram =
      task.gram + std::int64_t{range.first} * task.pilots + min(first_t + target, task.pilots - 1);
  float2 sum[kColumns]{};
#pragma unroll 4
  for (int i = thread / kTargets; i < range.count - range.left_out; i += kEstimateThreads / kTargets) {
    const int s = i < range.gap ? i : i + range.left_out;
    const float4 g = __ldg(gram + std::int64_t{s} * task.pilots);
#pragma unroll
    for (int u = 0; u < kColumns; ++u) {
      const float2 f = factors[std::int64_t{min(first_user + u, task.users - 1)} * pitch + s];
      sum[u] = {fmaf(g.y, f.y, fmaf(g.x, f.x, sum[u].x)), fmaf(g.x, f.y, fmaf(g.z, f.x, sum[u].y))};
    }
  }
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    sum[i].x += __shfl_xor_sync(0xffffffffu, sum[i].x, kTargets);
    sum[i].y += __shfl_xor_sync(0xffffffffu, sum[i].y, kTargets);
    if (thread % kWarp < kTargets) parts[thread / kWarp][i][target] = sum[i];
  }
  __syncthreads();
  const int column = thread / kTargets;
  Estimated e{first_t + target, first_user + column, false, {0, 0}};
  e.there = column < kColumns && e.t < task.pilots && e.user < task.users;
  for (int warp = 0; e.there && warp < kEstimateWarps; ++warp) {
    const float2 part = parts[warp][column][target];
    e.value = {e.value.x + part.x, e.value.y + part.y};
  }
  return e;
}

/// Before training: w_L c.x, and the kernels of old places.
static __global__ void __launch_bounds__(kEstimateThreads) estimate_first(const Task task) {
  if (task.idle() || !task.state->trained) return;
  const Estimated e = sum_places(task, 0, {0, task.passes > 0 ? task.old_places : 0, 0, 0}, task.gamma, task.places);
  if (!e.there) return;
  const float2* const x = task.x + std::int64_t{task.old_places + e.t} * task.antennas;
  const float2* const c = task.c + e.user * task.antennas;
  float re = 0, im = 0;
  for (int m = 0; m < task.antennas; ++m) {
    re = fmaf(c[m].y, x[m].y, fmaf(c[m].x, x[m].x, re));
    im = fmaf(-c[m].y, x[m].x, fmaf(c[m].x, x[m].y, im));
  }
  task.base[std::int64_t{e.user} * task.pilots + e.t] = {fmaf(task.linear, re, e.value.x),
                                                         fmaf(task.linear, im, e.value.y)};
}

/// Before a stretch: all factors except those that change in it; in the first pass later ones are 0.
static __global__ void __launch_bounds__(kEstimateThreads) estimate_stretch(const Task task) {
  if (task.idle() || !task.state->trained) return;
  const int end = min(task.stretch + kStretch, task.pilots), begin = settled(task);
  const Range range{task.old_places, task.pass > 0 ? task.pilots : end, begin, end - begin};
  const Estimated e = sum_places(task, task.stretch, range, task.factor, task.pilots);
  if (!e.there) return;
  const std::int64_t at = std::int64_t{e.user} * task.pilots + e.t;
  const float2 base = task.base[at];
  task.entering[at] = {base.x + e.value.x, base.y + e.value.y};
}

/// After training: gamma and the errors of pilots.
static __global__ void __launch_bounds__(kEstimateThreads) estimate_last(const Task task) {
  if (task.idle() || !task.state->trained) return;
  const Estimated e =
      sum_places(task, 0, {task.old_places, task.passes > 0 ? task.pilots : 0, 0, 0}, task.factor, task.pilots);
  if (!e.there) return;
  const std::int64_t at = std::int64_t{e.user} * task.pilots + e.t;
  const bool valid = task.power[e.t] >= 0;
  float2 gamma{0, 0};
  if (valid && e.t >= task.first_kernel) gamma = task.factor[at];
  task.gamma[std::int64_t{e.user} * task.places + task.old_places + e.t] = gamma;
  const float2 b = task.b[at], base = task.base[at];
  const float2 error{b.x - (base.x + e.value.x), b.y - (base.y + e.value.y)};
  const float2 others{fmaf(task.gaussian, gamma.x, error.x), fmaf(task.gaussian, gamma.y, error.y)};
  task.errors[at] = {valid ? fmaf(others.x, others.x, others.y * others.y) : 0,
                     valid ? fmaf(error.x, error.x, error.y * error.y) : 0};
}

/// c += sum of x conj(factor), and the mean errors. One thread block per user; for c one warp per antenna.
static __global__ void __launch_bounds__(kFinishThreads) finish_users(const Task task) {
  __shared__ double memory[kFinishWarps];
  if (task.idle() || !task.state->trained) return;
  const int user = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x), lane = thread % kWarp;
  const std::int64_t row = std::int64_t{user} * task.pilots;
  double without_own = 0, with_own = 0;
  for (int t = thread; t < task.pilots; t += kFinishThreads) {
    without_own += double{task.errors[row + t].x};
    with_own += double{task.errors[row + t].y};
  }
  without_own = sum_of_group<kFinishThreads>(without_own, memory);
  with_own = sum_of_group<kFinishThreads>(with_own, memory);
  if (thread == 0) {
    task.found[2 * user] = without_own / task.state->valid;
    task.found[2 * user + 1] = with_own / task.state->valid;
  }
  const float2* const x = task.x + std::int64_t{task.old_places} * task.antennas;
  for (int m = thread / kWarp; task.passes > 0 && m < task.antennas; m += kFinishWarps) {
    float2 sum{0, 0};
#pragma unroll 4
    for (int t = lane; t < task.pilots; t += kWarp) {
      const float2 v = x[std::int64_t{t} * task.antennas + m], f = task.factor[row + t];
      sum.x = fmaf(v.y, f.y, fmaf(v.x, f.x, sum.x));
      sum.y = fmaf(-v.x, f.y, fmaf(v.y, f.x, sum.y));
    }
    sum = {sum_of_warp(sum.x), sum_of_warp(sum.y)};
    float2& c = task.c[user * task.antennas + m];
    if (lane == 0) c = {c.x + sum.x, c.y + sum.y};
  }
}

/// A model whose errors are not finite counts as none.
__device__ inline bool can_be_used(const Task& task) {
  bool good = task.state->trained;
  for (int u = 0; good && u < task.users; ++u) good = isfinite(static_cast<float>(task.found[2 * u]));
  return good;
}

__device__ inline void tell_values(const Task& task, int user, bool good) {
  __shared__ double memory[kFinishWarps];
  const int thread = static_cast<int>(threadIdx.x);
  double norm = 0, power = 0;
  for (int i = thread; good && i < task.tiles; i += kFinishThreads)
    norm += task.norms[std::int64_t{i} * task.users + user];
  for (int m = thread; good && m < task.antennas; m += kFinishThreads) {
    const float2 c = task.c[user * task.antennas + m];
    power += double{c.x} * double{c.x} + double{c.y} * double{c.y};
  }
  norm = sum_of_group<kFinishThreads>(norm, memory);
  power = sum_of_group<kFinishThreads>(power, memory);
  if (thread > 0) return;
  const float noise = good ? fmaxf(static_cast<float>(task.found[2 * user]), 1e-12f) : 0;
  task.noise[user] = noise;
  if (!task.job.model) return;
  float* const to = task.job.model + (std::int64_t{task.frame} * task.users + user) * 4;
  to[0] = noise;
  to[1] = static_cast<float>(sqrt(power));
  to[2] = static_cast<float>(sqrt(fmax(norm, 0.0)));
  to[3] = good ? static_cast<float>(sqrt(task.found[2 * user + 1])) : 0;
}

/// Keeps the factors within the range of binary16, for detection.
__device__ inline void find_unit(const Task& task, int user) {
  __shared__ float memory[kFinishWarps];
  const float2* const gamma = task.gamma + std::int64_t{user} * task.places;
  const auto thread = static_cast<int>(threadIdx.x);
  float most = 0;
  for (int i = thread; i < task.places; i += kFinishThreads)
    most = fmaxf(most, fmaxf(fabsf(gamma[i].x), fabsf(gamma[i].y)));
#pragma unroll
  for (int d = kWarp / 2; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, d));
  if (thread % kWarp == 0) memory[thread / kWarp] = most;
  __syncthreads();
  if (thread > 0) return;
  for (const float m : memory) most = fmaxf(most, m);
  int exponent = 0;
  frexpf(fminf(most, 1e30f), &exponent);
  task.unit[user] = most > 0 ? ldexpf(1, max(-100, min(100, exponent))) : 1;
}

/// Saves the model to the carry.
__device__ inline void keep_model(const Task& task, int user) {
  const Kept& kept = task.kept;
  const auto thread = static_cast<int>(threadIdx.x);
  const float2* const gamma = task.gamma + std::int64_t{user} * task.places + task.pilots;
  for (int i = thread; i < task.old_places; i += kFinishThreads)
    kept.gamma[std::int64_t{user} * task.old_places + i] = gamma[i];
  for (int m = thread; m < task.antennas; m += kFinishThreads)
    kept.c[user * task.antennas + m] = task.c[user * task.antennas + m];
  const std::int64_t values = std::int64_t{task.old_places} * task.antennas;
  const float2* const x = task.x + std::int64_t{task.pilots} * task.antennas;
  for (std::int64_t i = std::int64_t{user} * kFinishThreads + thread; i < values;
       i += std::int64_t{task.users} * kFinishThreads)
    kept.x[i] = x[i];
}

/// Writes the requested outputs. One thread block per user.
static __global__ void __launch_bounds__(kFinishThreads) hand_out_model(const Task task) {
  if (task.idle()) return;
  const int user = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  State& state = *task.state;
  const bool good = can_be_used(task), forgotten = state.trained && !good;
  tell_values(task, user, good);
  const std::int64_t item = std::int64_t{task.frame} * task.users + user;
  for (int m = thread; task.job.linear && m < task.antennas; m += kFinishThreads) {
    const float2 c = forgotten ? float2{0, 0} : task.c[user * task.antennas + m];
    float* const to = task.job.linear + item * 2 * task.antennas + m;
    to[0] = c.x;
    to[task.antennas] = c.y;
  }
  auto* const gamma = reinterpret_cast<float2*>(task.job.gamma) + item * task.places;
  for (int i = thread; task.job.gamma && i < task.places; i += kFinishThreads)
    gamma[i] = forgotten ? float2{0, 0} : task.gamma[std::int64_t{user} * task.places + i];
  find_unit(task, user);
  if (good && task.online) keep_model(task, user);
  if (user > 0 || thread > 0) return;
  *task.scale = good ? state.gain : 0;
  state.untrained += !good;
  if (task.online && state.trained) *task.kept.present = good;
}

}  // namespace iqd::noma::training
