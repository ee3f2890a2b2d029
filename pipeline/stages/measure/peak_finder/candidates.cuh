// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/runtime.hpp"

/// Finds the largest candidates of a row with one thread block: their sources, and the list that keeps them.
namespace iqd::peak_finder {
namespace {

constexpr int kThreads = 512;
constexpr int kEach = 4;
constexpr int kTile = kThreads * kEach;  // samples that a thread block processes at once
constexpr int kWarps = kThreads / 32;
constexpr unsigned kAll = 0xffffffff;

struct Candidate {
  float value;
  std::uint32_t place;  // counted from the first new position
};

/// Larger values have larger keys; of equal values the earlier has the larger key.
__device__ std::uint64_t key_of(const Candidate& c) {
  const std::uint32_t bits = c.value == 0 ? 0 : __float_as_uint(c.value);
  const std::uint32_t ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return static_cast<std::uint64_t>(ordered) << 32 | ~c.place;
}

/// The samples of a row as source of candidates.
struct Samples {
  const float* x;
  std::int64_t length;
  bool before;
  bool behind;
  float threshold;

  /// Candidates first + j kThreads + thread; bit j of the result says whether there is one. All threads must call it.
  __device__ unsigned tile(std::int64_t first, Candidate (&c)[kEach]) const {
    __shared__ float held[kTile + 2];
    const int t = static_cast<int>(threadIdx.x);
    const auto sample = [this](std::int64_t i) {
      return i >= -std::int64_t{before} && i < length + behind ? x[i] : -INFINITY;
    };
#pragma unroll
    for (int j = 0; j < kEach; ++j) c[j].value = sample(first + j * kThreads + t);
#pragma unroll
    for (int j = 0; j < kEach; ++j) held[1 + j * kThreads + t] = c[j].value;
    if (t == 0) held[0] = sample(first - 1);
    if (t == kThreads - 1) held[kTile + 1] = sample(first + kTile);
    __syncthreads();
    unsigned found = 0;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int at = j * kThreads + t;
      c[j].place = static_cast<std::uint32_t>(first + at);
      const bool peak = c[j].value > threshold && c[j].value > held[at] && c[j].value >= held[at + 2];
      if (peak && first + at < length) found |= 1u << j;
    }
    return found;
  }
};

/// The candidates that the previous kernel's thread blocks kept, as source.
struct Slots {
  const Candidate* kept;  // [part][max]
  const int* count;
  unsigned max;
  std::int64_t length;

  __device__ unsigned tile(std::int64_t first, Candidate (&c)[kEach]) const {
    unsigned found = 0;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const std::int64_t at = first + j * kThreads + threadIdx.x;
      const auto slot = static_cast<unsigned>(at);
      if (at >= length || static_cast<int>(slot % max) >= count[slot / max]) continue;
      c[j] = kept[at];
      found |= 1u << j;
    }
    return found;
  }
};

/// Candidates in the order of their places, in memory of one thread block. All threads must call every function, and
/// all have the same `count` and `least`.
struct List {
  Candidate* memory;
  int max;
  int capacity;  // 2 max + kTile
  int count = 0;
  std::uint64_t least = 0;  // candidates with a smaller key are not among the largest

  /// Appends those of c whose bits are set, in the order of `tile`. There must be room for all.
  __device__ void append(const Candidate (&c)[kEach], unsigned found) {
    __shared__ int before[kEach * kWarps];
    __shared__ int total;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    unsigned ballots[kEach];
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      ballots[j] = __ballot_sync(kAll, found >> j & 1);
      if (lane == 0) before[j * kWarps + warp] = __popc(ballots[j]);
    }
    __syncthreads();
    if (warp == 0) {
      static_assert(kEach * kWarps == 64);
      const int first = before[2 * lane];
      const int both = first + before[2 * lane + 1];
      int sum = both;
      for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(kAll, sum, static_cast<unsigned>(step));
        if (lane >= step) sum += other;
      }
      before[2 * lane] = sum - both;
      before[2 * lane + 1] = sum - both + first;
      if (lane == 31) total = sum;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      if (found >> j & 1) memory[count + before[j * kWarps + warp] + __popc(ballots[j] & ((1u << lane) - 1))] = c[j];
    count += total;
    __syncthreads();
  }

  /// The largest key that at least `max` candidates reach; the list must hold more than `max`. Finds eight bits at a
  /// time from the highest on, until all candidates that match them are wanted.
  __device__ std::uint64_t limit() const {
    __shared__ int counts[256];
    __shared__ int chosen, above;
    std::uint64_t limit = 0;
    int wanted = max;
    for (int shift = 56;; shift -= 8) {
      for (int d = static_cast<int>(threadIdx.x); d < 256; d += kThreads) counts[d] = 0;
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
        const std::uint64_t key = key_of(memory[i]);
        if (shift == 56 || (key ^ limit) >> (shift + 8) == 0) atomicAdd(&counts[key >> shift & 255], 1);
      }
      __syncthreads();
      if (threadIdx.x < 32) choose(counts, wanted, chosen, above);
      __syncthreads();
      limit |= static_cast<std::uint64_t>(chosen) << shift;
      wanted -= above;
      const bool all = wanted == counts[chosen];
      __syncthreads();
      if (all || shift == 0) return limit;
    }
  }

  /// By one warp: the largest digit that at least `wanted` candidates reach, and how many are above it.
  static __device__ void choose(const int (&counts)[256], int wanted, int& chosen, int& above) {
    const int lane = static_cast<int>(threadIdx.x);
    int own = 0;
    for (int d = 0; d < 8; ++d) own += counts[255 - 8 * lane - d];
    int sum = own;
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(kAll, sum, static_cast<unsigned>(step));
      if (lane >= step) sum += other;
    }
    int reached = sum - own;
    if (reached >= wanted || sum < wanted) return;
    int digit = 255 - 8 * lane;
    while (reached + counts[digit] < wanted) reached += counts[digit--];
    chosen = digit;
    above = reached;
  }

  /// Keeps only the largest `max`.
  __device__ void prune() {
    const int all = count;
    least = limit();
    count = 0;
    for (int first = 0; first < all; first += kTile) {
      Candidate c[kEach];
      unsigned found = 0;
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const int at = first + j * kThreads + static_cast<int>(threadIdx.x);
        if (at >= all) continue;
        c[j] = memory[at];
        if (key_of(c[j]) >= least) found |= 1u << j;
      }
      append(c, found);  // writes only below first + kTile, after all threads have read
    }
  }

  template <class Source> __device__ void fill(const Source& source, std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += kTile) {
      Candidate c[kEach];
      unsigned found = source.tile(first, c);
#pragma unroll
      for (int j = 0; j < kEach; ++j)
        if (found >> j & 1 && key_of(c[j]) < least) found &= ~(1u << j);
      if (!__syncthreads_or(static_cast<int>(found))) continue;
      append(c, found);
      if (count > capacity - kTile) prune();
    }
    if (count > max) prune();
  }
};

}  // namespace
}  // namespace iqd::peak_finder
