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

/// Complex numbers of either precision, float2 and double2.
template <class Z> using Real = decltype(Z::x);
__device__ double2 wide(float2 z) {
  return {z.x, z.y};
}
__device__ float2 narrow(double2 z) {
  return {static_cast<float>(z.x), static_cast<float>(z.y)};
}
template <class Z> __device__ Z conj_times(Z a, Z b) {  // conj(a) b
  return {a.x * b.x + a.y * b.y, a.x * b.y - a.y * b.x};
}
template <class Z> __device__ Z scaled(Z a, Real<Z> s) {
  return {a.x * s, a.y * s};
}
template <class Z> __device__ void add(Z& to, Z a) {
  to.x += a.x, to.y += a.y;
}
template <class Z> __device__ void subtract(Z& from, Z a) {
  from.x -= a.x, from.y -= a.y;
}

/// As HermitianSystemOf: column j has M(i, j) at rows i = j … order-1, behind them the conjugate of each right side's
/// element j, and then, for the inverse's diagonal, that of each unit vector's.
template <class Z> struct EquationsOf {
  Z* m;  // [column][pitch]
  int pitch;
  int order;
  int sides;
  bool inverse = false;

  __device__ Z* column(int j) const { return m + std::int64_t{j} * pitch; }
  __device__ int rows() const { return order + sides; }
  /// With those of the unit vectors; in columns before `end`, the others are zeros.
  __device__ int rows(int end) const { return rows() + (inverse ? end : 0); }
  __host__ __device__ int panel_pitch() const { return padded(order + sides + (inverse ? kPanel : 0)); }
};
using Equations = EquationsOf<float2>;

/// from -= a conj(b)
template <class Z> __device__ void take_away(Z& from, Z a, Z b) {
  from.x = fma(-a.x, b.x, fma(-a.y, b.y, from.x));
  from.y = fma(-a.y, b.x, fma(a.x, b.y, from.y));
}
template <class Z> __device__ Z of_lane(Z mine, int lane) {
  return {__shfl_sync(0xffffffffu, mine.x, lane), __shfl_sync(0xffffffffu, mine.y, lane)};
}

/// 1 / sqrt(x). A double's root and quotient would take most of a panel's time.
__device__ float inverse_root(float x) {
  return 1 / sqrtf(x);
}
__device__ double inverse_root(double x) {
  return rsqrt(x);
}
/// The columns from `begin` on, `width` of them, in shared memory: [kPanel][pitch] from row `begin` on. One warp factors
/// the square on the diagonal, a row a lane. An element of the diagonal gets its inverse as its imaginary part.
template <class Z> __device__ __noinline__ void factor_square(Z* panel, int pitch, int width, Real<Z> least) {
  const auto lane = static_cast<int>(threadIdx.x);
  Z row[kPanel];
#pragma unroll
  for (int c = 0; c < kPanel; ++c)
    row[c] = c <= lane && lane < width ? panel[c * pitch + lane] : Z{lane == c ? Real<Z>{1} : Real<Z>{0}, 0};
#pragma unroll
  for (int c = 0; c < kPanel; ++c) {
    const Real<Z> square = fmax(__shfl_sync(0xffffffffu, row[c].x, c), least), inverse = inverse_root(square);
    row[c] = lane == c ? Z{square * inverse, inverse} : scaled(row[c], inverse);
#pragma unroll
    for (int other = c + 1; other < kPanel; ++other) {
      const Z l = of_lane(row[c], other);
      if (lane >= other) take_away(row[other], row[c], l);
    }
  }
#pragma unroll
  for (int c = 0; c < kPanel; ++c)
    if (c <= lane && lane < width) panel[c * pitch + lane] = row[c];
}
/// The rows behind the square: L of M, a row a thread.
template <class Z> __device__ __noinline__ void solve_rows(Z* panel, int pitch, int width, int rows) {
  for (int i = width + static_cast<int>(threadIdx.x); i < rows; i += kFrameThreads) {
    Z row[kPanel];
#pragma unroll
    for (int c = 0; c < kPanel; ++c) row[c] = c < width ? panel[c * pitch + i] : Z{0, 0};
#pragma unroll
    for (int c = 0; c < kPanel; ++c) {
      if (c >= width) continue;
      row[c] = scaled(row[c], panel[c * pitch + c].y);
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
template <class Z>
__device__ __noinline__ void update_columns(const EquationsOf<Z>& e, int begin, int width, const Z* panel) {
  const int rows = e.rows(begin + width) - begin, left = e.order - begin - width, pitch = e.panel_pitch();
  const int column_squares = (left + kSquare - 1) / kSquare, row_squares = (rows - width + kSquare - 1) / kSquare;
  for (int square = Team::thread(); square < column_squares * row_squares; square += Team::threads()) {
    const int j = width + square / row_squares * kSquare, i = width + square % row_squares * kSquare;
    if (i + kSquare <= j) continue;
    Z sum[kSquare][kSquare] = {};
    for (int k = 0; k < width; ++k) {
      const Z* const from = panel + k * pitch;
      Z a[kSquare], b[kSquare];
#pragma unroll
      for (int n = 0; n < kSquare; ++n) {
        a[n] = i + n < rows ? from[i + n] : Z{0, 0};
        b[n] = j + n < rows ? from[j + n] : Z{0, 0};
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

/// A warp a column: the panel into shared memory, and its share of the finished panel back.
template <class Z> __device__ void read_panel(const EquationsOf<Z>& e, int begin, int width, Z* panel) {
  static_assert(kFrameThreads / 32 >= kPanel);
  const int column = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int rows = e.rows(begin + width) - begin, pitch = e.panel_pitch();
  for (int i = lane; column < width && i < rows; i += 32)
    panel[column * pitch + i] = e.column(begin + column)[begin + i];
}
template <class Z> __device__ void write_panel(const EquationsOf<Z>& e, int begin, int width, const Z* panel) {
  const int column = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int rows = e.rows(begin + width) - begin, pitch = e.panel_pitch();
  for (int i = column + 32 * Team::rank() + lane; column < width && i < rows; i += 32 * Team::blocks())
    e.column(begin + column)[begin + i] = panel[column * pitch + i];
}

/// M = L L^H; L replaces M, and conj(y) of L y = q the right sides. `panel`: [kPanel][panel_pitch], shared. Each block of
/// the team has all of a panel for itself, so they wait for each other once a panel.
template <class Z> __device__ void factor(const EquationsOf<Z>& e, Real<Z> least, Z* panel) {
  Team::sync();
  for (int begin = 0; begin < e.order; begin += kPanel) {
    const int width = min(kPanel, e.order - begin);
    read_panel(e, begin, width, panel);
    __syncthreads();
    if (threadIdx.x < 32) factor_square(panel, e.panel_pitch(), width, least);
    __syncthreads();
    solve_rows(panel, e.panel_pitch(), width, e.rows(begin + width) - begin);
    __syncthreads();
    update_columns(e, begin, width, panel);
    Team::sync();
    write_panel(e, begin, width, panel);
    __syncthreads();
  }
  Team::sync();
}

/// L^H x = y in place, by a block; `y`: shared, complete. While the first warp solves a square, the others read what they
/// take from the other rows.
template <class Z> __device__ void substitute_back(const EquationsOf<Z>& e, Z* y) {
  const int thread = static_cast<int>(threadIdx.x), first = thread - 32;
  for (int begin = (e.order - 1) / kPanel * kPanel; begin >= 0; begin -= kPanel) {
    const int width = min(kPanel, e.order - begin);
    Z l[kPanel];
    const auto read = [&](int j) {
#pragma unroll
      for (int c = 0; c < kPanel; ++c) l[c] = c < width ? e.column(j)[begin + c] : Z{0, 0};
    };
    if (thread >= 32) {
      if (first < begin) read(first);
    } else {
      const bool own = thread < width;
      const Z* const mine = e.column(begin + (own ? thread : 0)) + begin;
      Z column[kPanel], value = own ? y[begin + thread] : Z{0, 0};
#pragma unroll
      for (int c = 0; c < kPanel; ++c) column[c] = own && c > thread && c < width ? mine[c] : Z{0, 0};
      const Real<Z> scale = own ? mine[thread].y : 0;
#pragma unroll
      for (int c = kPanel - 1; c >= 0; --c) {
        if (thread == c) value = scaled(value, scale);
        take_away(value, of_lane(value, c), column[c]);
      }
      if (own) y[begin + thread] = value;
    }
    __syncthreads();
    for (int j = first; thread >= 32 && j < begin; j += kFrameThreads - 32) {
      if (j != first) read(j);
      Z value = y[j];
#pragma unroll
      for (int c = 0; c < kPanel; ++c)
        if (c < width) take_away(value, y[begin + c], l[c]);
      y[j] = value;
    }
    __syncthreads();
  }
}
/// L y = q in place, as above.
template <class Z> __device__ void substitute_forward(const EquationsOf<Z>& e, Z* y) {
  const auto thread = static_cast<int>(threadIdx.x);
  for (int begin = 0; begin < e.order; begin += kPanel) {
    const int width = min(kPanel, e.order - begin), first = begin + width + thread - 32;
    Z l[kPanel];
    const auto read = [&](int i) {
#pragma unroll
      for (int c = 0; c < kPanel; ++c) l[c] = c < width ? e.column(begin + c)[i] : Z{0, 0};
    };
    if (thread >= 32) {
      if (first < e.order) read(first);
    } else {
      const bool own = thread < width;
      Z row[kPanel], value = own ? y[begin + thread] : Z{0, 0};
#pragma unroll
      for (int c = 0; c < kPanel; ++c) row[c] = own && c < thread ? e.column(begin + c)[begin + thread] : Z{0, 0};
      const Real<Z> scale = own ? e.column(begin + thread)[begin + thread].y : 0;
#pragma unroll
      for (int c = 0; c < kPanel; ++c) {
        if (thread == c) value = scaled(value, scale);
        take_away(value, of_lane(value, c), Z{row[c].x, -row[c].y});
      }
      if (own) y[begin + thread] = value;
    }
    __syncthreads();
    for (int i = first; thread >= 32 && i < e.order; i += kFrameThreads - 32) {
      if (i != first) read(i);
      Z value = y[i];
#pragma unroll
      for (int c = 0; c < kPanel; ++c)
        if (c < width) take_away(value, l[c], Z{y[begin + c].x, -y[begin + c].y});
      y[i] = value;
    }
    __syncthreads();
  }
}

/// The solution of side s becomes x[s * pitch + i], for the first `sides`, a block each. `turned`: x has new right sides;
/// else they are those that were factored. `y`: shared, [order].
template <class Z>
__device__ __noinline__ void substitute(const EquationsOf<Z>& e, int sides, Z* x, Z* y, bool turned = false) {
  Team::sync();
  for (int s = Team::rank(); s < sides; s += Team::blocks()) {
    Z* const own = x + std::int64_t{s} * e.pitch;
    for (int j = static_cast<int>(threadIdx.x); j < e.order; j += kFrameThreads)
      y[j] = turned ? own[j] : Z{e.column(j)[e.order + s].x, -e.column(j)[e.order + s].y};
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
