// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/noma/multiuser/task.cuh"

/// The linear filter that training starts from: A w = y for all users, A positive definite, in double.
namespace iqd::noma::training {

inline constexpr int kProductThreads = 128;
inline constexpr int kSolveThreads = 512;
inline constexpr int kSolveWarps = kSolveThreads / kWarp;

__host__ __device__ inline std::size_t solve_bytes(const Numbers& of) {
  return static_cast<std::size_t>(of.antennas) * static_cast<std::size_t>(of.columns()) * sizeof(double2);
}

/// += a b^*
__device__ inline void add_product(double2& sum, double2 a, double2 b) {
  sum.x = fma(a.y, b.y, fma(a.x, b.x, sum.x));
  sum.y = fma(-a.x, b.y, fma(a.y, b.x, sum.y));
}
__device__ inline double2 widened(float2 v) {
  return {v.x, v.y};
}

/// Partial sums of x x^H and x b^*: one thread block per slice of the pilots, one thread per entry.
static __global__ void __launch_bounds__(kProductThreads) sum_products(const Task task) {
  if (task.idle() || !task.state->trained || !task.state->begins) return;
  const int entry = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x), columns = task.columns();
  const int row = entry / columns, column = entry % columns;
  if (row >= task.antennas) return;
  const int length = (task.pilots + task.slices - 1) / task.slices;
  const int begin = static_cast<int>(blockIdx.x) * length, end = min(begin + length, task.pilots);
  const float2* const x = task.x + std::int64_t{task.old_places} * task.antennas;
  double2 sum{0, 0};
#pragma unroll 8
  for (int t = begin; t < end; ++t) {
    const float2 other = column < task.antennas ? x[std::int64_t{t} * task.antennas + column]
                                                : task.b[(column - task.antennas) * task.pilots + t];
    add_product(sum, widened(x[std::int64_t{t} * task.antennas + row]), widened(other));
  }
  task.products[std::int64_t{blockIdx.x} * task.antennas * columns + entry] = sum;
}

/// A and y of least squares: the sum over slices.
__device__ inline void load_products(const Task& task, double2* a) {
  const int entries = task.antennas * task.columns();
  for (int i = static_cast<int>(threadIdx.x); i < entries; i += kSolveThreads) {
    double2 sum{0, 0};
#pragma unroll 8
    for (int slice = 0; slice < task.slices; ++slice) {
      const double2 part = task.products[std::int64_t{slice} * entries + i];
      sum.x += part.x;
      sum.y += part.y;
    }
    if (i / task.columns() == i % task.columns()) sum.x += 1e-6 * 2 * task.state->valid;
    a[i] = sum;
  }
  __syncthreads();
}

/// A = H H^H + N I and y = H.
__device__ inline void load_channel(const Task& task, double2* a) {
  __shared__ double memory[kSolveWarps];
  const int columns = task.columns(), users = task.users;
  double trace = 0;
  for (int i = static_cast<int>(threadIdx.x); i < task.antennas * columns; i += kSolveThreads) {
    const int row = i / columns, column = i % columns;
    double2 sum{0, 0};
    if (column >= task.antennas) sum = widened(task.side[row * users + column - task.antennas]);
    for (int u = 0; column < task.antennas && u < users; ++u)
      add_product(sum, widened(task.side[row * users + u]), widened(task.side[column * users + u]));
    if (row == column) trace += sum.x;
    a[i] = sum;
  }
  trace = sum_of_group<kSolveThreads>(trace, memory);
  const double noise = fmax(double{task.state->genie_noise}, 1e-12 * trace);
  for (int m = static_cast<int>(threadIdx.x); m < task.antennas; m += kSolveThreads) a[m * columns + m].x += noise;
  __syncthreads();
}

/// Makes A upper triangular, row by row, and updates y. `inverse` is 0 for a vanishing pivot. One warp per row.
__device__ inline void eliminate(const Task& task, double2* a, double* inverse) {
  const int columns = task.columns(), lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  __shared__ double diagonal[kMostAntennas];
  for (int m = static_cast<int>(threadIdx.x); m < task.antennas; m += kSolveThreads) diagonal[m] = a[m * columns + m].x;
  __syncthreads();
  for (int k = 0; k < task.antennas; ++k) {
    const double2* const above = a + k * columns;
    const double pivot = above[k].x;
    const double over = pivot > 1e-15 * diagonal[k] ? 1 / pivot : 0;
    if (threadIdx.x == 0) inverse[k] = over;
    for (int i = k + 1 + warp; i < task.antennas; i += kSolveWarps) {
      const double2 factor{-above[i].x * over, -above[i].y * over};
      for (int j = i + lane; j < columns; j += kWarp) add_product(a[i * columns + j], above[j], factor);
    }
    __syncthreads();
  }
}

/// w, from the last antenna to the first. One warp per antenna, one lane per user.
__device__ inline void substitute(const Task& task, double2* a, const double* inverse, double to_c) {
  const int columns = task.columns(), user = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  double2* const y = a + task.antennas + user;
  for (int k = task.antennas - 1; k >= 0; --k) {
    if (user < task.users) {
      const double2 w{y[k * columns].x * inverse[k], y[k * columns].y * inverse[k]};
      if (warp == 0)
        task.c[user * task.antennas + k] = {static_cast<float>(w.x * to_c), static_cast<float>(w.y * to_c)};
      for (int i = warp; i < k; i += kSolveWarps) {
        const double2 r = a[i * columns + k];
        y[i * columns].x -= r.x * w.x - r.y * w.y;
        y[i * columns].y -= r.x * w.y + r.y * w.x;
      }
    }
    __syncthreads();
  }
}

/// c before training. One thread block.
static __global__ void __launch_bounds__(kSolveThreads) solve_start(const Task task) {
  extern __shared__ __align__(16) double2 matrix[];
  __shared__ double inverse[kMostAntennas];
  if (task.idle()) return;
  const State& state = *task.state;
  const double of_gain = 1 / (double{state.gain} * double{task.linear});
  const int values = task.antennas * task.users;
  if (state.trained && state.begins && (task.start == Start::lls || task.start == Start::genie)) {
    const bool genie = task.start == Start::genie;
    genie ? load_channel(task, matrix) : load_products(task, matrix);
    eliminate(task, matrix, inverse);
    return substitute(task, matrix, inverse, genie ? of_gain : 1 / double{task.linear});
  }
  const bool port = state.trained && state.begins && task.start == Start::port;
  for (int i = static_cast<int>(threadIdx.x); i < values; i += kSolveThreads) {
    double2 c{0, 0};
    if (port) c = {task.side[i].x * of_gain, task.side[i].y * of_gain};
    if (!state.begins) c = widened(task.kept.c[i]);
    task.c[i] = {static_cast<float>(c.x), static_cast<float>(c.y)};
  }
}

}  // namespace iqd::noma::training
