// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cooperative_groups.h>

#include <cstdint>

#include "pipeline/stages/complex.cuh"

/// Sums, medians and equations by all threads of a thread block. All of them call a function together; memory that one
/// thread wrote before the call may be read by another in it, and what it wrote after it.
///
/// The blocks of a cluster solve equations together. What is small each of them computes for itself, with the same
/// result.
namespace iqd::dsp {
namespace {

constexpr int kFrameThreads = 512;
constexpr int kPanel = 16;  // columns of a factorisation that are finished before the others are updated
constexpr int kSquare = 4;  // a thread updates so many rows of so many columns at once

/// The thread blocks of a cluster, or one block by itself.
struct Team {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __device__ static int blocks() {
    return static_cast<int>(cooperative_groups::this_cluster().num_blocks());
  }
  __device__ static int rank() {
    return static_cast<int>(cooperative_groups::this_cluster().block_rank());
  }
#else
  __device__ static int blocks() {
    return 1;
  }
  __device__ static int rank() {
    return 0;
  }
#endif
  __device__ static int threads() {
    return kFrameThreads * blocks();
  }
  __device__ static int thread() {
    return kFrameThreads * rank() + static_cast<int>(threadIdx.x);
  }
  /// What any of its threads wrote before, in the GPU's memory, all may read behind it.
  __device__ static void sync() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    if (blocks() > 1) return cooperative_groups::this_cluster().sync();
#endif
    __syncthreads();
  }
};

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

/// from -= a conj(b)
__device__ void take_away(float2& from, float2 a, float2 b) {
  from.x = fmaf(-a.x, b.x, fmaf(-a.y, b.y, from.x));
  from.y = fmaf(-a.y, b.x, fmaf(a.x, b.y, from.y));
}

/// The columns from `begin` on, `width` of them, in shared memory: [kPanel][pitch] from row `begin` on. One warp factors
/// the square on the diagonal, a row a lane.
__device__ __noinline__ void factor_square(float2* panel, int pitch, int width, float least) {
  const auto lane = static_cast<int>(threadIdx.x);
  float2 row[kPanel];
#pragma unroll
  for (int c = 0; c < kPanel; ++c)
    row[c] = c <= lane && lane < width ? panel[c * pitch + lane] : float2{lane == c ? 1.0f : 0.0f, 0};
#pragma unroll
  for (int c = 0; c < kPanel; ++c) {
    const float d = sqrtf(fmaxf(__shfl_sync(0xffffffffu, row[c].x, c), least));
    row[c] = lane == c ? float2{d, 0} : scaled(row[c], 1 / d);
#pragma unroll
    for (int other = c + 1; other < kPanel; ++other) {
      const float2 l{__shfl_sync(0xffffffffu, row[c].x, other), __shfl_sync(0xffffffffu, row[c].y, other)};
      if (lane >= other) take_away(row[other], row[c], l);
    }
  }
#pragma unroll
  for (int c = 0; c < kPanel; ++c)
    if (c <= lane && lane < width) panel[c * pitch + lane] = row[c];
}
/// The rows behind the square: L of M, a row a thread.
__device__ __noinline__ void solve_rows(float2* panel, int pitch, int width, int rows) {
  for (int i = width + static_cast<int>(threadIdx.x); i < rows; i += kFrameThreads) {
    float2 row[kPanel];
#pragma unroll
    for (int c = 0; c < kPanel; ++c) row[c] = c < width ? panel[c * pitch + i] : float2{0, 0};
#pragma unroll
    for (int c = 0; c < kPanel; ++c) {
      if (c >= width) continue;
      row[c] = scaled(row[c], 1 / panel[c * pitch + c].x);
#pragma unroll
      for (int other = c + 1; other < kPanel; ++other)
        if (other < width) take_away(row[other], row[c], panel[c * pitch + other]);
    }
#pragma unroll
    for (int c = 0; c < kPanel; ++c)
      if (c < width) panel[c * pitch + i] = row[c];
  }
}
/// What a finished panel takes from the columns behind it, by squares.
__device__ __noinline__ void update_columns(const Equations& e, int begin, int width, const float2* panel) {
  const int rows = e.rows() - begin, left = e.order - begin - width;
  const int column_squares = (left + kSquare - 1) / kSquare, row_squares = (rows - width + kSquare - 1) / kSquare;
  for (int square = Team::thread(); square < column_squares * row_squares; square += Team::threads()) {
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
        for (int n = 0; n < kSquare; ++n) take_away(sum[c][n], a[n], b[c]);
    }
#pragma unroll
    for (int c = 0; c < kSquare; ++c)
#pragma unroll
      for (int n = 0; n < kSquare; ++n)
        if (begin + j + c < e.order && i + n < rows && i + n >= j + c)
          add(e.column(begin + j + c)[begin + i + n], sum[c][n]);
  }
}

/// M = L L^H; L replaces M, and conj(y) of L y = q the right sides. `panel`: [kPanel][pitch], shared. Each block of the
/// team has all of a panel for itself, so they wait for each other once a panel.
__device__ void factor(const Equations& e, float least, float2* panel) {
  const auto thread = static_cast<int>(threadIdx.x);
  Team::sync();
  for (int begin = 0; begin < e.order; begin += kPanel) {
    const int width = min(kPanel, e.order - begin), rows = e.rows() - begin;
    for (int i = thread; i < width * rows; i += kFrameThreads)
      panel[i / rows * e.pitch + i % rows] = e.column(begin + i / rows)[begin + i % rows];
    __syncthreads();
    if (thread < 32) factor_square(panel, e.pitch, width, least);
    __syncthreads();
    solve_rows(panel, e.pitch, width, rows);
    __syncthreads();
    update_columns(e, begin, width, panel);
    Team::sync();
    for (int i = thread; Team::rank() == 0 && i < width * rows; i += kFrameThreads)
      if (i % rows >= i / rows) e.column(begin + i / rows)[begin + i % rows] = panel[i / rows * e.pitch + i % rows];
    __syncthreads();
  }
  Team::sync();
}

/// L^H x = y in place, by a block; `y`: shared, complete.
__device__ void substitute_back(const Equations& e, float2* y) {
  const auto thread = static_cast<int>(threadIdx.x);
  for (int begin = (e.order - 1) / kPanel * kPanel; begin >= 0; begin -= kPanel) {
    const int width = min(kPanel, e.order - begin);
    if (thread < 32) {
      const bool own = thread < width;
      const float2* const l = e.column(begin + (own ? thread : 0)) + begin;
      float2 column[kPanel], value = own ? y[begin + thread] : float2{0, 0};
#pragma unroll
      for (int c = 0; c < kPanel; ++c) column[c] = own && c > thread && c < width ? l[c] : float2{0, 0};
      const float scale = own ? 1 / l[thread].x : 0;
#pragma unroll
      for (int c = kPanel - 1; c >= 0; --c) {
        if (thread == c) value = scaled(value, scale);
        const float2 x{__shfl_sync(0xffffffffu, value.x, c), __shfl_sync(0xffffffffu, value.y, c)};
        take_away(value, x, column[c]);
      }
      if (own) y[begin + thread] = value;
    }
    __syncthreads();
    for (int j = thread; j < begin; j += kFrameThreads) {
      const float2* const l = e.column(j) + begin;
      float2 value = y[j];
      for (int c = 0; c < width; ++c) take_away(value, y[begin + c], l[c]);
      y[j] = value;
    }
    __syncthreads();
  }
}
/// L y = q in place, by a block; `y`: shared, complete.
__device__ void substitute_forward(const Equations& e, float2* y) {
  const auto thread = static_cast<int>(threadIdx.x);
  for (int begin = 0; begin < e.order; begin += kPanel) {
    const int width = min(kPanel, e.order - begin);
    if (thread < 32) {
      const bool own = thread < width;
      float2 row[kPanel], value = own ? y[begin + thread] : float2{0, 0};
#pragma unroll
      for (int c = 0; c < kPanel; ++c) row[c] = own && c < thread ? e.column(begin + c)[begin + thread] : float2{0, 0};
      const float scale = own ? 1 / e.column(begin + thread)[begin + thread].x : 0;
#pragma unroll
      for (int c = 0; c < kPanel; ++c) {
        if (thread == c) value = scaled(value, scale);
        const float2 x{__shfl_sync(0xffffffffu, value.x, c), __shfl_sync(0xffffffffu, value.y, c)};
        take_away(value, x, {row[c].x, -row[c].y});
      }
      if (own) y[begin + thread] = value;
    }
    __syncthreads();
    for (int i = begin + width + thread; i < e.order; i += kFrameThreads) {
      float2 value = y[i];
      for (int c = 0; c < width; ++c) {
        const float2 l = e.column(begin + c)[i];
        take_away(value, l, {y[begin + c].x, -y[begin + c].y});
      }
      y[i] = value;
    }
    __syncthreads();
  }
}

/// The solution of side s becomes x[s * pitch + i], for the first `sides`, a block each. `turned`: x has new right sides;
/// else they are those that were factored. `y`: shared, [order].
__device__ __noinline__ void substitute(const Equations& e, int sides, float2* x, float2* y, bool turned = false) {
  Team::sync();
  for (int s = Team::rank(); s < sides; s += Team::blocks()) {
    float2* const own = x + std::int64_t{s} * e.pitch;
    for (int j = static_cast<int>(threadIdx.x); j < e.order; j += kFrameThreads)
      y[j] = turned ? own[j] : float2{e.column(j)[e.order + s].x, -e.column(j)[e.order + s].y};
    __syncthreads();
    if (turned) substitute_forward(e, y);
    substitute_back(e, y);
    for (int j = static_cast<int>(threadIdx.x); j < e.order; j += kFrameThreads) own[j] = y[j];
    __syncthreads();
  }
  Team::sync();
}

}  // namespace
}  // namespace iqd::dsp
