// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "gpu/warp_sum.cuh"
#include "pipeline/stages/noma/multiuser/multiuser.hpp"
#include "signal/filters/scratch.hpp"

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
  std::int64_t users;
  std::int64_t antennas;
  std::int64_t places;
  Scratch carry;
  bool* present = carry.take<bool>(1);
  float2* x = carry.take<float2>(places * antennas);   // [place][antenna]
  float2* gamma = carry.take<float2>(users * places);  // [user][place]
  float2* c = carry.take<float2>(users * antennas);    // [user][antenna]
};

/// Numbers of the Method.
struct Numbers {
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
  int used_count;
  float epsilon;
  float linear;
  float gaussian;
  float exponent;           // base 2: exp2((p - n_t / 2 - n_s / 2) exponent)
  unsigned long long used;  // one bit per antenna
  const float* weight;      // [age]
  const float* share;       // [pilots in the window - 1]
  int tiles;                // of `norms`; 0: no kernels, or nothing reads the norms

  __host__ __device__ int columns() const { return antennas + users; }
};

/// All parameters of a training kernel: numbers of the Method, memory, and the frame's index in the block.
struct Task : Numbers {
  Scratch scratch;
  State* state = scratch.take<State>(1);
  float2* x = scratch.take<float2>(std::int64_t{places} * antennas);   // [place][antenna], the Model's
  float* norm = scratch.take<float>(places);                           // [place]
  float2* gamma = scratch.take<float2>(std::int64_t{users} * places);  // [user][place]
  float* unit = scratch.take<float>(users);                        // [user]: a power of two above the parts of gamma
  float2* c = scratch.take<float2>(users * antennas);              // [user][antenna]
  float* noise = scratch.take<float>(users);                       // [user]
  float* scale = scratch.take<float>(1);                           // [1]
  double* power = scratch.take<double>(pilots);                    // [t]: |r|^2; -1 for a pilot left out
  float2* b = scratch.take<float2>(std::int64_t{users} * pilots);  // [user][t]
  float2* side = scratch.take<float2>(users * antennas);  // `start` or `h` of this frame; antennas not in use are 0
  float* height = scratch.take<float>(pilots);            // [t]: w_G, or 0 if the pilot may not have a kernel
  float* inverse = scratch.take<float>(pilots);           // [t]: 1 / (w_L |x|^2 + height), or 0
  /// [slice][antenna][antenna, then user]: parts of sum x x^H and sum x b^*
  double2* products = scratch.take<double2>(start == Start::lls ? std::int64_t{slices} * antennas * columns() : 0);
  /// [place][t]: what a factor of the place adds to the estimate of pilot t, see gram.cuh
  float4* gram = scratch.take<float4>(passes > 0 ? std::int64_t{places} * pilots : 0);
  float2* base = scratch.take<float2>(std::int64_t{users} * pilots);  // [user][t]: the estimates before training
  /// [user][t]: the estimates before the stretch, without factors that change in it
  float2* entering = scratch.take<float2>(std::int64_t{users} * pilots);
  /// [user][kMostWindow]: of the window before the stretch
  float2* handed_on = scratch.take<float2>(users * kMostWindow);
  /// [user][t]: each pilot's factor from training, with or without a kernel
  float2* factor = scratch.take<float2>(std::int64_t{users} * pilots);
  /// [user][t]: squared, without the pilot's own kernel and with it
  float2* errors = scratch.take<float2>(std::int64_t{users} * pilots);
  double* found = scratch.take<double>(users * 2);                    // [user][2]: their means
  double* norms = scratch.take<double>(std::int64_t{users} * tiles);  // [tile][user]: parts of gamma' K gamma

  Kept kept{0, 0, 0, Scratch(nullptr)};
  Job job{};
  int most = 0;  // most frames in a block
  int frame = 0;
  int pass = 0;
  int stretch = 0;  // its first pilot
  bool fresh = false;

  __device__ bool idle() const { return frame >= state->frames; }
  __device__ bool uses(int antenna) const { return used >> antenna & 1; }
};

using gpu::kWarp;
using gpu::sum_of_group;
using gpu::sum_of_warp;
inline constexpr int kStretch = 192;  // pilots per launch

/// Factors before this pilot no longer change when a stretch begins.
__device__ inline int settled(const Task& task) {
  return max(0, task.stretch - (task.window - 1));
}

__device__ inline bool finite(float2 v) {
  return isfinite(v.x) && isfinite(v.y);
}

}  // namespace iqd::noma::training
