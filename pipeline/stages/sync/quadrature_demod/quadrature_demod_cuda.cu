// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: the same bits as on the CPU.
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/arithmetic.hpp"
#include "pipeline/stages/sync/quadrature_demod/quadrature_demod.hpp"

namespace iqd::quadrature_demod {
namespace {

using elementwise::Complex;

constexpr int kThreads = 256;
constexpr int kBatch = 8;  // samples per thread: all their loads are in flight before the first is used
constexpr int kTile = kThreads * kBatch;

struct Job {
  const std::byte* x;  // row 0, the sample of the first output
  std::byte* y;
  std::int64_t x_pitch;  // bytes
  std::int64_t y_pitch;
  std::int64_t length;
  std::int64_t past;  // samples before x: 1 or 0
  float gain;
};

/// A thread has every kThreads-th sample of a tile. It gets the previous sample from the adjacent thread, so that each
/// is read once; the first thread of a warp reads it itself.
__global__ void __launch_bounds__(kThreads) demodulate(const __grid_constant__ Job job) {
  const float2* const x = reinterpret_cast<const float2*>(job.x + blockIdx.y * job.x_pitch);
  float* const y = reinterpret_cast<float*>(job.y + blockIdx.y * job.y_pitch);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTile + threadIdx.x;
  const bool leads = threadIdx.x % 32 == 0;
  float2 now[kBatch], before[kBatch];
#pragma unroll
  for (int i = 0; i < kBatch; ++i) {
    const std::int64_t n = first + i * kThreads;
    now[i] = n < job.length ? x[n] : float2{};
    before[i] = leads && n < job.length && n + job.past > 0 ? x[n - 1] : float2{};
  }
#pragma unroll
  for (int i = 0; i < kBatch; ++i) {
    const std::int64_t n = first + i * kThreads;
    const float re = __shfl_up_sync(0xffffffffu, now[i].x, 1);
    const float im = __shfl_up_sync(0xffffffffu, now[i].y, 1);
    const Complex last = leads ? Complex{before[i].x, before[i].y} : Complex{re, im};
    const float turned = job.gain * arg(product(Complex{now[i].x, now[i].y}, conj(last)));
    if (n < job.length) y[n] = n + job.past > 0 ? turned : 0.0f;
  }
}

class Run final : public StageRun {
 public:
  explicit Run(float gain) : gain_(gain) {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo& in = io.in[0];
    const PortIo& out = io.out[0];
    const dim3 grid(gpu::groups_of(out.length, kTile), static_cast<unsigned>(out.rows));
    if (grid.x == 0 || grid.y == 0) return;
    const std::int64_t past = out.first - in.first;
    const Job job{in.data + past * static_cast<std::int64_t>(sizeof(Complex)),
                  out.data,
                  in.pitch,
                  out.pitch,
                  out.length,
                  past > 0 ? 1 : 0,
                  gain_};
    demodulate<<<grid, kThreads, 0, gpu::stream_of(stream)>>>(job);
  }

 private:
  float gain_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::quadrature_demod
