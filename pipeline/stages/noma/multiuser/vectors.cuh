// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/noma/multiuser/outputs.cuh"
#include "pipeline/stages/noma/multiuser/tensor.cuh"

/// The data vectors of a thread block of detect_rows, and how its warps get them as the left operand.
namespace iqd::noma {

inline constexpr int kRows = 32;      // vectors of a thread block
inline constexpr int kRowTiles = 2;   // of 16 vectors
inline constexpr int kChunk = 8;      // antennas of one product: 16 real values
inline constexpr int kUserTile = 8;   // users of one product
inline constexpr int kPlaceTile = 8;  // places of one product

/// Shared memory of a thread block.
template <int kChunks, int kWarps> struct DetectMemory {
  static constexpr int kPitch = kChunks * kChunk + 1;
  static constexpr int kUserPitch = 2 * kRows + 4;  // lanes that write for different users use different banks

  uint4 pieces[kChunks][kRows][4];  // x of a lane's two antennas: high of real, of imaginary parts, low of both
  float2 z[kMostUsers][kRows];
  float2 x[kRows][kPitch];
  float sums[kWarps][kUserTile][kUserPitch];
  float half_norm[kRows];
  int erased[kRows];
};

/// A warp's data: what is multiplied with each place.
template <int kChunks> struct Vectors {
  Left real_imag[kRowTiles][kChunks];
  float half_norm[kRowTiles][2];
};

/// Antenna of a lane's `i`th value of a chunk. Any order is correct; this one reads 32 contiguous bytes.
__device__ inline int antenna_of(int chunk, int t, int i) {
  return chunk * kChunk + i * 4 + t;
}

template <int kChunks, int kWarps> __device__ void fetch_rows(const DetectShape& shape, const FrameJob& job,
                                                              float scale, int first,
                                                              DetectMemory<kChunks, kWarps>& memory) {
  constexpr int kAntennas = kChunks * kChunk;
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kAntennas; i += 32 * kWarps) {
    const int row = i / kAntennas, antenna = i % kAntennas;
    const float2* const rx = job.rx + std::int64_t{first + row} * shape.antennas;
    memory.x[row][antenna] = first + row < shape.data ? scaled_sample(shape, rx, antenna, scale) : float2{0, 0};
  }
}

/// Splits the rows into pieces: one thread per row and two antennas of each chunk.
template <int kChunks, int kWarps> __device__ void split_rows(float to_powers, DetectMemory<kChunks, kWarps>& memory) {
  const int row = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
  if (row >= kRows) return;
  float norm = 0;
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    const float2 a = memory.x[row][antenna_of(c, t, 0)], b = memory.x[row][antenna_of(c, t, 1)];
    const float re[2]{a.x * to_powers, b.x * to_powers}, im[2]{a.y * to_powers, b.y * to_powers};
    const HighLow real = split(re[0], re[1]), imag = split(im[0], im[1]);
    memory.pieces[c][row][t] = {real.high, imag.high, real.low, imag.low};
    norm = fmaf(re[0], re[0], fmaf(re[1], re[1], fmaf(im[0], im[0], fmaf(im[1], im[1], norm))));
  }
  norm += __shfl_xor_sync(~0u, norm, 1);
  norm += __shfl_xor_sync(~0u, norm, 2);
  if (t == 0) memory.half_norm[row] = norm / 2;
}

template <int kChunks, int kWarps>
__device__ Vectors<kChunks> take_rows(const DetectMemory<kChunks, kWarps>& memory, int g, int t) {
  Vectors<kChunks> v;
#pragma unroll
  for (int tile = 0; tile < kRowTiles; ++tile)
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = tile * 16 + i * 8 + g;
      v.half_norm[tile][i] = memory.half_norm[row];
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        const uint4 piece = memory.pieces[c][row][t];
        Left& left = v.real_imag[tile][c];
        left.high[i] = piece.x;
        left.high[2 + i] = piece.y;
        left.low[i] = piece.z;
        left.low[2 + i] = piece.w;
      }
    }
  return v;
}

}  // namespace iqd::noma
