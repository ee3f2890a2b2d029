// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// What detectors do on a GPU before and after their search, one thread per vector, in the CPU's order of operations
// (front_end_inl.hpp). Only what is written as fmaf is fused.
//
//   Tally* const tally = begin_vectors(shape, job, io.device_scratch, stream);  // before the kernel; kTallyBytes
//
//   const Tile tile = find_tile(shape, job, *tally, blockIdx.x);    // y and h of a group's vectors
//   const Triangle<kTx> r = triangulate_vector<kTx>(tile, shape);   // scaled; sorted QR
//   … the search …
//   Results results(shape, job, tile, r.erased, memory);
//   results.put_antenna(antenna, llr); results.put_distance(d);     // for each antenna
//   results.flush();                                                // by all threads
//   count_erased(job, tally, r.erased && tile.has_vector());        // once, by all threads of all groups
#pragma once

#include <cuda_fp16.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "pipeline/stages/mimo/triangle.cuh"

namespace iqd::mimo {

/// Vectors of a tile, one per thread of a thread block, unless a kernel chooses another number.
inline constexpr int kTileVectors = 128;

/// Tiles for all vectors of a block; at least one, so that some thread block writes the counts.
inline unsigned groups_for(const DetectorShape& shape, int threads = kTileVectors) noexcept {
  return static_cast<unsigned>(std::max<std::int64_t>((shape.most + threads - 1) / threads, 1));
}

/// i / n of numbers i < 1024 n, for n < 64.
struct Divisor {
  int n;
  unsigned factor;
  IQD_HOST_DEVICE explicit Divisor(int divisor) : n(divisor), factor((1u << 22) / static_cast<unsigned>(divisor) + 1) {}
  IQD_HOST_DEVICE int quotient(int i) const { return static_cast<int>(static_cast<unsigned>(i) * factor >> 22); }
};

/// What all thread blocks of a kernel share, and the counts that they accumulate.
struct Tally {
  Batch batch;
  Divisor pairs;  // LLRs of a vector
  unsigned erased;
  unsigned finished;
};
inline constexpr std::size_t kTallyBytes = 256;
static_assert(sizeof(Tally) <= kTallyBytes);

/// The counts of inputs and outputs are in host memory, so they are read and written only once.
static __global__ void begin_tally(const DetectorShape shape, const DetectorJob job, Tally* tally) {
  const Batch batch = batch_of(shape, job);
  *tally = {batch, Divisor(shape.llrs() / 2), 0, 0};
  for (const int o : {kLlr, kBits, kDistance})
    *job.counts[o] = static_cast<std::int32_t>(batch.vectors / shape.vectors);
  *job.counts[kEvents] = 1;
  job.events[kVectors] = batch.vectors;
}
inline Tally* begin_vectors(const DetectorShape& shape, const DetectorJob& job, std::byte* scratch,
                            cudaStream_t stream) noexcept {
  auto* const tally = reinterpret_cast<Tally*>(scratch);
  begin_tally<<<1, 1, 0, stream>>>(shape, job, tally);
  return tally;
}

/// Adds up erased vectors; the last thread block writes the total. All threads of all thread blocks call it once.
__device__ inline void count_erased(const DetectorJob& job, Tally* tally, unsigned erased) {
  if (erased > 0) atomicAdd(&tally->erased, erased);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&tally->finished, 1u) == gridDim.x - 1)
    job.events[kErased] = atomicAdd(&tally->erased, 0u);
}

/// Bytes of shared memory for Results.
IQD_HOST_DEVICE inline std::size_t output_bytes(const DetectorShape& shape, int threads = kTileVectors) noexcept {
  return static_cast<std::size_t>((shape.llrs() / 2 | 1) * threads) * sizeof(float2);
}

/// The vectors of a thread block, one per thread, and where they and their channels are.
struct Tile {
  std::int64_t first;  // vector
  int count;           // at most the number of threads
  int channel;         // of this thread's vector, in the tile
  float noise;
  const float2* h;  // [channel][rx][tx]
  const float2* y;  // [vector][rx]
  Divisor pairs;    // LLRs of a vector

  __device__ bool has_vector() const { return static_cast<int>(threadIdx.x) < count; }
  __device__ std::int64_t vector() const { return first + threadIdx.x; }
};

/// Index of the channel or noise value of vector v, where each serves `each` vectors. Vectors are fewer than 2^31.
__device__ inline int server_of(std::int64_t v, std::int64_t each) {
  if (each == 1) return static_cast<int>(v);
  return static_cast<int>(static_cast<unsigned>(v) / static_cast<unsigned>(each));
}

/// Tile `number`; empty if there is no such tile.
__device__ inline Tile find_tile(const DetectorShape& shape, const DetectorJob& job, const Tally& tally,
                                 unsigned number) {
  const Batch batch = tally.batch;
  const int rx = shape.rx, columns = shape.rx * shape.tx;
  const auto threads = static_cast<int>(blockDim.x);
  Tile tile{.first = std::int64_t{number} * threads,
            .count = 0,
            .channel = 0,
            .noise = 0,
            .h = nullptr,
            .y = nullptr,
            .pairs = tally.pairs};
  if (tile.first >= batch.vectors) return tile;
  tile.count = static_cast<int>(min(std::int64_t{threads}, batch.vectors - tile.first));
  const int first = server_of(tile.first, batch.of_channel);
  tile.h = reinterpret_cast<const float2*>(job.h) + static_cast<std::int64_t>(first) * columns;
  tile.y = reinterpret_cast<const float2*>(job.y) + tile.first * rx;
  if (tile.has_vector()) {
    tile.channel = server_of(tile.vector(), batch.of_channel) - first;
    tile.noise = job.noise[batch.of_noise >= batch.vectors ? 0 : server_of(tile.vector(), batch.of_noise)];
  }
  return tile;
}
/// h, y and noise of this thread's vector; zeros if it has none, and for antennas that do not exist. `kSquare`: kTx
/// antennas on both sides.
template <int kTx, int kRx, bool kSquare>
__device__ Received<kTx, kRx> received(const Tile& tile, const DetectorShape& shape) {
  const int rx = kSquare ? kTx : shape.rx, tx = kSquare ? kTx : shape.tx;
  Received<kTx, kRx> r{};
  r.noise = tile.noise;
  if (!tile.has_vector()) return r;
  const float2* const h = tile.h + tile.channel * rx * tx;
  const float2* const y = tile.y + static_cast<int>(threadIdx.x) * rx;
  if constexpr (kSquare && kTx % 2 == 0) {
    const auto *const pairs_of_h = reinterpret_cast<const float4*>(h), *const pairs_of_y =
                                                                           reinterpret_cast<const float4*>(y);
#pragma unroll
    for (int i = 0; i < kTx * kTx; i += 2) {
      const float4 two = pairs_of_h[i / 2];
      r.h[i % kTx][i / kTx] = float2{two.x, two.y};
      r.h[(i + 1) % kTx][i / kTx] = float2{two.z, two.w};
    }
#pragma unroll
    for (int n = 0; n < kTx; n += 2) {
      const float4 two = pairs_of_y[n / 2];
      r.y[n] = float2{two.x, two.y};
      r.y[n + 1] = float2{two.z, two.w};
    }
  } else {
#pragma unroll
    for (int n = 0; n < kRx; ++n) {
      if (n >= rx) break;
      r.y[n] = y[n];
#pragma unroll
      for (int l = 0; l < kTx; ++l)
        if (l < tx) r.h[l][n] = h[n * tx + l];
    }
  }
  return r;
}

/// The alphabets of this thread's vector.
__device__ inline Alphabets alphabets_of(const DetectorShape& shape, const DetectorJob& job, const Tile& tile) {
  if (!shape.by_port || !tile.has_vector()) return shape.sent;
  return alphabets_of(shape, job, tile.vector() / shape.vectors);
}
/// Brings the columns of smaller alphabets to the largest one's scale.
template <int kTx, int kRx> IQD_HOST_DEVICE void scale_columns(const Alphabets& alphabets, Received<kTx, kRx>& r) {
#pragma unroll
  for (int l = 0; l < kTx; ++l) {
    const float gain = alphabets.of(l).gain();
#pragma unroll
    for (int n = 0; n < kRx; ++n) r.h[l][n] = {r.h[l][n].x * gain, r.h[l][n].y * gain};
    r.power[l] = energy(r.h[l]);
  }
}

/// Scaled and decomposed; kTx is at least the number of transmit antennas. Two sizes of the code: as many antennas on
/// both sides, or up to 8 receive antennas. `mixed`: there are smaller alphabets, these.
template <int kTx> __device__ Triangle<kTx> triangulate_vector(const Tile& tile, const DetectorShape& shape,
                                                               bool mixed = false, const Alphabets& alphabets = {}) {
  if (shape.rx == kTx && shape.tx == kTx) {
    auto r = scaled(received<kTx, kTx, true>(tile, shape));
    if (mixed) {  // where an antenna is silent, a part of y is outside of Q
      scale_columns(alphabets, r);
      return triangulate<false>(r, shape.bits);
    }
    return triangulate<true>(r, shape.bits);
  }
  auto r = scaled(received<kTx, kMostAntennas, false>(tile, shape));
  if (mixed) scale_columns(alphabets, r);
  return triangulate<false>(r, shape.bits);
}

/// The prior of a bit of this thread's vector; 0 for antennas that do not exist, and without a vector.
__device__ inline float prior_of(const DetectorShape& shape, const DetectorJob& job, const Tile& tile, int antenna,
                                 int bit) {
  if (antenna >= shape.tx || !tile.has_vector()) return 0;
  return usable_prior(job.prior[(tile.vector() * shape.tx + antenna) * shape.bits + bit]);
}

/// The same for a bit of the largest alphabet; 0 for bits that are known.
__device__ inline float mixed_prior_of(const DetectorShape& shape, const DetectorJob& job, const Tile& tile,
                                       const Alphabets& alphabets, int antenna, int bit) {
  const Alphabet alphabet = alphabets.of(antenna);
  const int own = alphabet.own(bit / 2);
  if (!shape.prior || own < 0) return 0;
  const float prior = prior_of(shape, job, tile, antenna, 2 * own + bit % 2);
  return alphabet.is_turned(own) ? -prior : prior;
}

/// Collects the LLRs of a thread block's vectors in shared memory, and writes them in order, in their element type.
class Results {
 public:
  /// `memory`: output_bytes. `erased`: this thread's vector is erased, whatever is put.
  __device__ Results(const DetectorShape& shape, const DetectorJob& job, const Tile& tile, bool erased,
                     std::byte* memory)
      : shape_(shape),
        job_(job),
        tile_(tile),
        erased_(erased),
        pairs_(tile.pairs),
        llr_(reinterpret_cast<float2*>(memory)) {}

  /// The LLRs of a transmit antenna; only the first `bits` count.
  template <int kBits> __device__ void put_antenna(int antenna, const float (&llr)[kBits], int bits = kBits) {
    float2* const to = llr_ + static_cast<int>(threadIdx.x) * (pairs_.n | 1) + antenna * (bits / 2);
#pragma unroll
    for (int b = 0; b < kBits; b += 2)
      if (b < bits) to[b / 2] = float2{llr[b], llr[b + 1]};
  }
  /// The same from the LLRs of the largest alphabet's bits, for an antenna with a smaller one.
  template <int kBits> __device__ void put_mixed_antenna(const Alphabet& alphabet, int antenna,
                                                         const float (&llr)[kBits], int bits = kBits) {
    float2* const to = llr_ + static_cast<int>(threadIdx.x) * (pairs_.n | 1) + antenna * (bits / 2);
#pragma unroll
    for (int j = 0; j < kBits / 2; ++j) {
      const int own = alphabet.own(j);
      const float sign = alphabet.is_turned(own) ? -1.0f : 1.0f;
      if (j < bits / 2 && own >= 0) to[own] = float2{sign * llr[2 * j], sign * llr[2 * j + 1]};
      if (j < bits / 2 && j >= alphabet.bits / 2) to[j] = nothing();
    }
  }
  /// Of this thread's vector, without scaling.
  __device__ void put_distance(float distance) {
    if (job_.distance && tile_.has_vector()) job_.distance[tile_.vector()] = erased_ ? NAN : distance;
  }

  /// All threads call it after their last put.
  __device__ void flush() {
    for (int i = 0; erased_ && i < pairs_.n; ++i) llr_[static_cast<int>(threadIdx.x) * (pairs_.n | 1) + i] = nothing();
    __syncthreads();
    if (shape_.form == LlrForm::f32)
      write(static_cast<float2*>(job_.llr), [](float x) { return fminf(fmaxf(x, -FLT_MAX), FLT_MAX); });
    if (shape_.form == LlrForm::f16)
      write(static_cast<__half2*>(job_.llr),
            [](float x) { return __float2half_rn(fminf(fmaxf(x, -65504.0f), 65504.0f)); });
    if (shape_.form == LlrForm::i8)
      write(static_cast<char2*>(job_.llr), [units = 1 / shape_.llr_scale](float x) {
        return static_cast<signed char>(static_cast<int>(rintf(fminf(fmaxf(x * units, -127.0f), 127.0f))));
      });
  }

 private:
  /// Of erased vectors and bits that are not sent; they have no prior either.
  __device__ float2 nothing() const {
    const float none = shape_.prior ? NAN : 0;
    return {none, none};
  }
  /// Outputs begin at multiples of 128 bytes.
  template <class Pair, class AsElement> __device__ void write(Pair* llrs, const AsElement& as_element) const {
    const std::int64_t first = tile_.first * pairs_.n;
    auto* const bits = reinterpret_cast<uchar2*>(job_.hard);
    const auto* const priors = shape_.prior ? reinterpret_cast<const float2*>(job_.prior) + first : nullptr;
    for (int i = static_cast<int>(threadIdx.x); i < tile_.count * pairs_.n; i += static_cast<int>(blockDim.x)) {
      const int row = pairs_.quotient(i);
      float2 llr = llr_[row * (pairs_.n | 1) + i - row * pairs_.n];
      float2 whole = llr;
      if (priors) {
        if (isnan(llr.x))
          llr = whole = {0, 0};
        else
          whole = {llr.x + usable_prior(priors[i].x), llr.y + usable_prior(priors[i].y)};
        if (!shape_.extrinsic) llr = whole;
      }
      if (llrs) llrs[first + i] = Pair{as_element(llr.x), as_element(llr.y)};
      if (bits) bits[first + i] = uchar2{whole.x < 0, whole.y < 0};
    }
  }

  const DetectorShape& shape_;
  const DetectorJob& job_;
  const Tile& tile_;
  bool erased_;
  Divisor pairs_;
  float2* llr_;
};

}  // namespace iqd::mimo
