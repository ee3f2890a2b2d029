// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "pipeline/stages/items.cuh"
#include "pipeline/stages/transmit/aph_estimator/normal_equations.hpp"
#include "pipeline/stages/transmit/aph_estimator/residual.hpp"
#include "pipeline/stages/transmit/aph_estimator/setup.hpp"
#include "pipeline/stages/transmit/channel_meter.hpp"
#include "signal/filters/scratch.hpp"

/// A training is a chain of kernels. Those with many thread blocks sum over the samples and store a sum for each thread
/// block; a single thread block then combines these in order and writes the conclusions into the record. Once the
/// record says stop, the remaining kernels return at once: nothing is decided on the host, so the chain is a graph.
namespace iqd::aph_estimator {

inline constexpr int kThreads = 256;
inline constexpr int kGroups = kThreads;  // so that each thread of one thread block takes the sum of one

/// Two fits: at the measured delay, and, if that is nearly whole, at the whole delay.
inline constexpr int kFits = 2;
struct Trying {
  bool goes_on = false;
  double delay = 0;
  Range range;
  double power = 1;  // of u
  Complex64 factor;  // 1 / gain
  Complex64 z_sum;   // of the rows that count
  Fit fit;
};

/// Results so far.
struct Record {
  Report report;
  Seen seen;
  std::int64_t whole = 0;  // the delay to a whole sample
  double at[3] = {};       // the delay of the first half, the second, and both
  Complex64 r[2];          // of the halves at the delay of both
  Alignment found;
  Trying tries[kFits];
  int best = 0;
};

/// Numbers of a metered signal's levels.
inline constexpr int kLevels = static_cast<int>(acpr_meter::kLevels.size());

/// Memory between the kernels.
struct Room {
  AphOrders orders;
  Functions functions;
  std::int64_t samples;  // of a training, at most
  std::int64_t size;     // of the transforms
  std::size_t work_bytes;
  std::size_t meter_bytes;  // 0: nothing is metered
  Scratch scratch;
  int edge_count = functions.count * orders.taps;
  int count = orders.coefficients();
  std::int64_t sum_count = (functions.count + 2) * edge_count;
  std::byte* work = scratch.take_bytes(work_bytes);  // of transforms; ends at a multiple of 256 for the meter
  std::byte* meter = scratch.take_bytes(meter_bytes);
  Record* record = scratch.take<Record>(1);
  /// [thread block] of the sums, or [fit][thread block]
  double* partials = scratch.take<double>(kFits * kGroups * std::max<std::int64_t>(4 * sum_count, 16));
  cf32* spectra = scratch.take<cf32>(4 * size);             // [first half, second half, both, correlation][size]
  Complex64* u = scratch.take<Complex64>(kFits * samples);  // [fit][n]
  Sums* sums = scratch.take<Sums>(kFits * sum_count);       // [fit][Assembly's]
  Complex64* edges = scratch.take<Complex64>(kFits * 2 * edge_count);    // [fit][head, tail][function][tap]
  Complex64* matrices = scratch.take<Complex64>(kFits * count * count);  // [fit][coefficient][coefficient]
  Complex64* h = scratch.take<Complex64>(kFits * count);                 // [fit][coefficient]
  double* diagonals = scratch.take<double>(kFits * 2 * count);           // [fit][scale, factor's][coefficient]
  cf32* trained = scratch.take<cf32>(kFits * count);                     // [fit][coefficient]
  cf32* errors = scratch.take<cf32>(meter_bytes > 0 ? samples : 0);      // [n]
  float* levels = scratch.take<float>(3 * kLevels);                      // [received, sent, wrong][level]
};

/// The arguments of all kernels.
struct Job : Room {
  const cf32* z;
  const cf32* s;
  std::int64_t n;
  std::int64_t search;
  double gain;
  double above;
  bool told;
  bool is_metered;  // there is a whole frame
  const cf32* applied;

  dsp::Items<cf32> coefficients;
  dsp::Items<float> values;
  dsp::Items<std::int64_t> events;

  template <class T> IQD_HOST_DEVICE T* partials_of(int row) const {
    return reinterpret_cast<T*>(partials) + static_cast<std::int64_t>(row) * kGroups;
  }
  IQD_HOST_DEVICE Assembly assembly(int fit) const {
    return {.orders = orders,
            .functions = functions.count,
            .sums = sums + fit * sum_count,
            .head = edges + fit * 2 * edge_count,
            .tail = edges + fit * 2 * edge_count + edge_count,
            .matrix = matrices + fit * count * count,
            .right = h + fit * count};
  }
};

namespace {

/// Calls f(i) for i = 0 … n-1, distributed over the threads of all thread blocks.
template <class F> __device__ void for_each(std::int64_t n, F f) {
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += kGroups * kThreads)
    f(i);
}

/// The sum over all threads of a thread block, returned to all.
template <class T> __device__ T sum_group(const T& mine) {
  __shared__ __align__(16) unsigned char memory[kThreads * sizeof(T)];
  T* const all = reinterpret_cast<T*>(memory);
  const auto thread = static_cast<int>(threadIdx.x);
  __syncthreads();  // earlier contents have been read
  all[thread] = mine;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) all[thread] += all[thread + half];
  }
  __syncthreads();
  return all[0];
}
/// Stores a thread block's sum in a row of partial sums.
template <class T> __device__ void leave(const Job& job, int row, const T& mine) {
  const T sum = sum_group(mine);
  if (threadIdx.x == 0) job.partials_of<T>(row)[blockIdx.x] = sum;
}
/// Combines the sums of all thread blocks.
template <class T> __device__ T gather(const Job& job, int row) {
  return sum_group(job.partials_of<T>(row)[threadIdx.x]);
}

}  // namespace
}  // namespace iqd::aph_estimator
