// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/integer.hpp"
#include "gpu/fft_kernel.cuh"
#include "gpu/warp_sum.cuh"
#include "pipeline/stages/items.cuh"
#include "pipeline/stages/ofdm/ofdm_sync/ofdm_sync.hpp"
#include "pipeline/stages/ofdm/ofdm_sync/tones.hpp"
#include "signal/filters/scratch.hpp"

/// What the kernels of the search share.
namespace iqd::ofdm_sync {
namespace {

using gpu::Complex32;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr unsigned kAll = 0xffffffff;
constexpr int kTile = 8 * kThreads;  // samples of a frame that a thread block copies

/// A candidate, and the result of its training symbols.
struct Cell {
  std::int64_t place;  // -1: nothing
  float metric;
  float fit;  // 0: not a frame
  int moved;  // i
};

/// A frame that may belong to the block.
struct Chosen {
  std::int64_t cell;
  std::int64_t place;
  float metric;
  int moved;
};

struct Measured {
  std::int64_t start;
  float offset_hz;
  float metric;
  int whole;  // belongs to the block, and is complete
  int cut;    // belongs to the block
  int fit;    // whole, with a valid energy
};

/// Memory between the kernels, for a block of `length` samples, `new_length` of them new.
struct Room {
  Grid grid;
  std::int64_t length;
  std::int64_t new_length;
  Scratch scratch;
  /// A cell is `nearby` grid points. Candidates are further apart, so it has at most one.
  std::int64_t cell_count = ceil_div(grid.places(length, 0), grid.nearby);  // at most
  std::int64_t half_cells = grid.half / grid.nearby + 1;                    // of half a frame
  /// Frames are more than half a frame apart.
  std::int64_t most_chosen = (new_length + grid.lag + grid.reach()) / ((grid.half + 1) * grid.step) + 1;
  std::int64_t sum_pitch = length / grid.step + 1;
  std::int64_t* lead = scratch.take<std::int64_t>(1);                    // the first grid point
  float* sums = scratch.take<float>(kSums * grid.antennas * sum_pitch);  // [antenna][which, as in Sums][step]
  // [antenna][which, as in Alikes][step]
  float* alikes = scratch.take<float>(grid.rejects_tones() ? kAlikes * grid.antennas * sum_pitch : 0);
  Cell* cells = scratch.take<Cell>(cell_count);
  // [cell][antenna][training symbol][hypothesis]
  Complex* fits = scratch.take<Complex>(cell_count * spectra() * grid.hypotheses());
  Chosen* chosen = scratch.take<Chosen>(most_chosen);  // in order
  int* chosen_count = scratch.take<int>(1);
  // [chosen][antenna][training symbol][delay]
  float* profiles = scratch.take<float>(most_chosen * spectra() * grid.fft);
  Measured* measured = scratch.take<Measured>(most_chosen);

  __host__ __device__ std::int64_t spectra() const { return grid.antennas * grid.tx; }
};

/// One block. Positions count from the first sample that exists.
struct Job : Room {
  const std::byte* x;
  std::int64_t pitch;            // bytes
  const std::int64_t* first_at;  // of the port
  std::int64_t skipped;          // samples between that and the first used here
  Positions fresh;
  const float* pairs;
  const float* training;
  const Complex32* factors;

  dsp::Items<float2> frames;
  dsp::Items<std::int64_t> start;
  dsp::Items<float> offset_hz;
  dsp::Items<float> metric;
  dsp::Items<std::int64_t> events;

  __device__ std::int64_t first() const { return *first_at + skipped; }
  __device__ std::int64_t at(std::int64_t place) const { return *lead + place * grid.step; }
  __device__ std::int64_t places() const { return grid.places(length, *lead); }
  __device__ float* part(std::int64_t r, int which) const { return sums + (kSums * r + which) * sum_pitch; }
  __device__ Sums sums_of(std::int64_t r) const { return {part(r, 0), part(r, 1), part(r, 2), part(r, 3), part(r, 4)}; }
  __device__ float* alike_part(std::int64_t r, int which) const { return alikes + (kAlikes * r + which) * sum_pitch; }
  __device__ std::int64_t halves() const { return grid.halves(length, *lead); }
  __device__ Alikes alikes_of(std::int64_t r, std::int64_t count) const {
    return {alike_part(r, 0), alike_part(r, 1), alike_part(r, 2), count};
  }
  /// c and energy of one antenna.
  template <bool kRejectsTones> __device__ Alike halves_of(std::int64_t r, std::int64_t place) const {
    if constexpr (kRejectsTones)
      return halves_beside_tones(grid, alikes_of(r, halves()), place);
    else
      return halves_at(grid, sums_of(r), place);
  }
  /// Q and its angle, of one cell and antenna for hypothesis h.
  __device__ Complex fit_of(std::int64_t cell, std::int64_t r, std::int64_t h) const {
    const Complex* const own = fits + (cell * spectra() + r * grid.tx) * grid.hypotheses() + h;
    Complex sum;
#pragma unroll 4
    for (std::int64_t t = 0; t < grid.tx; ++t) {
      const Complex one = own[t * grid.hypotheses()];
      sum.re += one.re;
      sum.im += one.im;
    }
    return {sum.re / grid.pair_count, sum.im / grid.pair_count};
  }
};

__device__ Complex complex_of(float2 x) {
  return {x.x, x.y};
}
__device__ Complex complex_of(short2 x) {
  return {static_cast<float>(x.x) * (1.0f / 32768), static_cast<float>(x.y) * (1.0f / 32768)};
}
template <class Sample> __device__ const Sample* row_of(const Job& job, std::int64_t r) {
  return reinterpret_cast<const Sample*>(job.x + r * job.pitch);
}
/// Zero behind the last sample.
template <class Sample> __device__ Complex sample_at(const Job& job, std::int64_t r, std::int64_t n) {
  return n < job.length ? complex_of(row_of<Sample>(job, r)[n]) : Complex{};
}

using elementwise::product;
/// exp(2 pi j turns), turns in units of 2^-64; to 1e-7.
__device__ Complex quick_phasor(std::uint64_t turns) {
  float sine, cosine;
  sincospif(static_cast<float>(static_cast<std::int32_t>(turns >> 32)) * 0x1p-31f, &sine, &cosine);
  return {cosine, sine};
}

/// The larger of two values, with its index; of equal ones the one with the lower index.
struct Largest {
  float value;
  int index;
};
__device__ Largest largest_of_warp(Largest own) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    const float value = __shfl_xor_sync(kAll, own.value, distance);
    const int index = __shfl_xor_sync(kAll, own.index, distance);
    if (value > own.value || (value == own.value && index < own.index)) own = {value, index};
  }
  return own;
}
using gpu::sum_of_warp;

}  // namespace
}  // namespace iqd::ofdm_sync
