// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "gpu/warp_sum.cuh"
#include "pipeline/stages/noma/multiuser/multiuser.hpp"

/// What the training kernels share. Sums are always in the same order, so the same frame gives the same bits.
namespace iqd::noma::training {

/// Results that one kernel passes to the next ones, in GPU memory.
struct State {
  // of the block
  std::int32_t frames;
  int of_start;  // frames that an item of `start`, or of `h`, serves
  int of_noise;
  std::int64_t untrained;
  std::int64_t left_out;
  std::int64_t erased;
  // of the current frame
  bool trained;
  bool begins;  // from the start: there is no model to continue
  int valid;    // pilots that are not left out
  float gain;
  float genie_noise;
};

/// State kept from frame to frame: the newest places, as many as the next frame has old places.
struct Kept {
  bool* present;
  float2* x;      // [place][antenna]
  float2* gamma;  // [user][place]
  float2* c;      // [user][antenna]
};

/// All parameters of a training kernel: numbers of the Method, the frame's index in the block, and memory.
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
  float exponent;           // base 2: exp2((p - n_t / 2 - n_s / 2) exponent)
  unsigned long long used;  // one bit per antenna
  const float* weight;      // [age]
  const float* share;       // [pilots in the window - 1]
  int most;                 // most frames in a block
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
  double* power;      // [t]: |r|^2; -1 for a pilot left out
  float2* b;          // [user][t]
  float2* side;       // `start` or `h` of this frame; antennas not in use are 0
  float* height;      // [t]: w_G, or 0 if the pilot may not have a kernel
  float* inverse;     // [t]: 1 / (w_L |x|^2 + height), or 0
  double2* products;  // [slice][antenna][antenna, then user]: parts of sum x x^H and sum x b^*
  float4* gram;       // [place][t]: what a factor of the place adds to the estimate of pilot t, see gram.cuh
  float2* base;       // [user][t]: the estimates before training
  float2* entering;   // [user][t]: the estimates before the stretch, without factors that change in it
  float2* handed_on;  // [user][kMostWindow]: of the window before the stretch
  float2* factor;     // [user][t]: each pilot's factor from training, with or without a kernel
  float2* errors;     // [user][t]: squared, without the pilot's own kernel and with it
  double* found;      // [user][2]: their means
  double* norms;      // [tile][user]: parts of gamma' K gamma
  int tiles;          // of `norms`; 0: no kernels, or nothing reads the norms

  __host__ __device__ int columns() const { return antennas + users; }
  __device__ bool idle() const { return frame >= state->frames; }
  __device__ bool uses(int antenna) const { return used >> antenna & 1; }
};

using gpu::kWarp;
using gpu::sum_of_warp;
inline constexpr int kStretch = 192;  // pilots per launch

/// Factors before this pilot no longer change when a stretch begins.
__device__ inline int settled(const Task& task) {
  return max(0, task.stretch - (task.window - 1));
}

/// For all threads; `memory`: one value per warp. The threads have to synchronise before it is used again.
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
