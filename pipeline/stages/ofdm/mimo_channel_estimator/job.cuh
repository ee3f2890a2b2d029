// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pipeline/stages/complex.cuh"
#include "pipeline/stages/ofdm/mimo_channel_estimator/frame_fit.hpp"
#include "signal/filters/scratch.hpp"

/// What the kernels of the estimator share.
namespace iqd::mimo_channel_estimator {
namespace {

constexpr int kThreads = 512;  // of a symbol
constexpr int kFitThreads = 64;
constexpr int kFilterThreads = 256;
constexpr int kTile = 32;  // carriers of a thread block that filters
static_assert(kFitThreads >= kMostAntennas * kMostAntennas);

/// What is known about a frame before its channel is.
struct Fit {
  bool usable;
  float scale[kMostAntennas];
  float2 uncover[kMostAntennas * kMostAntennas];  // [tx][training]
};

struct Constants {
  const float2* known;
  const float2* ramp;
  const float2* uncover;
  const float* taps;
  const std::int32_t* first;
  const std::int32_t* pilot;
  const std::int32_t* data;
  const std::int32_t* place;
  const std::int32_t* odd;
  std::int32_t odd_carriers;
  const float* pilot_signs;
  const float2* pilot_weights;
};

/// Memory between the kernels, for as many frames as a block has at most.
struct Room {
  Extents e;
  std::int64_t most;
  Scratch scratch;
  std::int32_t* found = scratch.take<std::int32_t>(1);
  // [frame][symbol][kMostAntennas]: energy, or the pilots' sum that shows the phase
  Sum* sums = scratch.take<Sum>(most * e.symbols * kMostAntennas);
  // [frame][symbol]: contains a NaN or an infinity
  std::int32_t* spoilt = scratch.take<std::int32_t>(most * e.symbols);
  Fit* fits = scratch.take<Fit>(most);                                  // [frame]
  float2* pilot_h = scratch.take<float2>(most * e.pilots * e.pairs());  // [frame][pilot][rx][tx]
};

struct Job : Room {
  Constants known;
  const float2* carriers;
  const std::int32_t* found_at;  // in host memory
  std::int32_t* counts[6];       // y, h, noise, phase, level, covariance
  std::int32_t* empty[2];        // doppler, interference
  float2* y;
  float2* h;
  float* noise;
  float* phase;
  float* level;
  float2* covariance;
};

using dsp::product;
__device__ float2 product(float2 a, float b) {
  return {a.x * b, a.y * b};
}
__device__ float2 sum_of(float2 a, float2 b) {
  return {a.x + b.x, a.y + b.y};
}
__device__ Sum wide(float2 z) {
  return {z.x, z.y};
}
__device__ bool is_finite(float2 z) {
  return isfinite(z.x) && isfinite(z.y);
}

/// Divides the items of all antennas among the threads: each thread has one antenna, and every `step`-th item.
struct Share {
  int antenna;
  int item;
  int step;

  __device__ explicit Share(int rx)
      : antenna(static_cast<int>(threadIdx.x) % rx), item(static_cast<int>(threadIdx.x) / rx), step(kThreads / rx) {}
  __device__ bool takes_part() const { return item < step; }
};

/// The sum over an antenna's threads, in all_sums[antenna].
__device__ void add_up(const Share& share, int rx, Sum mine, Sum (&all_sums)[kThreads]) {
  const auto t = static_cast<int>(threadIdx.x);
  all_sums[t] = mine;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (share.item < half && share.item + half < share.step) {
      all_sums[t].re += all_sums[t + half * rx].re;
      all_sums[t].im += all_sums[t + half * rx].im;
    }
    __syncthreads();
  }
}

}  // namespace
}  // namespace iqd::mimo_channel_estimator
