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

/// High or low parts of a lane's row g and row g + 8 of a tile: real, then imaginary parts of two antennas.
struct alignas(16) Parts {
  unsigned of[4];
};

/// Shared memory of a thread block.
template <int kChunks, int kWarps> struct DetectMemory {
  static constexpr int kPitch = kChunks * kChunk + 1;
  static constexpr int kUserPitch = 2 * kRows + 4;  // lanes that write for different users use different banks

  Parts high[kChunks][kRowTiles][32];  // of x, for each lane of a warp
  Parts low[kChunks][kRowTiles][32];
  float2 z[kMostUsers][kRows];
  float2 x[kRows][kPitch];
  float sums[kWarps][kUserTile][kUserPitch];
  float half_norm[kRows];
  int erased[kRows];
};

/// What a lane multiplies with each place. Of many antennas, registers hold only the high parts.
template <int kChunks, int kWarps> class Vectors {
 public:
  __device__ Vectors(const DetectMemory<kChunks, kWarps>& memory, int lane) : low_(&memory.low[0][0][lane]) {
#pragma unroll
    for (int tile = 0; tile < kRowTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) half_norm[tile][i] = memory.half_norm[tile * 16 + i * 8 + lane / 4];
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        set(real_imag_[tile][c].high, memory.high[c][tile][lane]);
        if (kKeepsLow) set(real_imag_[tile][c].low, memory.low[c][tile][lane]);
      }
    }
  }

  __device__ Left real_imag(int tile, int chunk) const {
    Left left = real_imag_[tile][chunk];
    if (!kKeepsLow) set(left.low, load_again(low_ + (chunk * kRowTiles + tile) * 32));
    return left;
  }

  float half_norm[kRowTiles][2];

 private:
  static constexpr bool kKeepsLow = kChunks <= 4;

  __device__ static void set(unsigned (&to)[4], const Parts& from) {
#pragma unroll
    for (int k = 0; k < 4; ++k) to[k] = from.of[k];
  }
  /// From shared memory, which does not change after a barrier. The compiler would keep what it has read in registers.
  __device__ static Parts load_again(const Parts* place) {
    Parts parts;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(parts.of[0]), "=r"(parts.of[1]), "=r"(parts.of[2]), "=r"(parts.of[3])
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(place))));
    return parts;
  }

  const Parts* low_;
  Left real_imag_[kRowTiles][kChunks];
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

/// Splits the rows into high and low parts: one thread per row and two antennas of each chunk.
template <int kChunks, int kWarps> __device__ void split_rows(float to_powers, DetectMemory<kChunks, kWarps>& memory) {
  const int row = static_cast<int>(threadIdx.x) / 4, t = static_cast<int>(threadIdx.x) % 4;
  if (row >= kRows) return;
  const int tile = row / 16, i = row / 8 % 2, lane = row % 8 * 4 + t;
  float norm = 0;
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    const float2 a = memory.x[row][antenna_of(c, t, 0)], b = memory.x[row][antenna_of(c, t, 1)];
    const float re[2]{a.x * to_powers, b.x * to_powers}, im[2]{a.y * to_powers, b.y * to_powers};
    const HighLow real = split(re[0], re[1]), imag = split(im[0], im[1]);
    Parts& high = memory.high[c][tile][lane];
    Parts& low = memory.low[c][tile][lane];
    high.of[i] = real.high;
    high.of[2 + i] = imag.high;
    low.of[i] = real.low;
    low.of[2 + i] = imag.low;
    norm = fmaf(re[0], re[0], fmaf(re[1], re[1], fmaf(im[0], im[0], fmaf(im[1], im[1], norm))));
  }
  norm += __shfl_xor_sync(~0u, norm, 1);
  norm += __shfl_xor_sync(~0u, norm, 2);
  if (t == 0) memory.half_norm[row] = norm / 2;
}

}  // namespace iqd::noma
