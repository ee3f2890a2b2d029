// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/integer.hpp"
#include "gpu/runtime.hpp"

/// Sums over windows that move by one sample. A sum adds whole cells of 32 positions of the stream, and single samples
/// at both ends. So the order of additions depends only on positions in the stream. Up to 62 samples and window / 32
/// cells a sum.
namespace iqd::dsp {
namespace {

constexpr int kCell = 32;
constexpr int kSumThreads = 256;

struct ComplexSum {
  double re = 0;
  double im = 0;
  __device__ ComplexSum& operator+=(const ComplexSum& o) {
    re += o.re;
    im += o.im;
    return *this;
  }
};
__device__ inline double from_lane_below(double v, int lanes) {
  return __shfl_down_sync(~0u, v, lanes);
}
__device__ inline int from_lane_below(int v, int lanes) {
  return __shfl_down_sync(~0u, v, lanes);
}
__device__ inline ComplexSum from_lane_below(ComplexSum v, int lanes) {
  return {from_lane_below(v.re, lanes), from_lane_below(v.im, lanes)};
}

/// The positions `first` … `end`-1 that have values to add, counted from position *first_at of the stream; those before
/// it are negative.
struct Places {
  const std::int64_t* first_at;
  std::int64_t first;
  std::int64_t end;

  __host__ __device__ std::int64_t most_cells() const { return (end - first) / kCell + 2; }
};

/// Where cells begin, for one thread block.
struct Cells {
  __device__ explicit Cells(const Places& places) : places(places) {
    __shared__ int memory;
    if (threadIdx.x == 0) memory = static_cast<int>(*places.first_at % kCell);
    __syncthreads();
    shift = memory;
    __syncthreads();
  }
  /// The index of a position's cell; cell 0 holds places.first.
  __device__ std::int64_t cell(std::int64_t n) const {
    return floor_div(n + shift, kCell) - floor_div(places.first + shift, kCell);
  }
  __device__ std::int64_t beginning(std::int64_t cell) const {
    return (cell + floor_div(places.first + shift, kCell)) * kCell - shift;
  }

  /// f(begin) + … + f(end - 1), without positions outside `places`.
  template <class Sum, class F>
  __device__ Sum sum(const F& f, const Sum* cells, std::int64_t begin, std::int64_t end) const {
    begin = max(begin, places.first);
    end = min(end, places.end);
    Sum sum{};
    const std::int64_t whole = cell(begin + kCell - 1), stop = end > begin ? cell(end) : 0;
    if (stop <= whole) {
      for (std::int64_t n = begin; n < end; ++n) sum += f(n);
      return sum;
    }
    for (std::int64_t n = begin; n < beginning(whole); ++n) sum += f(n);
    for (std::int64_t c = whole; c < stop; ++c) sum += cells[c];
    for (std::int64_t n = beginning(stop); n < end; ++n) sum += f(n);
    return sum;
  }

  Places places;
  int shift;
};

/// The sum of each cell, one warp per cell.
template <class Sum, class F> __global__ void __launch_bounds__(kSumThreads) sum_cells(F f, Places places, Sum* cells) {
  const Cells at(places);
  const std::int64_t cell = (std::int64_t{blockIdx.x} * kSumThreads + threadIdx.x) / kCell;
  const std::int64_t n = at.beginning(cell) + threadIdx.x % kCell;
  Sum sum{};
  if (n >= places.first && n < places.end) sum = f(n);
  for (int half = kCell / 2; half > 0; half /= 2) sum += from_lane_below(sum, half);
  if (threadIdx.x % kCell == 0 && cell < places.most_cells()) cells[cell] = sum;
}

template <class Sum, class F> void launch_cells(const F& f, const Places& places, Sum* cells, cudaStream_t stream) {
  sum_cells<<<gpu::groups_of(places.most_cells() * kCell, kSumThreads), kSumThreads, 0, stream>>>(f, places, cells);
}

}  // namespace
}  // namespace iqd::dsp
