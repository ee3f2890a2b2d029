// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "gpu/warp_sum.cuh"
#include "pipeline/stages/noma/multiuser/multiuser.hpp"

/// What the kernels of training share. Sums are always in the same order, so that the same frame gives the same bits.
namespace iqd::noma::training {

/// What one kernel finds and the next ones need; in memory of the device.
struct State {
  // of the block
  std::int32_t frames;
  int of_start;  // frames that an item of `start`, or of `h`, serves
  int of_noise;
  std::int64_t untrained;
  std::int64_t left_out;
  std::int64_t erased;
  // of the frame in hand
  bool trained;
  bool begins;  // anew: there is no model that lives on
  int valid;    // pilots that are not left out
  float gain;
  float genie_noise;
};

/// What lives on from frame to frame: the newest places, as many as are old for the next frame.
struct Kept {
  bool* present;
  float2* x;      // [place][antenna]
  float2* gamma;  // [user][place]
  float2* c;      // [user][antenna]
};

/// All that a kernel of training is given: numbers of the Method, the frame's place in the block, and memory.
struct Task {
  int antennas;
  int users;
  int pilots;
  int places;
  int old_places;
  int first_kernel;  // of the frame's pilots
  int window;
  int passes;
  int slices;  // of the pilots, in sum_products
  Start start;
  bool online;
  bool agc;
  bool fresh;
  int used_count;
  float epsilon;
  float linear;
  float gaussian;
  float exponent;           // of 2: exp2((p - n_t / 2 - n_s / 2) exponent)
  unsigned long long used;  // a bit an antenna
  const float* weight;      // [age]
  const float* share;       // [pilots in the window - 1]
  int most;                 // frames that there is room for
  int frame;
  int pass;
  int stretch;  // its first pilot
  Job job;

  State* state;
  Kept kept;
  float2* x;          // [place][antenna], the Model's
  float* norm;        // [place]
  float2* gamma;      // [user][place]
  float* unit;        // [user]: a power of two above the parts of gamma
  float2* c;          // [user][antenna]
  float* noise;       // [user]
  float* scale;       // [1]
  double* power;      // [t]: |r|^2, -1 of a pilot that is left out
  float2* b;          // [user][t]
  float2* side;       // `start` or `h` of this frame, antennas that are not in use 0
  float* height;      // [t]: w_G, or 0 where there may be no kernel
  float* inverse;     // [t]: 1 / (w_L |x|^2 + height), or 0
  double2* products;  // [slice][antenna][antenna, then user]: parts of sum x x^H and sum x b^*
  float4* gram;       // [place][t]: what a factor of the place adds to the estimate of pilot t, see gram.cuh
  float2* base;       // [user][t]: the estimates before training
  float2* entering;   // [user][t]: the estimates before the stretch, without factors that change in it
  float2* handed_on;  // [user][kMostWindow]: of the window before the stretch
  float2* factor;     // [user][t]: what training multiplies each pilot with, with or without a kernel
  float2* errors;     // [user][t]: squared, without the pilot's own kernel and with it
  double* found;      // [user][2]: their means
  double* norms;      // [tile][user]: parts of gamma' K gamma
  int tiles;          // of `norms`; 0: there are no kernels, or nobody asks

  __host__ __device__ int columns() const { return antennas + users; }
  __device__ bool idle() const { return frame >= state->frames; }
  __device__ bool uses(int antenna) const { return used >> antenna & 1; }
};

using gpu::kWarp;
using gpu::sum_of_warp;
inline constexpr int kStretch = 192;  // pilots that one launch adapts to

/// Factors before this pilot do not change any more when a stretch begins.
__device__ inline int settled(const Task& task) {
  return max(0, task.stretch - (task.window - 1));
}

/// For all threads; `memory`: a value a warp. The threads have to meet before it is used again.
__device__ inline double sum_of_group(double v, double* memory) {
  v = sum_of_warp(v);
  if (threadIdx.x % kWarp == 0) memory[threadIdx.x / kWarp] = v;
  __syncthreads();
  v = 0;
  for (unsigned warp = 0; warp < blockDim.x / kWarp; ++warp) v += memory[warp];
  return v;
}
__device__ inline bool finite(float2 v) {
  return isfinite(v.x) && isfinite(v.y);
}

}  // namespace iqd::noma::training
