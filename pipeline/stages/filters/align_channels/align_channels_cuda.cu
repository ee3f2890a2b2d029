// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: the product with the factor is rounded as on the CPU.
#include <algorithm>
#include <vector>

#include "gpu/device_array.hpp"
#include "pipeline/stages/complex.cuh"
#include "pipeline/stages/filters/align_channels/align_channels.hpp"
#include "pipeline/stages/filters/products.cuh"
#include "pipeline/stages/rows.cuh"

namespace iqd::align_channels {
namespace {

constexpr int kTaps = Correction::kTaps;
constexpr int kThreads = 128;
constexpr int kEach = 4;  // adjacent outputs of a thread: as many products per load from shared memory
constexpr int kTile = kThreads * kEach;

/// A Correction in device memory.
struct Row {
  float taps[kTaps];
  float2 factor;
  std::int64_t whole;
  bool between;  // a fractional delay: it has taps
};

struct Job {
  View<const float2, 2> x;
  View<float2, 2> y;
  std::int64_t past;  // inputs before the first output's own
  const Row* rows;
  const Row* none;  // passes samples on
  const std::int64_t* first_at;
  const SampleBlock* block;  // null: everything is corrected
};

/// The index of sample i of a tile: threads that read kEach adjacent samples access different banks.
__device__ constexpr int padded(int i) {
  return i + i / kEach;
}

struct Tile {
  alignas(16) float taps[kTaps];
  float2 x[padded(kTile + kTaps)];
};

/// sum[r] = sum over q of h[q] x[r + kTaps - 1 - q]. From tap to tap the window of inputs moves by one sample: the new
/// one replaces the one that leaves.
__device__ void add_products(const float* h, const float2* x, float2 (&sum)[kEach]) {
  static_assert(kTaps % kEach == 0);
  float2 window[kEach];
#pragma unroll
  for (int r = 0; r < kEach; ++r) window[r] = x[padded(kTaps - 1 + r)];
#pragma unroll
  for (int q = 0; q < kTaps; ++q) {
#pragma unroll
    for (int r = 0; r < kEach; ++r) sum[r] = dsp::multiply_add(h[q], window[(r + kTaps - q) % kEach], sum[r]);
    if (q + 1 < kTaps) window[(kTaps - 1 - q) % kEach] = x[padded(kTaps - 2 - q)];
  }
}

__device__ float2 sample_at(const float2* x, std::int64_t length, std::int64_t n) {
  return n >= 0 && n < length ? x[n] : float2{0, 0};
}

/// Outputs y[0 … count-1]; x[at] is at the position of the first one.
__device__ void shift(const Row& row, const Job& job, const float2* x, std::int64_t at, float2* y, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads)
    y[i] = dsp::product(sample_at(x, job.x.extent(1), at + row.whole + i), row.factor);
}

/// The same with a fractional delay, by all threads of the block, with its tile.
__device__ void interpolate(const Row& row, const Job& job, const float2* x, std::int64_t at, float2* y, int count,
                            Tile& tile) {
  const int t = static_cast<int>(threadIdx.x), own = t * kEach;
  const std::int64_t from = at + row.whole - (kTaps / 2 - 1);
  __syncthreads();
  if (t < kTaps) tile.taps[t] = row.taps[t];
#pragma unroll 4
  for (int i = t; i < count + kTaps - 1; i += kThreads) tile.x[padded(i)] = sample_at(x, job.x.extent(1), from + i);
  __syncthreads();
  float2 sum[kEach] = {};
  if (own < count) add_products(tile.taps, tile.x + padded(own), sum);
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kEach; ++r) tile.x[padded(own) + r] = dsp::product(sum[r], row.factor);
  __syncthreads();
  for (int i = t; i < count; i += kThreads) y[i] = tile.x[padded(i)];
}

/// Reference: y[n] = factor * sum over q of taps[q] * x[n + whole + kTaps / 2 - q], or x[n] while the source is not
/// calibrated.
__global__ void __launch_bounds__(kThreads) align_rows(const Job job) {
  __shared__ Tile tile;
  __shared__ Calibrated calibrated;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const auto count = static_cast<int>(min(job.y.extent(1) - first, static_cast<std::int64_t>(kTile)));
  // Only one thread reads host memory.
  if (threadIdx.x == 0) calibrated = calibrated_in(job.block, *job.first_at + first, count);
  __syncthreads();
  const float2* const x = job.x.row(blockIdx.y).data();
  float2* const y = job.y.row(blockIdx.y).data() + first;
  const auto put = [&](bool corrects, int begin, int end) {
    if (begin == end) return;
    const Row& row = corrects ? job.rows[blockIdx.y] : *job.none;
    const std::int64_t at = job.past + first + begin;
    if (row.between)
      interpolate(row, job, x, at, y + begin, end - begin, tile);
    else
      shift(row, job, x, at, y + begin, end - begin);
  };
  const auto split = static_cast<int>(calibrated.split);
  put(calibrated.before, 0, split);
  put(calibrated.after, split, count);
}

Row row_of(const Correction& c) {
  Row row{};
  std::copy(c.taps.begin(), c.taps.end(), row.taps);
  row.factor = {c.factor.real(), c.factor.imag()};
  row.whole = c.whole;
  row.between = !c.taps.empty();
  return row;
}

std::vector<Row> rows_of(const std::vector<Correction>& channels) {
  std::vector<Row> rows;
  for (const Correction& c : channels) rows.push_back(row_of(c));
  rows.push_back(row_of(Correction{}));
  return rows;
}

class Run final : public StageRun {
 public:
  Run(const std::vector<Correction>& channels, bool follows) : rows_(rows_of(channels)), follows_(follows) {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo &in = io.in[0], &out = io.out[0];
    const Job job{.x = in.as<const float2>(),
                  .y = out.as<float2>(),
                  .past = out.first - in.first,
                  .rows = rows_.data(),
                  .none = rows_.data() + rows_.size() - 1,
                  .first_at = out.first_at,
                  .block = follows_ ? io.block : nullptr};
    dsp::launch_rows(align_rows, job, out, kTile, kThreads, stream);
  }

 private:
  gpu::DeviceArray<Row> rows_;  // the channels' rows, and one that passes samples on
  bool follows_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::align_channels
