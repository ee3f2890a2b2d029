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

/// Every element of rows that may begin anywhere through a function: y(r, n) = op(x0(r, n), x1(r, n)). `Op` has
/// `kInputs`, 1 or 2, and is called with two elements of type X all the same: of one input with the same twice.
namespace iqd::gpu {

constexpr int kMapThreads = 128;
constexpr int kMapVectors = 4;  // of a thread and an input: their loads are all under way before the first is used

/// One block of rows. An operation of one input has its second where its first is, and does not read it.
struct MapJob {
  const std::byte* x[2];
  std::byte* y;
  std::int64_t x_pitch[2];  // bytes
  std::int64_t y_pitch;
  std::int64_t positions;
  std::int64_t item;          // elements of a position
  const std::int32_t* count;  // where it is not null, so many positions
  std::int32_t* count_out;
};

template <class Op, class X> using MapResult = decltype(std::declval<const Op&>()(X(), X()));
/// Elements of an access: the larger ones take 16 bytes.
template <class Op, class X>
constexpr int kMapWidth = 16 / static_cast<int>(std::max(sizeof(X), sizeof(MapResult<Op, X>)));
template <class Op, class X> constexpr int kMapTile = kMapThreads* kMapVectors* kMapWidth<Op, X>;

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

/// A tile by vectors; the elements that fill none are its last.
template <class Op, class X>
__device__ void map_vectors(const Op& op, const X* const (&x)[2], MapResult<Op, X>* y, int n) {
  constexpr int kN = kMapWidth<Op, X>;
  using From = MapVector<X, kN>;
  using To = MapVector<MapResult<Op, X>, kN>;
  From loaded[Op::kInputs][kMapVectors];
  const auto place = [](int v) { return (v * kMapThreads + static_cast<int>(threadIdx.x)) * kN; };
#pragma unroll
  for (int v = 0; v < kMapVectors; ++v)
#pragma unroll
    for (int in = 0; in < Op::kInputs; ++in)
      if (place(v) + kN <= n) loaded[in][v] = load<From>(x[in] + place(v));
#pragma unroll
  for (int v = 0; v < kMapVectors; ++v) {
    if (place(v) + kN > n) continue;
    To to;
#pragma unroll
    for (int i = 0; i < kN; ++i) to.at[i] = op(loaded[0][v].at[i], loaded[Op::kInputs - 1][v].at[i]);
    store(y + place(v), to);
  }
  const int last = n / kN * kN + static_cast<int>(threadIdx.x);
  if (last < n) store(y + last, op(load<X>(x[0] + last), load<X>(x[Op::kInputs - 1] + last)));
}

/// A tile of a row that begins anywhere; a thread has `batch` loads under way.
template <int batch, class Op, class X>
__device__ void map_singly(const Op& op, const X* const (&x)[2], MapResult<Op, X>* y, int n) {
  X loaded[Op::kInputs][batch];
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first < n; first += batch * kMapThreads) {
#pragma unroll
    for (int i = 0; i < batch; ++i)
#pragma unroll
      for (int in = 0; in < Op::kInputs; ++in)
        if (first + i * kMapThreads < n) loaded[in][i] = load<X>(x[in] + first + i * kMapThreads);
#pragma unroll
    for (int i = 0; i < batch; ++i)
      if (first + i * kMapThreads < n) store(y + first + i * kMapThreads, op(loaded[0][i], loaded[Op::kInputs - 1][i]));
  }
}

template <int batch, class Op, class X> __global__ void __launch_bounds__(kMapThreads)
    map_rows(const Op op, const MapJob job) {
  std::int64_t positions = job.positions;
  if (job.count != nullptr) {
    positions = *job.count;
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *job.count_out = static_cast<std::int32_t>(positions);
  }
  constexpr std::int64_t kMost = kMapTile<Op, X>;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kMost;
  const auto n = static_cast<int>(max(min(positions * job.item - first, kMost), std::int64_t{0}));
  if (n == 0) return;
  const auto row_of = [&](int in) {
    return reinterpret_cast<const X*>(job.x[in] + blockIdx.y * job.x_pitch[in]) + first;
  };
  const X* const x[2] = {row_of(0), row_of(Op::kInputs - 1)};
  auto* const y = reinterpret_cast<MapResult<Op, X>*>(job.y + blockIdx.y * job.y_pitch) + first;
  constexpr int kN = kMapWidth<Op, X>;
  if (aligned<X, kN>(x[0]) && aligned<X, kN>(x[1]) && aligned<MapResult<Op, X>, kN>(y))
    map_vectors<Op, X>(op, x, y, n);
  else
    map_singly<batch, Op, X>(op, x, y, n);
}

/// Puts it on the stream. A count is handed on even where there is no room for a position.
template <int batch, class Op, class X>
void put_map_rows(const Op& op, const MapJob& job, std::int64_t rows, cudaStream_t stream) {
  const unsigned tiles = groups_of(job.positions * job.item, kMapTile<Op, X>);
  const dim3 grid(job.count == nullptr ? tiles : std::max(tiles, 1u), static_cast<unsigned>(rows));
  if (grid.x > 0 && grid.y > 0) map_rows<batch, Op, X><<<grid, kMapThreads, 0, stream>>>(op, job);
}

}  // namespace iqd::gpu
