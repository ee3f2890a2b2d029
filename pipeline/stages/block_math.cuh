// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pipeline/stages/complex.cuh"

/// Sums, medians and equations by all threads of a thread block. All of them call a function together; memory that one
/// thread wrote before the call may be read by another in it, and what it wrote after it.
namespace iqd::dsp {
namespace {

constexpr int kFrameThreads = 512;
constexpr int kPanel = 16;  // columns of a factorisation that are finished before the others are updated
constexpr int kSquare = 4;  // a thread updates so many rows of so many columns at once

/// Rows of a column in memory.
__host__ __device__ constexpr int padded(int rows) {
  return (rows + 3) / 4 * 4;
}

/// The sum of a number of each thread, for all.
__device__ double block_sum(double mine) {
  __shared__ double sums[kFrameThreads / 32];
  __shared__ double total;
  for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(0xffffffffu, mine, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    total = 0;
    for (const double sum : sums) total += sum;
  }
  __syncthreads();
  return total;
}

/// The median of `count` numbers; of an even count, the mean of the two in the middle.
__device__ double block_median(const double* values, int count) {
  __shared__ double low, high;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kFrameThreads) {
    int rank = 0;
    for (int j = 0; j < count; ++j) rank += values[j] < values[i] || (values[j] == values[i] && j < i);
    if (rank == (count - 1) / 2) low = values[i];
    if (rank == count / 2) high = values[i];
  }
  __syncthreads();
  return 0.5 * (low + high);
}

/// The largest of a number of each thread.
__device__ float block_largest(float mine) {
  __shared__ float largest[kFrameThreads / 32];
  __shared__ float all;
  for (int step = 16; step > 0; step /= 2) mine = fmaxf(mine, __shfl_down_sync(0xffffffffu, mine, step));
  if (threadIdx.x % 32 == 0) largest[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    all = largest[0];
    for (const float value : largest) all = fmaxf(all, value);
  }
  __syncthreads();
  return all;
}

__device__ float2 times_conj(float2 a, float2 b) {  // a conj(b)
  return {a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y};
}
__device__ float2 conj_times(float2 a, float2 b) {  // conj(a) b
  return {a.x * b.x + a.y * b.y, a.x * b.y - a.y * b.x};
}
__device__ float2 scaled(float2 a, float s) {
  return {a.x * s, a.y * s};
}
__device__ void add(float2& to, float2 a) {
  to.x += a.x, to.y += a.y;
}
__device__ void subtract(float2& from, float2 a) {
  from.x -= a.x, from.y -= a.y;
}

/// As HermitianSystem: column j has M(i, j) at rows i = j … order-1, and behind them the conjugate of each right side's
/// element j.
struct Equations {
  float2* m;  // [column][pitch]
  int pitch;
  int order;
  int sides;

  __device__ float2* column(int j) const { return m + std::int64_t{j} * pitch; }
  __device__ int rows() const { return order + sides; }
};

/// M = L L^H; L replaces M, and conj(y) of L y = q the right sides. `panel`: [kPanel][pitch], shared.
__device__ void factor(const Equations& e, float least, float2* panel) {
  const auto thread = static_cast<int>(threadIdx.x);
  __shared__ float scale;
  for (int begin = 0; begin < e.order; begin += kPanel) {
    const int width = min(kPanel, e.order - begin), rows = e.rows() - begin;
    __syncthreads();
    for (int i = thread; i < width * rows; i += kFrameThreads)
      panel[i / rows * e.pitch + i % rows] = e.column(begin + i / rows)[begin + i % rows];
    __syncthreads();
    for (int c = 0; c < width; ++c) {
      float2* const own = panel + c * e.pitch;
      if (thread == 0) {
        const float d = sqrtf(fmaxf(own[c].x, least));
        scale = 1 / d;
        own[c] = {d, 0};
      }
      __syncthreads();
      for (int i = c + 1 + thread; i < rows; i += kFrameThreads) own[i] = scaled(own[i], scale);
      __syncthreads();
      for (int k = thread; k < (width - c - 1) * rows; k += kFrameThreads) {
        const int other = c + 1 + k / rows, i = k % rows;
        if (i >= other) subtract(panel[other * e.pitch + i], times_conj(own[i], own[other]));
      }
      __syncthreads();
    }
    for (int i = thread; i < width * rows; i += kFrameThreads)
      if (i % rows >= i / rows) e.column(begin + i / rows)[begin + i % rows] = panel[i / rows * e.pitch + i % rows];
    // The columns behind the panel, by squares.
    const int left = e.order - begin - width, column_squares = (left + kSquare - 1) / kSquare;
    const int row_squares = (rows - width + kSquare - 1) / kSquare;
    for (int square = thread; square < column_squares * row_squares; square += kFrameThreads) {
      const int j = width + square / row_squares * kSquare, i = width + square % row_squares * kSquare;
      if (i + kSquare <= j) continue;
      float2 sum[kSquare][kSquare] = {};
      for (int k = 0; k < width; ++k) {
        const float2* const from = panel + k * e.pitch;
        float2 a[kSquare], b[kSquare];
#pragma unroll
        for (int n = 0; n < kSquare; ++n) {
          a[n] = i + n < rows ? from[i + n] : float2{0, 0};
          b[n] = j + n < rows ? from[j + n] : float2{0, 0};
        }
#pragma unroll
        for (int c = 0; c < kSquare; ++c)
#pragma unroll
          for (int n = 0; n < kSquare; ++n) {
            sum[c][n].x = fmaf(a[n].x, b[c].x, fmaf(a[n].y, b[c].y, sum[c][n].x));
            sum[c][n].y = fmaf(a[n].y, b[c].x, fmaf(-a[n].x, b[c].y, sum[c][n].y));
          }
      }
#pragma unroll
      for (int c = 0; c < kSquare; ++c)
#pragma unroll
        for (int n = 0; n < kSquare; ++n)
          if (begin + j + c < e.order && i + n < rows && i + n >= j + c)
            subtract(e.column(begin + j + c)[begin + i + n], sum[c][n]);
    }
  }
  __syncthreads();
}

/// Solves L y = x[s * pitch …] for each of the first `sides`, a warp each; conj(y) becomes the right side that belongs to L.
__device__ void substitute_forward(const Equations& e, int sides, float2* x) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int s = static_cast<int>(threadIdx.x) / 32; s < sides; s += kFrameThreads / 32) {
    float2* const own = x + std::int64_t{s} * e.pitch;
    for (int j = 0; j < e.order; ++j) {
      float2* const l = e.column(j);
      const float2 y = scaled(own[j], 1 / l[j].x);
      for (int i = j + 1 + lane; i < e.order; i += 32) subtract(own[i], times_conj(l[i], {y.x, -y.y}));
      if (lane == 0) l[e.order + s] = {y.x, -y.y};
      __syncwarp();
    }
  }
  __syncthreads();
}

/// The solution of side s becomes x[s * pitch + i], for the first `sides`; a warp each.
__device__ void substitute(const Equations& e, int sides, float2* x) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int s = static_cast<int>(threadIdx.x) / 32; s < sides; s += kFrameThreads / 32) {
    float2* const own = x + std::int64_t{s} * e.pitch;
    for (int j = e.order - 1; j >= 0; --j) {
      const float2* const l = e.column(j);
      float2 sum{0, 0};
      for (int i = j + 1 + lane; i < e.order; i += 32) add(sum, conj_times(l[i], own[i]));
      for (int step = 16; step > 0; step /= 2) {
        sum.x += __shfl_down_sync(0xffffffffu, sum.x, step);
        sum.y += __shfl_down_sync(0xffffffffu, sum.y, step);
      }
      if (lane == 0) {
        const float2 y = l[e.order + s];
        own[j] = {(y.x - sum.x) / l[j].x, (-y.y - sum.y) / l[j].x};
      }
      __syncwarp();
    }
  }
  __syncthreads();
}

}  // namespace
}  // namespace iqd::dsp
