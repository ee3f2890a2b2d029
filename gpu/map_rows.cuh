// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "gpu/runtime.hpp"

/// Applies a function to every element of rows, which may begin anywhere: y(r, n) = f(x(r, n)). `F` declares `kInputs`
/// and `kOutputs`, one or two each, all inputs of type `Input`, all outputs of type `Output`. It is called with the
/// inputs' elements, references to the outputs' elements, and the element's index: in the stream, position · item, if
/// the job has `first_at`, else in the row.
namespace iqd::gpu {

constexpr int kMapThreads = 128;
constexpr int kMapVectors = 4;  // per thread and input: all their loads are in flight before the first is used

/// One block of rows. Inputs and outputs that `F` does not have are ignored.
struct MapJob {
  std::int64_t positions = 0;
  std::int64_t item = 1;       // elements per position
  const std::byte* x[2] = {};  // row 0
  std::byte* y[2] = {};
  std::int64_t x_pitch[2] = {};  // bytes
  std::int64_t y_pitch[2] = {};
  const std::int32_t* count[2] = {};  // if not null, the number of positions: the least of all
  std::int32_t* count_out[2] = {};
  const std::int64_t* first_at = nullptr;  // position of the first element of a row
};

/// Elements per access: the larger type takes 16 bytes.
template <class F>
constexpr int kMapWidth = 16 / static_cast<int>(std::max(sizeof(typename F::Input), sizeof(typename F::Output)));
template <class F> constexpr int kMapTile = kMapThreads* kMapVectors* kMapWidth<F>;

template <class T, int n> struct MapVector { T at[n]; };
/// One access to memory, of 1, 2, 4, 8 or 16 bytes.
template <class T> using MapWord = std::conditional_t<
    sizeof(T) == 16, uint4,
    std::conditional_t<sizeof(T) == 8, uint2,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t,
                                          std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>>;
template <class T> __device__ T load(const void* from) {
  return std::bit_cast<T>(*static_cast<const MapWord<T>*>(from));
}
template <class T> __device__ void store(void* to, const T& value) {
  *static_cast<MapWord<T>*>(to) = std::bit_cast<MapWord<T>>(value);
}
template <class T, int n> __device__ bool aligned(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % (n * sizeof(T)) == 0;
}

/// One tile at the same place in all rows that belong together.
template <class F> struct MapTile {
  using X = typename F::Input;
  using Y = typename F::Output;
  const X* x[F::kInputs];
  Y* y[F::kOutputs];
  int n;
  std::int64_t first;  // index of its first element, from that of the row on
};

/// The number of positions; a single thread passes it on to the outputs.
__device__ inline std::int64_t positions_of(const MapJob& job) {
  if (job.count[0] == nullptr) return job.positions;
  std::int32_t positions = *job.count[0];
  if (job.count[1] != nullptr) positions = min(positions, *job.count[1]);
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0)
    for (std::int32_t* const count : job.count_out)
      if (count != nullptr) *count = positions;
  return positions;
}
/// One thread of a thread block reads what is in host memory, while the block's loads are in flight.
__device__ inline std::int64_t first_index(const MapJob& job) {
  if (job.first_at == nullptr) return 0;
  __shared__ std::int64_t first;
  if (threadIdx.x == 0) first = *job.first_at * job.item;
  __syncthreads();
  return first;
}

template <class F> __device__ void call(const F& f, const typename F::Input (&x)[F::kInputs],
                                        typename F::Output (&y)[F::kOutputs], std::int64_t n) {
  if constexpr (F::kInputs == 2)
    f(x[0], x[1], y[0], n);
  else if constexpr (F::kOutputs == 2)
    f(x[0], y[0], y[1], n);
  else
    f(x[0], y[0], n);
}
template <class F> __device__ void map_one(const F& f, const MapTile<F>& tile, int at) {
  typename F::Input x[F::kInputs];
  typename F::Output y[F::kOutputs];
#pragma unroll
  for (int in = 0; in < F::kInputs; ++in) x[in] = load<typename F::Input>(tile.x[in] + at);
  call(f, x, y, tile.first + at);
#pragma unroll
  for (int out = 0; out < F::kOutputs; ++out) store(tile.y[out] + at, y[out]);
}

/// A tile by vectors; leftover elements are its last.
template <class F> __device__ void map_vectors(const F& f, const MapJob& job, MapTile<F> tile) {
  constexpr int kN = kMapWidth<F>;
  using From = MapVector<typename F::Input, kN>;
  using To = MapVector<typename F::Output, kN>;
  From loaded[F::kInputs][kMapVectors];
  const auto place = [](int v) { return (v * kMapThreads + static_cast<int>(threadIdx.x)) * kN; };
#pragma unroll
  for (int v = 0; v < kMapVectors; ++v)
#pragma unroll
    for (int in = 0; in < F::kInputs; ++in)
      if (place(v) + kN <= tile.n) loaded[in][v] = load<From>(tile.x[in] + place(v));
  tile.first += first_index(job);
#pragma unroll
  for (int v = 0; v < kMapVectors; ++v) {
    if (place(v) + kN > tile.n) continue;
    To to[F::kOutputs];
#pragma unroll
    for (int i = 0; i < kN; ++i) {
      typename F::Input x[F::kInputs];
      typename F::Output y[F::kOutputs];
#pragma unroll
      for (int in = 0; in < F::kInputs; ++in) x[in] = loaded[in][v].at[i];
      call(f, x, y, tile.first + place(v) + i);
#pragma unroll
      for (int out = 0; out < F::kOutputs; ++out) to[out].at[i] = y[out];
    }
#pragma unroll
    for (int out = 0; out < F::kOutputs; ++out) store(tile.y[out] + place(v), to[out]);
  }
  const int last = tile.n / kN * kN + static_cast<int>(threadIdx.x);
  if (last < tile.n) map_one(f, tile, last);
}

/// A tile of rows that begin anywhere; a thread has `batch` loads of each input in flight.
template <int batch, class F> __device__ void map_singly(const F& f, const MapTile<F>& tile) {
  typename F::Input loaded[batch][F::kInputs];
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first < tile.n; first += batch * kMapThreads) {
#pragma unroll
    for (int i = 0; i < batch; ++i)
#pragma unroll
      for (int in = 0; in < F::kInputs; ++in)
        if (first + i * kMapThreads < tile.n)
          loaded[i][in] = load<typename F::Input>(tile.x[in] + first + i * kMapThreads);
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const int at = first + i * kMapThreads;
      if (at >= tile.n) continue;
      typename F::Output y[F::kOutputs];
      call(f, loaded[i], y, tile.first + at);
#pragma unroll
      for (int out = 0; out < F::kOutputs; ++out) store(tile.y[out] + at, y[out]);
    }
  }
}

template <int batch, class F> __global__ void __launch_bounds__(kMapThreads)
    map_rows(const __grid_constant__ F f, const __grid_constant__ MapJob job) {
  constexpr std::int64_t kMost = kMapTile<F>;
  constexpr int kN = kMapWidth<F>;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kMost;
  MapTile<F> tile;
  tile.n = static_cast<int>(max(min(positions_of(job) * job.item - begin, kMost), std::int64_t{0}));
  tile.first = begin;
  if (tile.n == 0) return;
  bool by_vectors = true;
#pragma unroll
  for (int in = 0; in < F::kInputs; ++in) {
    tile.x[in] = reinterpret_cast<const typename F::Input*>(job.x[in] + blockIdx.y * job.x_pitch[in]) + begin;
    by_vectors = by_vectors && aligned<typename F::Input, kN>(tile.x[in]);
  }
#pragma unroll
  for (int out = 0; out < F::kOutputs; ++out) {
    tile.y[out] = reinterpret_cast<typename F::Output*>(job.y[out] + blockIdx.y * job.y_pitch[out]) + begin;
    by_vectors = by_vectors && aligned<typename F::Output, kN>(tile.y[out]);
  }
  if (by_vectors) return map_vectors(f, job, tile);
  tile.first += first_index(job);
  map_singly<batch>(f, tile);
}

/// Puts it on the stream. A count is passed on even if there is no room for a position.
template <int batch, class F> void put_map_rows(const F& f, const MapJob& job, std::int64_t rows, cudaStream_t stream) {
  const unsigned tiles = groups_of(job.positions * job.item, kMapTile<F>);
  const dim3 grid(job.count[0] == nullptr ? tiles : std::max(tiles, 1u), static_cast<unsigned>(rows));
  if (grid.x > 0 && grid.y > 0) map_rows<batch, F><<<grid, kMapThreads, 0, stream>>>(f, job);
}

}  // namespace iqd::gpu
