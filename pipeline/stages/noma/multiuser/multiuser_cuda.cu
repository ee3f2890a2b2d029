// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false; only what is written as fmaf is fused.
#include "gpu/runtime.hpp"
#include "pipeline/stages/noma/multiuser/detect.cuh"
#include "pipeline/stages/noma/multiuser/multiuser.hpp"
#include "pipeline/stages/noma/multiuser/train.cuh"

namespace iqd::multiuser {
namespace {

/// Online the past of the model is in the carry; the model of a frame is in scratch.
class Run final : public StageRun {
 public:
  Run(const noma::Method& method, noma::Scheme scheme)
      : start_(method.start), train_(method), detect_(method, scheme) {}

  std::size_t device_scratch_bytes() const noexcept override { return train_bytes() + detect_.scratch_bytes(); }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const cudaStream_t stream = gpu::stream_of(view);
    const std::int64_t most = io.in[noma::kTrainRx].length;
    noma::Job job = noma::job_of(io, start_);
    noma::Train::Block block(train_, job, most, io.fresh, io.carry, io.device_scratch);
    block.begin(stream);
    job.frames = block.frames();
    std::byte* const behind = io.device_scratch + train_bytes();
    for (int frame = 0; frame < most; ++frame) {
      block.enqueue(frame, stream);
      detect_.enqueue(block.model(), job, frame, block.erased(), behind, stream);
    }
    block.end(stream);
  }

 private:
  std::size_t train_bytes() const noexcept { return gpu::round_256(train_.scratch_bytes()); }

  noma::Start start_;
  noma::Train train_;
  noma::Detect detect_;
};

}  // namespace

using noma::CudaHalf;
IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::multiuser
