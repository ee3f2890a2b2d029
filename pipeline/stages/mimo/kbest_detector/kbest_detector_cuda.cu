// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU, and added in the same order.
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/mimo/kbest_detector/choose.cuh"
#include "pipeline/stages/mimo/kbest_detector/kbest_detector.hpp"
#include "pipeline/stages/mimo/search.cuh"

namespace iqd::kbest_detector {
namespace {

template <int kTx, int kBits> __global__ void __launch_bounds__(mimo::kTileVectors)
    detect_vectors(const mimo::DetectorShape shape, const mimo::DetectorJob job, mimo::Tally* tally,
                   const mimo::SearchLayout layout, int survivors, float clip) {
  mimo::search_vectors<kTx, kBits>(shape, job, tally, layout, survivors, clip,
                                   [survivors](auto& paths) { return choose(paths, survivors); });
}

std::unique_ptr<StageRun> make(const mimo::DetectorShape& shape, const Config& config) {
  const int most = config.paths(shape.bits);
  return std::make_unique<mimo::SearchRun>(
      "loading kbest_detector", shape, most, static_cast<float>(config.clip), [&]<int kTx, int kBits>() {
        return mimo::SearchKernel{detect_vectors<kTx, kBits>, mimo::TilePaths<kTx, kBits>::bytes(most)};
      });
}

}  // namespace

IQD_CUDA_HALF(make)

}  // namespace iqd::kbest_detector
