// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// What detectors do on a device before and after their search, a thread a vector, in the processor's order of
// operations (front_end_inl.hpp). Sums are fused where it says fmaf, and nowhere else.
//
//   Tally* const tally = begin_vectors(shape, job, io.device_scratch, stream);  // before the kernel; kTallyBytes
//
//   const Tile tile = load_tile(shape, job, *tally, memory);        // y and h of a group's vectors, in shared memory
//   const Triangle<kTx> r = triangulate_vector<kTx>(tile, shape);   // scaled; sorted QR
//   … the search …
//   __syncthreads();                                                // the same memory takes the results
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

/// Vectors of a tile, one for each thread of a group, where a kernel does not choose another number.
inline constexpr int kTileVectors = 128;

/// How many tiles there are of all vectors of a block; one also where there are none, so that there is a group to write
/// the counts.
inline unsigned groups_for(const DetectorShape& shape, int threads = kTileVectors) noexcept {
  return static_cast<unsigned>(std::max<std::int64_t>((shape.most + threads - 1) / threads, 1));
}

/// Rows in shared memory are as far apart that neighbours' begin in different banks; those of an even number of
/// elements at multiples of 16 bytes.
IQD_HOST_DEVICE constexpr int pitch_of(int row) noexcept {
  return row % 2 == 0 ? 2 * (row / 2 | 1) : row;
}
/// i / n of numbers i < 1024 n, for n < 64.
struct Divisor {
  int n;
  unsigned factor;
  IQD_HOST_DEVICE explicit Divisor(int divisor) : n(divisor), factor((1u << 22) / static_cast<unsigned>(divisor) + 1) {}
  IQD_HOST_DEVICE int quotient(int i) const { return static_cast<int>(static_cast<unsigned>(i) * factor >> 22); }
};

/// How rows of so many elements are taken apart.
struct StagedRow {
  Divisor pairs, singles;
  IQD_HOST_DEVICE explicit StagedRow(int row) : pairs(row > 1 ? row / 2 : 1), singles(row) {}
};

/// What all groups of a kernel know, and count together.
struct Tally {
  Batch batch;
  StagedRow h, y;  // of a channel and of a vector
  Divisor pairs;   // of LLRs of a vector
  unsigned erased;
  unsigned finished;
};
inline constexpr std::size_t kTallyBytes = 256;
static_assert(sizeof(Tally) <= kTallyBytes);

/// The counts of the inputs lie in the host's memory, and so do those of the outputs: they are read and written once.
static __global__ void begin_tally(const DetectorShape shape, const DetectorJob job, Tally* tally) {
  const Batch batch = batch_of(shape, *job.items_of_y, *job.items_of_h, *job.items_of_noise);
  *tally = {batch, StagedRow(shape.rx * shape.tx), StagedRow(shape.rx), Divisor(shape.llrs() / 2), 0, 0};
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

/// Counts what was erased; the last group of all tells it. All threads of all groups call it once.
__device__ inline void count_erased(const DetectorJob& job, Tally* tally, unsigned erased) {
  if (erased > 0) atomicAdd(&tally->erased, erased);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&tally->finished, 1u) == gridDim.x - 1)
    job.events[kErased] = atomicAdd(&tally->erased, 0u);
}

/// Bytes of shared memory: for a tile, for its results, and for both in the same place.
IQD_HOST_DEVICE inline std::size_t input_bytes(const DetectorShape& shape, int threads) noexcept {
  return static_cast<std::size_t>((pitch_of(shape.rx * shape.tx) + pitch_of(shape.rx)) * threads) * sizeof(float2);
}
IQD_HOST_DEVICE inline std::size_t output_bytes(const DetectorShape& shape, int threads) noexcept {
  return static_cast<std::size_t>((shape.llrs() / 2 | 1) * threads) * sizeof(float2);
}
IQD_HOST_DEVICE inline std::size_t tile_bytes(const DetectorShape& shape) noexcept {
  const std::size_t in = input_bytes(shape, kTileVectors), out = output_bytes(shape, kTileVectors);
  return in > out ? in : out;
}

/// The vectors of a group, and where they and their channels are in shared memory.
struct Tile {
  std::int64_t first;  // vector
  int count;           // as many as threads, or fewer
  int channel;         // of this thread's vector, in the tile
  float noise;
  const float2* h;  // [channel][rx · tx], at a pitch
  const float2* y;  // [vector][rx], at a pitch
  int pitch_of_h, pitch_of_y;
  Divisor pairs;  // of LLRs of a vector

  __device__ bool has_vector() const { return static_cast<int>(threadIdx.x) < count; }
  __device__ std::int64_t vector() const { return first + threadIdx.x; }
};

/// Copies rows of so many elements, at most one for each thread, to rows at a pitch.
template <class T> __device__ void stage_rows(const T* from, int count, Divisor steps, int pitch, T* to) {
  const auto thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int rows = steps.quotient(threads);
  if (rows * steps.n == threads) {  // each time so many rows farther, in the same column
    const int first = steps.quotient(thread);
    from += thread;
    to += first * pitch + thread - first * steps.n;
    for (int r = first; r < count; r += rows, from += threads, to += rows * pitch) {
      const T element = *from;
      *to = element;
    }
  } else {
    for (int i = thread; i < count * steps.n; i += threads) {
      const int r = steps.quotient(i);
      const T element = from[i];
      to[r * pitch + i - r * steps.n] = element;
    }
  }
}
__device__ inline void stage_rows(const float2* from, int count, int row, const StagedRow& steps, float2* to) {
  if (row % 2 == 0 && reinterpret_cast<std::uintptr_t>(from) % sizeof(float4) == 0)
    stage_rows(reinterpret_cast<const float4*>(from), count, steps.pairs, pitch_of(row) / 2,
               reinterpret_cast<float4*>(to));
  else
    stage_rows(from, count, steps.singles, pitch_of(row), to);
}

/// Which of several that serve `each` vectors serves vector v. Vectors are fewer than 2^31.
__device__ inline int server_of(std::int64_t v, std::int64_t each) {
  if (each == 1) return static_cast<int>(v);
  return static_cast<int>(static_cast<unsigned>(v) / static_cast<unsigned>(each));
}

/// A tile where it lies, to be read by each thread for itself. Without vectors where there are no more.
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
            .pitch_of_h = columns,
            .pitch_of_y = rx,
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
/// The tile of a group that has one, copied to shared memory.
__device__ inline Tile load_tile(const DetectorShape& shape, const DetectorJob& job, const Tally& tally,
                                 std::byte* memory) {
  Tile tile = find_tile(shape, job, tally, blockIdx.x);
  const int columns = shape.rx * shape.tx;
  auto* const h = reinterpret_cast<float2*>(memory);
  float2* const y = h + static_cast<int>(blockDim.x) * pitch_of(columns);
  if (tile.count > 0) {
    const int channels = server_of(tile.first + tile.count - 1, tally.batch.of_channel) -
                         server_of(tile.first, tally.batch.of_channel) + 1;
    stage_rows(tile.h, channels, columns, tally.h, h);
    stage_rows(tile.y, tile.count, shape.rx, tally.y, y);
  }
  tile.h = h;
  tile.y = y;
  tile.pitch_of_h = pitch_of(columns);
  tile.pitch_of_y = pitch_of(shape.rx);
  __syncthreads();
  return tile;
}

/// h, y and noise of this thread's vector; where it has none, zeros, and so for antennas that there are not. `kSquare`:
/// there are kTx antennas on both sides.
template <int kTx, int kRx, bool kSquare>
__device__ Received<kTx, kRx> received(const Tile& tile, const DetectorShape& shape) {
  const int rx = kSquare ? kTx : shape.rx, tx = kSquare ? kTx : shape.tx;
  Received<kTx, kRx> r{};
  r.noise = tile.noise;
  if (!tile.has_vector()) return r;
  const float2* const h = tile.h + tile.channel * tile.pitch_of_h;
  const float2* const y = tile.y + static_cast<int>(threadIdx.x) * tile.pitch_of_y;
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

/// Scaled and decomposed; kTx is the number of transmit antennas or more. Two sizes of the code: as many antennas on
/// both sides, and up to 8 that receive.
template <int kTx> __device__ Triangle<kTx> triangulate_vector(const Tile& tile, const DetectorShape& shape) {
  if (shape.rx == kTx && shape.tx == kTx)
    return triangulate<true>(scaled(received<kTx, kTx, true>(tile, shape)), shape.bits);
  return triangulate<false>(scaled(received<kTx, kMostAntennas, false>(tile, shape)), shape.bits);
}

/// Collects the LLRs of a group's vectors in shared memory, and writes them in order, in their form.
class Results {
 public:
  /// `erased`: nothing can be said of this thread's vector, whatever is put.
  __device__ Results(const DetectorShape& shape, const DetectorJob& job, const Tile& tile, bool erased,
                     std::byte* memory)
      : shape_(shape),
        job_(job),
        tile_(tile),
        erased_(erased),
        pairs_(tile.pairs),
        llr_(reinterpret_cast<float2*>(memory)) {}

  /// The LLRs of a transmit antenna, of which only the first `bits` count.
  template <int kBits> __device__ void put_antenna(int antenna, const float (&llr)[kBits], int bits = kBits) {
    float2* const to = llr_ + static_cast<int>(threadIdx.x) * (pairs_.n | 1) + antenna * (bits / 2);
#pragma unroll
    for (int b = 0; b < kBits; b += 2)
      if (b < bits) to[b / 2] = erased_ ? float2{0, 0} : float2{llr[b], llr[b + 1]};
  }
  /// Of this thread's vector, not scaled any more.
  __device__ void put_distance(float distance) {
    if (job_.distance && tile_.has_vector()) job_.distance[tile_.vector()] = erased_ ? NAN : distance;
  }

  /// All threads, when each has put what it has.
  __device__ void flush() {
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
  /// Outputs begin at multiples of 128 bytes.
  template <class Pair, class AsElement> __device__ void write(Pair* llrs, const AsElement& as_element) const {
    const std::int64_t first = tile_.first * pairs_.n;
    auto* const bits = reinterpret_cast<uchar2*>(job_.hard);
    for (int i = static_cast<int>(threadIdx.x); i < tile_.count * pairs_.n; i += static_cast<int>(blockDim.x)) {
      const int row = pairs_.quotient(i);
      const float2 llr = llr_[row * (pairs_.n | 1) + i - row * pairs_.n];
      if (llrs) llrs[first + i] = Pair{as_element(llr.x), as_element(llr.y)};
      if (bits) bits[first + i] = uchar2{llr.x < 0, llr.y < 0};
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
