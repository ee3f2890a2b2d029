// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU.
#include <span>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stages/filters/rotate/rotate_cuda.hpp"

namespace iqd::rotate {
namespace {

constexpr int kRun = static_cast<int>(Rotator::kRun);
constexpr int kThreads = 128;
constexpr int kPairs = 4;  // of a thread: their loads are all under way before the first is used
constexpr int kTile = kThreads * kPairs * 2;
constexpr int kRuns = kTile / kRun + 1;  // that a tile may touch

struct Job {
  const std::byte* x;
  std::byte* y;
  std::int64_t x_pitch;  // bytes
  std::int64_t y_pitch;
  std::int64_t length;
  const std::int64_t* first_at;
  const float2* table;  // of a run
  Phase step;
  Phase start;
};

/// What all threads of a tile turn with. `place` is that of the tile's first sample in its run.
struct Turns {
  float2 factor[kRuns];
  int place;
};

/// exp(j phase), as exact as a float can be.
__device__ float2 phasor(Phase phase) {
  double sine, cosine;
  sincospi(static_cast<double>(static_cast<std::int64_t>(phase.turns)) * 0x1p-63, &sine, &cosine);
  return {static_cast<float>(cosine), static_cast<float>(sine)};
}

/// One thread a run: `n` is the position of the tile's first sample.
__device__ void prepare(const Job& job, std::int64_t n, Turns& turns) {
  const int run = static_cast<int>(threadIdx.x);
  if (run >= kRuns) return;
  const std::int64_t begin = n - n % kRun + run * kRun;
  turns.factor[run] = phasor(job.start + job.step * begin);
  if (run == 0) turns.place = static_cast<int>(n % kRun);
}

/// a b, in the CPU's order of operations.
__device__ float2 product(float2 a, float2 b) {
  return {a.x * b.x + a.y * -b.y, a.x * b.y + a.y * b.x};
}
__device__ float2 turned(const Turns& turns, const float2* __restrict__ table, int i, float2 x) {
  const int place = turns.place + i;
  return product(x, product(turns.factor[place / kRun], __ldg(table + place % kRun)));
}

/// A tile by pairs of samples, and a last one that has none.
__device__ void rotate_pairs(const Job& job, Turns& turns, std::int64_t n, const float2* x, float2* y, int length) {
  float4 loaded[kPairs];
  const auto place = [](int p) { return (p * kThreads + static_cast<int>(threadIdx.x)) * 2; };
#pragma unroll
  for (int p = 0; p < kPairs; ++p)
    if (place(p) + 2 <= length) loaded[p] = *reinterpret_cast<const float4*>(x + place(p));
  prepare(job, n, turns);
  __syncthreads();
#pragma unroll
  for (int p = 0; p < kPairs; ++p) {
    if (place(p) + 2 > length) continue;
    const float2 a = turned(turns, job.table, place(p), {loaded[p].x, loaded[p].y});
    const float2 b = turned(turns, job.table, place(p) + 1, {loaded[p].z, loaded[p].w});
    *reinterpret_cast<float4*>(y + place(p)) = {a.x, a.y, b.x, b.y};
  }
  if (threadIdx.x == 0 && length % 2 != 0) y[length - 1] = turned(turns, job.table, length - 1, x[length - 1]);
}

/// A tile of a row that begins anywhere.
__device__ void rotate_singly(const Job& job, Turns& turns, std::int64_t n, const float2* x, float2* y, int length) {
  float2 loaded[2 * kPairs];
  const auto place = [](int p) { return p * kThreads + static_cast<int>(threadIdx.x); };
#pragma unroll
  for (int p = 0; p < 2 * kPairs; ++p)
    if (place(p) < length) loaded[p] = x[place(p)];
  prepare(job, n, turns);
  __syncthreads();
#pragma unroll
  for (int p = 0; p < 2 * kPairs; ++p)
    if (place(p) < length) y[place(p)] = turned(turns, job.table, place(p), loaded[p]);
}

__global__ void __launch_bounds__(kThreads) rotate_rows(const Job job) {
  __shared__ Turns turns;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const float2* const x = reinterpret_cast<const float2*>(job.x + blockIdx.y * job.x_pitch) + first;
  float2* const y = reinterpret_cast<float2*>(job.y + blockIdx.y * job.y_pitch) + first;
  const auto length = static_cast<int>(min(job.length - first, static_cast<std::int64_t>(kTile)));
  const std::int64_t n = threadIdx.x < kRuns ? *job.first_at + first : 0;
  if ((reinterpret_cast<std::uintptr_t>(x) | reinterpret_cast<std::uintptr_t>(y)) % sizeof(float4) == 0)
    rotate_pairs(job, turns, n, x, y, length);
  else
    rotate_singly(job, turns, n, x, y, length);
}

class Run final : public StageRun {
 public:
  explicit Run(const Rotator& rotator)
      : table_(std::span(rotator.table(), Rotator::kRun)),
        start_(rotator.at(0)),
        step_{rotator.at(1).turns - start_.turns} {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo& in = io.in[0];
    const PortIo& out = io.out[0];
    const dim3 grid(gpu::groups_of(out.length, kTile), static_cast<unsigned>(out.rows));
    if (grid.x == 0 || grid.y == 0) return;
    const Job job{in.data + (out.first - in.first) * static_cast<std::int64_t>(sizeof(cf32)),
                  out.data,
                  in.pitch,
                  out.pitch,
                  out.length,
                  out.first_at,
                  reinterpret_cast<const float2*>(table_.data()),
                  step_,
                  start_};
    rotate_rows<<<grid, kThreads, 0, gpu::stream_of(stream)>>>(job);
  }

 private:
  gpu::DeviceArray<cf32> table_;
  Phase start_;
  Phase step_;
};

std::unique_ptr<StageRun> make(const Rotator& rotator) {
  return std::make_unique<Run>(rotator);
}

}  // namespace

const void* cuda_half();
const void* cuda_half() {
  static constexpr CudaHalf half{make};
  return &half;
}

}  // namespace iqd::rotate
