// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/runtime.hpp"
#include "pipeline/stages/coding/merge_words/merge_words.hpp"
#include "pipeline/stages/coding/retry.cuh"

namespace iqd::merge_words {
namespace {

/// One thread block per frame.
__global__ void __launch_bounds__(coding::kRetryThreads) merge_frames(const Setup setup, const Job job) {
  __shared__ std::int64_t frames, retries;
  if (threadIdx.x == 0) frames = job.frames(), retries = job.retries();
  __syncthreads();
  const std::int64_t frame = blockIdx.x;
  if (frame >= frames) return;
  const std::int64_t retry = coding::count_failed(job.failed, frame);
  const bool again = job.failed.any(frame) && retry < retries;
  for (std::int64_t w = 0; w < setup.words; ++w) {
    const std::int64_t at = frame * setup.words + w, other = retry * setup.words + w;
    const bool failed = job.failed.word(frame, w), replaced = failed && again;
    coding::copy_items(replaced ? job.again + other * setup.k : job.first + at * setup.k, job.bits + at * setup.k,
                       setup.k);
    if (threadIdx.x == 0) job.failed_after[at] = failed && !(replaced && job.failed_again[other] == 0);
  }
}

__global__ void __launch_bounds__(coding::kRetryThreads) count_words(const Setup setup, const Job job) {
  __shared__ unsigned before, after, there;
  __shared__ std::int64_t frames;
  if (threadIdx.x == 0) before = after = there = 0, frames = job.frames();
  __syncthreads();
  const std::int64_t words = frames * setup.words;
  unsigned mine = 0;
  for (std::int64_t i = threadIdx.x; i < words; i += blockDim.x) {
    mine += job.is_there(i);
    if (job.failed.failed[i] != 0) atomicAdd(&before, 1u);
    if (job.failed_after[i] != 0) atomicAdd(&after, 1u);
  }
  atomicAdd(&there, mine);
  __syncthreads();
  if (threadIdx.x == 0) job.put_counts(frames, there, before, after);
}

class Run final : public StageRun {
 public:
  explicit Run(const Setup& setup) : setup_(setup) {
    gpu::load_kernels("loading merge_words", merge_frames, count_words);
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const cudaStream_t stream = gpu::stream_of(view);
    const Job job = job_of(setup_, io);
    const auto groups = static_cast<unsigned>(io.in[0].length);
    if (groups > 0) merge_frames<<<groups, coding::kRetryThreads, 0, stream>>>(setup_, job);
    count_words<<<1, coding::kRetryThreads, 0, stream>>>(setup_, job);
  }

 private:
  Setup setup_;
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::merge_words
