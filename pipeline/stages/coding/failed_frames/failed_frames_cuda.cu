// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/runtime.hpp"
#include "pipeline/stages/coding/failed_frames/failed_frames.hpp"
#include "pipeline/stages/coding/retry.cuh"

namespace iqd::failed_frames {
namespace {

/// One thread block per frame.
__global__ void __launch_bounds__(coding::kRetryThreads) pick_frames(const Setup setup, const Job job) {
  __shared__ std::int64_t frames;
  if (threadIdx.x == 0) frames = job.frames();
  __syncthreads();
  const std::int64_t frame = blockIdx.x;
  if (frame == 0) {
    const std::int64_t kept = coding::count_failed(job.failed, frames);
    if (threadIdx.x == 0) job.put_counts(frames, kept);
  }
  if (frame >= frames || !job.failed.any(frame)) return;
  const std::int64_t place = coding::count_failed(job.failed, frame);
  for (std::size_t o = 0; o < kCopies; ++o)
    if (job.to[o])
      coding::copy_items(job.from[o] + frame * setup.floats[o], job.to[o] + place * setup.floats[o], setup.floats[o]);
  if (job.sent_to)
    coding::copy_items(job.sent + frame * setup.antennas, job.sent_to + place * setup.antennas, setup.antennas);
}

class Run final : public StageRun {
 public:
  explicit Run(const Setup& setup) : setup_(setup) { gpu::load_kernels("loading failed_frames", pick_frames); }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const auto groups = static_cast<unsigned>(std::max<std::int64_t>(io.in[0].length, 1));
    pick_frames<<<groups, coding::kRetryThreads, 0, gpu::stream_of(view)>>>(setup_, job_of(setup_, io));
  }

 private:
  Setup setup_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::failed_frames
