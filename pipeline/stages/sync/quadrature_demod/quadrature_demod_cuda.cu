// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: the same bits as on the CPU.
#include "pipeline/stages/arithmetic.hpp"
#include "pipeline/stages/rows.cuh"
#include "pipeline/stages/sync/quadrature_demod/quadrature_demod.hpp"

namespace iqd::quadrature_demod {
namespace {

using elementwise::Complex;

constexpr int kThreads = 256;
constexpr int kBatch = 8;  // samples per thread: all their loads are in flight before the first is used
constexpr int kTile = kThreads * kBatch;

struct Job {
  View<const float2, 2> x;
  View<float, 2> y;
  std::int64_t before;  // of the first output's sample, in x
  float gain;
};

/// A thread has every kThreads-th sample of a tile. It gets the previous sample from the adjacent thread, so that each
/// is read once; the first thread of a warp reads it itself.
__global__ void __launch_bounds__(kThreads) demodulate(const __grid_constant__ Job job) {
  const float2* const x = &job.x(blockIdx.y, job.before);
  float* const y = job.y.row(blockIdx.y).data();
  const std::int64_t length = job.y.extent(1);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTile + threadIdx.x;
  const bool leads = threadIdx.x % 32 == 0;
  float2 now[kBatch], before[kBatch];
#pragma unroll
  for (int i = 0; i < kBatch; ++i) {
    const std::int64_t n = first + i * kThreads;
    now[i] = n < length ? x[n] : float2{};
    before[i] = leads && n < length && n + job.before > 0 ? x[n - 1] : float2{};
  }
#pragma unroll
  for (int i = 0; i < kBatch; ++i) {
    const std::int64_t n = first + i * kThreads;
    const float re = __shfl_up_sync(0xffffffffu, now[i].x, 1);
    const float im = __shfl_up_sync(0xffffffffu, now[i].y, 1);
    const Complex last = leads ? Complex{before[i].x, before[i].y} : Complex{re, im};
    const float turned = job.gain * arg(product(Complex{now[i].x, now[i].y}, conj(last)));
    if (n < length) y[n] = n + job.before > 0 ? turned : 0.0f;
  }
}

class Run final : public StageRun {
 public:
  explicit Run(float gain) : gain_(gain) {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo &in = io.in[0], &out = io.out[0];
    const Job job{in.as<const float2>(), out.as<float>(), out.first - in.first, gain_};
    dsp::launch_rows(demodulate, job, out, kTile, kThreads, stream);
  }

 private:
  float gain_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::quadrature_demod
