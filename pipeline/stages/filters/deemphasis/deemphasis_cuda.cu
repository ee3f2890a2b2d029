// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU.
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/deemphasis/deemphasis.hpp"

namespace iqd::deemphasis {
namespace {

constexpr int kThreads = 64;

struct Job {
  View<const float, 2> x;
  View<float, 2> y;
  std::int64_t past;  // samples available before the first output
  const std::int64_t* first_at;
  float step;
  std::int64_t memory;
};

/// One thread per run: audio has few samples, and the samples that runs share are in the L1 cache.
__global__ void __launch_bounds__(kThreads) deemphasize(const Job job) {
  const std::int64_t y_first = *job.first_at;
  const std::int64_t run = y_first / Pole::kRun + static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t first = max(run * Pole::kRun, y_first);
  const std::int64_t end = min((run + 1) * Pole::kRun, y_first + job.y.extent(1));
  if (first >= end) return;
  run_from(job.x.row(blockIdx.y).data(), y_first - job.past, job.step, job.memory, first, end,
           &job.y(blockIdx.y, first - y_first));
}

class Run final : public StageRun {
 public:
  explicit Run(const Pole& pole) : pole_(pole) {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo &in = io.in[0], &out = io.out[0];
    // One run more than the samples fill: the first run's beginning depends on the position.
    const dim3 grid(gpu::groups_of(out.length / Pole::kRun + 2, kThreads), static_cast<unsigned>(out.rows));
    if (out.length == 0 || out.rows == 0) return;
    const Job job{in.as<const float>(), out.as<float>(), out.first - in.first, out.first_at, pole_.step, pole_.memory};
    deemphasize<<<grid, kThreads, 0, gpu::stream_of(stream)>>>(job);
  }

 private:
  Pole pole_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::deemphasis
