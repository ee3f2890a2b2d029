// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/noma/multiuser/outputs.cuh"
#include "pipeline/stages/noma/multiuser/tensor.cuh"
#include "pipeline/stages/noma/multiuser/vectors.cuh"

/// Detects all users of a frame with one model, in one kernel. A thread block takes 32 data vectors; its warps share
/// the dictionary, eight places at a time. With r and x multiplied by sqrt(2 log2(e) exponent),
///
///   p, q      Re and Im of r^H x                                 matrix product, [vector][place]
///   h         (|r|^2 + |x|^2) / 2
///   k11       2^(p - h), k12 = 2^(q - h), k21 = 2^(-q - h)       kernels of v1, v2 of r with v1, v2 of x; k22 = k11
///   F1, F2    [k11 k12] gamma, [k21 k11] gamma                   matrix product, [vector][user]
///
/// The first product leaves a warp's results in the lanes where the second one needs them. The warps' sums are added in
/// order, in shared memory; the linear part is added in float. Factors are in units of their user's `unit`, so that
/// binary16 can hold them.
namespace iqd::noma {

/// What a lane fetches of eight places.
template <int kChunks, int kUserTiles> struct Places {
  float2 x[kChunks][2];
  float2 gamma[kUserTiles][2];
  float norm[2];
};

/// Where a lane fetches: x of place g, the rest for places 2t and 2t + 1 of eight.
struct Cursor {
  const float2* x;
  const float2* gamma;  // of user g
  const float* norm;
  int left;  // places from the first of the eight on
};

__device__ inline Cursor cursor_at(const DetectShape& shape, const ModelView& model, int first, int g, int t) {
  return {model.x + std::int64_t{first + g} * shape.antennas + t,
          model.gamma + std::int64_t{g} * shape.dictionary + first + 2 * t, model.norm + first + 2 * t,
          shape.dictionary - first};
}
__device__ inline void advance(const DetectShape& shape, int places, Cursor& cursor) {
  cursor.x += places * shape.antennas;
  cursor.gamma += places;
  cursor.norm += places;
  cursor.left -= places;
}

template <int kChunks, int kUserTiles> __device__ void fetch_places(const DetectShape& shape, const Cursor& cursor,
                                                                    int g, int t, Places<kChunks, kUserTiles>& places) {
#pragma unroll
  for (int c = 0; c < kChunks; ++c)
#pragma unroll
    for (int i = 0; i < 2; ++i)
      places.x[c][i] = g < cursor.left && antenna_of(c, t, i) < shape.antennas ? __ldg(cursor.x + antenna_of(c, 0, i))
                                                                               : float2{0, 0};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const bool is_place = 2 * t + i < cursor.left;
    places.norm[i] = is_place ? __ldg(cursor.norm + i) : 0;
#pragma unroll
    for (int u = 0; u < kUserTiles; ++u)
      places.gamma[u][i] = is_place && u * kUserTile + g < shape.users
                               ? __ldg(cursor.gamma + u * kUserTile * shape.dictionary + i)
                               : float2{0, 0};
  }
}

__device__ inline void set_left(Left& left, int k, HighLow pair) {
  left.high[k] = pair.high;
  left.low[k] = pair.low;
}

/// {p, q} + r^H x, for 16 vectors, 8 places and a chunk of antennas
__device__ inline void correlate(const Left& r, const Right& x, Result& p, Result& q) {
  const Right turned{{x.high[1], negated(x.high[0])}, {x.low[1], negated(x.low[0])}};
  p = multiply(r, x, p);
  q = multiply(r, turned, q);
}

/// Kernels of 16 vectors and 8 places: of v1 with {v1, v2} and of v2 with {v1, v2}. `p` is p - h, `bias` -h.
__device__ inline void make_kernels(const Result& p, const Result& q, const Result& bias, Left& of_v1, Left& of_v2) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const auto pair = [&](auto exponent) {
      return split(power_of_two(fminf(exponent(2 * i), 0)), power_of_two(fminf(exponent(2 * i + 1), 0)));
    };
    const HighLow k11 = pair([&](int k) { return p[k]; });
    set_left(of_v1, i, k11);
    set_left(of_v1, 2 + i, pair([&](int k) { return bias[k] + q[k]; }));
    set_left(of_v2, i, pair([&](int k) { return bias[k] - q[k]; }));
    set_left(of_v2, 2 + i, k11);
  }
}

/// A warp's sums: [tile of rows][tile of users][v1 or v2].
template <int kUserTiles> using Sums = Result[kRowTiles][kUserTiles][2];

/// sums += those of eight places.
template <int kChunks, int kUserTiles, int kWarps>
__device__ void add_places(const Vectors<kChunks, kWarps>& v, const Right (&x)[kChunks],
                           const Right (&gamma)[kUserTiles], const float (&half_norm)[2], int user_tiles,
                           Sums<kUserTiles>& sums) {
  Result p[kRowTiles], q[kRowTiles], bias[kRowTiles];
#pragma unroll
  for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) bias[tile][i] = -v.half_norm[tile][i / 2] - half_norm[i % 2];
    p[tile] = bias[tile];
    q[tile] = {};
#pragma unroll
    for (int c = 0; c < kChunks; ++c) correlate(v.real_imag(tile, c), x[c], p[tile], q[tile]);
  }
#pragma unroll
  for (int tile = 0; tile < kRowTiles; ++tile) {
    Left of_v1, of_v2;
    make_kernels(p[tile], q[tile], bias[tile], of_v1, of_v2);
#pragma unroll
    for (int u = 0; u < kUserTiles; ++u)
      if (u < 2 || u < user_tiles) {
        sums[tile][u][0] = multiply(of_v1, gamma[u], sums[tile][u][0]);
        sums[tile][u][1] = multiply(of_v2, gamma[u], sums[tile][u][1]);
      }
  }
}

/// Two places' values of each kind, times a factor, as the right operand: real parts, then imaginary parts.
__device__ inline Right right_of(const float2 (&values)[2], float factor) {
  const HighLow real = split(values[0].x * factor, values[1].x * factor);
  const HighLow imag = split(values[0].y * factor, values[1].y * factor);
  return {{real.high, imag.high}, {real.low, imag.low}};
}

/// A warp's part of the kernels' sums: every kWarps-th group of eight places; the first is already fetched.
template <int kChunks, int kUserTiles, int kWarps>
__device__ void add_dictionary(const DetectShape& shape, const float* unit, float to_powers,
                               const DetectMemory<kChunks, kWarps>& memory, Cursor cursor,
                               Places<kChunks, kUserTiles>& places, Sums<kUserTiles>& sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  const int user_tiles = (shape.users + kUserTile - 1) / kUserTile;
  const Vectors<kChunks, kWarps> v(memory, lane);
  const float to_half_norm = to_powers * to_powers / 2;
  float to_unit[kUserTiles];
#pragma unroll
  for (int u = 0; u < kUserTiles; ++u)
    to_unit[u] = u * kUserTile + g < shape.users ? shape.gaussian / __ldg(unit + u * kUserTile + g) : 0;
  while (cursor.left > 0) {
    Right x[kChunks], gamma[kUserTiles];
#pragma unroll
    for (int c = 0; c < kChunks; ++c) x[c] = right_of(places.x[c], to_powers);
#pragma unroll
    for (int u = 0; u < kUserTiles; ++u) gamma[u] = right_of(places.gamma[u], to_unit[u]);
    const float half_norm[2]{places.norm[0] * to_half_norm, places.norm[1] * to_half_norm};
    advance(shape, kWarps * kPlaceTile, cursor);
    fetch_places(shape, cursor, g, t, places);  // in flight during the computation
    add_places(v, x, gamma, half_norm, user_tiles, sums);
  }
}

/// The linear part, one warp per user. The last warps come first, since they have the fewest places.
template <int kChunks, int kWarps>
__device__ void put_linear(const DetectShape& shape, const ModelView& model, DetectMemory<kChunks, kWarps>& memory) {
  const int warp = static_cast<int>(threadIdx.x) / 32, row = static_cast<int>(threadIdx.x) % 32;
  for (int user = kWarps - 1 - warp; user < shape.users; user += kWarps) {
    const float2* const c = model.c + user * shape.antennas;
    float2 z{0, 0};
#pragma unroll 8
    for (int m = 0; m < shape.antennas; ++m) z = add_filtered(__ldg(c + m), memory.x[row][m], z);
    memory.z[user][row] = {z.x * shape.linear, z.y * shape.linear};
  }
}

/// Writes a warp's sums of eight users to shared memory.
template <int kChunks, int kWarps>
__device__ void leave_sums(const Result (&sums)[2], int tile, DetectMemory<kChunks, kWarps>& memory) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int axis = 0; axis < 2; ++axis)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      memory.sums[warp][lane % 4 * 2 + i % 2][axis * kRows + tile * 16 + i / 2 * 8 + lane / 4] = sums[axis][i];
}

/// Adds the sums of eight users to their estimates, one thread per vector and user.
template <int kChunks, int kWarps> __device__ void finish_users(const DetectShape& shape, const float* unit,
                                                                int first_user, DetectMemory<kChunks, kWarps>& memory) {
  const int tile_user = static_cast<int>(threadIdx.x) / 32, row = static_cast<int>(threadIdx.x) % 32;
  const int user = first_user + tile_user;
  if (tile_user >= kUserTile || user >= shape.users) return;
  float2 kernels{0, 0};
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    kernels.x += memory.sums[w][tile_user][row];
    kernels.y += memory.sums[w][tile_user][kRows + row];
  }
  const float own = shape.dictionary > 0 ? unit[user] : 0;
  const float2 linear = memory.z[user][row], z{fmaf(own, kernels.x, linear.x), fmaf(own, kernels.y, linear.y)};
  memory.z[user][row] = z;
  if (!is_finite(z)) memory.erased[row] = 1;  // all writers write the same value
}

/// Writes the thread block's results and counts its erased vectors.
template <int kChunks, int kWarps> __device__ void put_rows(const DetectShape& shape, const ModelView& model,
                                                            const FrameJob& job, int first,
                                                            const DetectMemory<kChunks, kWarps>& memory) {
  const int row = static_cast<int>(threadIdx.x) % 32;
  const bool is_row = first + row < shape.data, erased = memory.erased[row] != 0;
  for (int user = static_cast<int>(threadIdx.x) / 32; user < shape.users; user += kWarps)
    if (is_row) put_symbol(shape, job, model.noise[user], user, first + row, memory.z[user][row], erased);
  if (threadIdx.x >= 32 || job.erased == nullptr) return;
  const int count = __popc(__ballot_sync(~0u, is_row && erased));
  if (threadIdx.x == 0 && count > 0) atomicAdd(job.erased, static_cast<unsigned long long>(count));
}

template <int kChunks, int kUserTiles, int kWarps> __global__ void __launch_bounds__(32 * kWarps)
    detect_rows(const DetectShape shape, const ModelView model, const FrameJob job) {
  extern __shared__ __align__(16) std::byte bytes[];
  auto& memory = *reinterpret_cast<DetectMemory<kChunks, kWarps>*>(bytes);
  const int first = static_cast<int>(blockIdx.x) * kRows;
  const float scale = *model.scale;
  const bool idle = job.idle();
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const Cursor cursor =
      cursor_at(shape, model, (shape.first_kernel / kPlaceTile + warp) * kPlaceTile, lane / 4, lane % 4);
  Places<kChunks, kUserTiles> places;
  fetch_places(shape, cursor, lane / 4, lane % 4, places);
  if (idle) return;
  if (threadIdx.x < kRows) memory.erased[threadIdx.x] = scale == 0;
  fetch_rows(shape, job, scale, first, memory);
  __syncthreads();
  put_linear(shape, model, memory);
  Sums<kUserTiles> sums{};
  if (shape.dictionary > 0 && scale != 0) {
    const float to_powers = sqrtf(2 * 1.44269504f * shape.exponent);
    split_rows(to_powers, memory);
    __syncthreads();
    add_dictionary(shape, model.unit, to_powers, memory, cursor, places, sums);
  }
#pragma unroll
  for (int u = 0; u < kUserTiles; ++u) {
    if (u * kUserTile >= shape.users) break;
    if (u > 0) __syncthreads();
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) leave_sums(sums[tile][u], tile, memory);
    __syncthreads();
    finish_users(shape, model.unit, u * kUserTile, memory);
  }
  __syncthreads();
  put_rows(shape, model, job, first, memory);
}

}  // namespace iqd::noma
