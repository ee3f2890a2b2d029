// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU, and added in its order.
#include "pipeline/stages/mimo/kbest_detector/choose.cuh"
#include "pipeline/stages/mimo/kbest_detector/kbest_detector_cuda.hpp"

namespace iqd::kbest_detector {
namespace {

template <int kTx, int kBits> __global__ void __launch_bounds__(mimo::kTileVectors)
    detect_vectors(const mimo::DetectorShape shape, const mimo::DetectorJob job, mimo::Tally* tally,
                   const mimo::SearchLayout layout, int survivors, float clip) {
  mimo::search_vectors<kTx, kBits>(shape, job, tally, layout, survivors, clip,
                                   [survivors](auto& paths) { return choose(paths, survivors); });
}

using Kernel = void (*)(mimo::DetectorShape, mimo::DetectorJob, mimo::Tally*, mimo::SearchLayout, int, float);

struct Search {
  Kernel kernel;
  mimo::SearchLayout layout;
};

template <int kTx, int kBits> Search search_of(const mimo::DetectorShape& shape, int survivors) {
  return {detect_vectors<kTx, kBits>, mimo::layout_for<kTx, kBits>(shape, survivors)};
}

class Run final : public StageRun {
 public:
  Run(const mimo::DetectorShape& shape, const Config& config)
      : shape_(shape),
        survivors_(config.paths(shape.bits)),
        clip_(static_cast<float>(config.clip)),
        search_(
            mimo::with_sizes(shape, [&]<int kTx, int kBits>() { return search_of<kTx, kBits>(shape, survivors_); })) {
    gpu::check(cudaFuncSetAttribute(search_.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(search_.layout.bytes)),
               "loading kbest_detector");
  }

  std::size_t device_scratch_bytes() const noexcept override { return mimo::kTallyBytes; }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const cudaStream_t stream = gpu::stream_of(view);
    const mimo::DetectorJob job = mimo::job_of(io);
    mimo::Tally* const tally = mimo::begin_vectors(shape_, job, io.device_scratch, stream);
    search_.kernel<<<mimo::groups_for(shape_), mimo::kTileVectors, search_.layout.bytes, stream>>>(
        shape_, job, tally, search_.layout, survivors_, clip_);
  }

 private:
  mimo::DetectorShape shape_;
  int survivors_;
  float clip_;
  Search search_;
};

std::unique_ptr<StageRun> make(const mimo::DetectorShape& shape, const Config& config) {
  return std::make_unique<Run>(shape, config);
}

}  // namespace

const void* cuda_half();
const void* cuda_half() {
  static constexpr CudaHalf half{make};
  return &half;
}

}  // namespace iqd::kbest_detector
