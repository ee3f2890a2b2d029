// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/noma/multiuser/task.cuh"

/// Products of all vectors with all, and their kernels. With p + jq = x_t^H x_s and
/// k(y) = exp2((y - |x_t|^2 / 2 - |x_s|^2 / 2) exponent), factors gamma of place s add to the estimate of pilot t:
///
///   real part  g11 gamma_1 + g12 gamma_2        g11 = w_L p + height_s k(p)
///   imaginary  g21 gamma_1 + g11 gamma_2        g12 = w_L q + height_s k(q), g21 = -w_L q + height_s k(-q)
///
/// `gram` has {g11, g12, g21, 0}. Old places have kernels only: c already contains their linear part.
namespace iqd::noma::training {

inline constexpr int kTile = 64;          // vectors per tile, on both sides
inline constexpr int kTileThreads = 256;  // 16 x 16, each with 4 x 4 pairs
inline constexpr int kSide = 16;
inline constexpr int kEach = kTile / kSide;
inline constexpr int kDepth = 16;  // antennas in shared memory at once

/// Of 4 x 4 pairs: [t][s], t = first + thread % 16 + 16 i, s likewise with thread / 16.
struct Products {
  float p[kEach][kEach];
  float q[kEach][kEach];
};

__device__ inline int column_of(int i) {
  return static_cast<int>(threadIdx.x) % kSide + kSide * i;
}
__device__ inline int row_of(int i) {
  return static_cast<int>(threadIdx.x) / kSide + kSide * i;
}

/// Rows `first` … of x, transposed; 0 after the last.
__device__ inline void load_tile(const Task& task, int first, int antenna, float2 (*to)[kTile + 1]) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth; i += kTileThreads) {
    const int place = first + i / kDepth, m = antenna + i % kDepth;
    to[i % kDepth][i / kDepth] =
        place < task.places && m < task.antennas ? task.x[std::int64_t{place} * task.antennas + m] : float2{0, 0};
  }
}

/// For the places from `t` and from `s` on. Summed over antennas in order, as for |x|^2.
__device__ inline Products multiply_tile(const Task& task, int t, int s) {
  __shared__ float2 of_t[kDepth][kTile + 1], of_s[kDepth][kTile + 1];
  Products sum{};
  for (int antenna = 0; antenna < task.antennas; antenna += kDepth) {
    if (antenna > 0) __syncthreads();
    load_tile(task, t, antenna, of_t);
    load_tile(task, s, antenna, of_s);
    __syncthreads();
#pragma unroll 4
    for (int m = 0; m < min(kDepth, task.antennas - antenna); ++m) {
      float2 a[kEach], b[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) a[i] = of_t[m][column_of(i)], b[i] = of_s[m][row_of(i)];
#pragma unroll
      for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
          sum.p[i][j] = fmaf(a[i].y, b[j].y, fmaf(a[i].x, b[j].x, sum.p[i][j]));
          sum.q[i][j] = fmaf(-a[i].y, b[j].x, fmaf(a[i].x, b[j].y, sum.q[i][j]));
        }
    }
  }
  return sum;
}

__device__ inline float kernel(const Task& task, float product, float halves) {
  return exp2f(fminf((product - halves) * task.exponent, 0.0f));
}

/// One thread block per tile: x of the grid counts pilots, y places.
static __global__ void __launch_bounds__(kTileThreads) fill_gram(const Task task) {
  if (task.idle() || !task.state->trained) return;
  const int first_t = static_cast<int>(blockIdx.x) * kTile, first_s = static_cast<int>(blockIdx.y) * kTile;
  const Products v = multiply_tile(task, task.old_places + first_t, first_s);
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int s = first_s + row_of(j), pilot = s - task.old_places;
    if (s >= task.places) break;
    const float linear = pilot < 0 ? 0 : task.linear, height = pilot < 0 ? task.gaussian : task.height[pilot];
    const float norm = task.norm[s] / 2;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int t = first_t + column_of(i);
      if (t >= task.pilots) break;
      const float halves = task.norm[task.old_places + t] / 2 + norm, p = v.p[i][j], q = v.q[i][j];
      task.gram[std::int64_t{s} * task.pilots + t] = {fmaf(linear, p, height * kernel(task, p, halves)),
                                                      fmaf(linear, q, height * kernel(task, q, halves)),
                                                      fmaf(-linear, q, height * kernel(task, -q, halves)), 0};
    }
  }
}

/// A tile's part of gamma' K gamma, for one user. `t` and `s`: gammas of the tile's vectors.
__device__ inline float tile_norm(const float (&k)[3][kEach][kEach], const float2* t, const float2* s) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const float2 a = t[column_of(i)];
    float re = 0, im = 0;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const float2 b = s[row_of(j)];
      re = fmaf(k[1][i][j], b.y, fmaf(k[0][i][j], b.x, re));
      im = fmaf(k[0][i][j], b.y, fmaf(k[2][i][j], b.x, im));
    }
    sum = fmaf(a.y, im, fmaf(a.x, re, sum));
  }
  return sum;
}

/// The norms of the kernel parts: one thread block per tile of places x places, only those below the diagonal.
static __global__ void __launch_bounds__(kTileThreads) sum_norms(const Task task) {
  __shared__ float2 gamma[2][kTile];
  __shared__ double memory[kTileThreads / kWarp];
  const int row = static_cast<int>(blockIdx.y), column = static_cast<int>(blockIdx.x);
  if (task.idle() || !task.state->trained || column > row) return;
  const int first[2] = {column * kTile, row * kTile};
  const Products v = multiply_tile(task, first[0], first[1]);
  float k[3][kEach][kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i)
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int t = min(first[0] + column_of(i), task.places - 1), s = min(first[1] + row_of(j), task.places - 1);
      const float halves = task.norm[t] / 2 + task.norm[s] / 2;
      k[0][i][j] = kernel(task, v.p[i][j], halves);
      k[1][i][j] = kernel(task, v.q[i][j], halves);
      k[2][i][j] = kernel(task, -v.q[i][j], halves);
    }
  const int side = static_cast<int>(threadIdx.x) / kTile,
            place = first[side % 2] + static_cast<int>(threadIdx.x) % kTile;
  for (int u = 0; u < task.users; ++u) {
    if (side < 2)
      gamma[side][threadIdx.x % kTile] =
          place < task.places ? task.gamma[std::int64_t{u} * task.places + place] : float2{0, 0};
    __syncthreads();
    const double sum = sum_of_group<kTileThreads>(double{tile_norm(k, gamma[0], gamma[1])}, memory);
    if (threadIdx.x == 0)
      task.norms[(std::int64_t{row} * (row + 1) / 2 + column) * task.users + u] = column == row ? sum : 2 * sum;
  }
}

}  // namespace iqd::noma::training
