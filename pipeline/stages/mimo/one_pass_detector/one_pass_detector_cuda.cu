// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU, and added in its order.
#include "pipeline/stages/mimo/one_pass_detector/one_pass_detector_cuda.hpp"
#include "pipeline/stages/mimo/one_pass_detector/reduce.cuh"

namespace iqd::one_pass_detector {
namespace {

template <int kTx, int kBits> __global__ void __launch_bounds__(mimo::kTileVectors)
    detect_vectors(const mimo::DetectorShape shape, const mimo::DetectorJob job, mimo::Tally* tally,
                   const mimo::SearchLayout layout, float clip) {
  mimo::search_vectors<kTx, kBits>(shape, job, tally, layout, 1 << kBits, clip,
                                   [](auto& paths) { return reduce(paths); });
}

using Kernel = void (*)(mimo::DetectorShape, mimo::DetectorJob, mimo::Tally*, mimo::SearchLayout, float);

struct Search {
  Kernel kernel;
  mimo::SearchLayout layout;
};

template <int kTx, int kBits> Search search_of(const mimo::DetectorShape& shape) {
  return {detect_vectors<kTx, kBits>, mimo::layout_for<kTx, kBits>(shape, 1 << kBits)};
}

class Run final : public StageRun {
 public:
  Run(const mimo::DetectorShape& shape, float clip)
      : shape_(shape),
        clip_(clip),
        search_(mimo::with_sizes(shape, [&]<int kTx, int kBits>() { return search_of<kTx, kBits>(shape); })) {
    gpu::check(cudaFuncSetAttribute(search_.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(search_.layout.bytes)),
               "loading one_pass_detector");
  }

  std::size_t device_scratch_bytes() const noexcept override { return mimo::kTallyBytes; }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const cudaStream_t stream = gpu::stream_of(view);
    const mimo::DetectorJob job = mimo::job_of(io);
    mimo::Tally* const tally = mimo::begin_vectors(shape_, job, io.device_scratch, stream);
    search_.kernel<<<mimo::groups_for(shape_), mimo::kTileVectors, search_.layout.bytes, stream>>>(
        shape_, job, tally, search_.layout, clip_);
  }

 private:
  mimo::DetectorShape shape_;
  float clip_;
  Search search_;
};

std::unique_ptr<StageRun> make(const mimo::DetectorShape& shape, float clip) {
  return std::make_unique<Run>(shape, clip);
}

}  // namespace

const void* cuda_half();
const void* cuda_half() {
  static constexpr CudaHalf half{make};
  return &half;
}

}  // namespace iqd::one_pass_detector
