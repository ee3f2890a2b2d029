// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU, and added in the same order.
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/mimo/one_pass_detector/one_pass_detector.hpp"
#include "pipeline/stages/mimo/one_pass_detector/reduce.cuh"
#include "pipeline/stages/mimo/search.cuh"

namespace iqd::one_pass_detector {
namespace {

template <int kTx, int kBits> __global__ void __launch_bounds__(mimo::kTileVectors)
    detect_vectors(const mimo::DetectorShape shape, const mimo::DetectorJob job, mimo::Tally* tally,
                   const mimo::SearchLayout layout, int, float clip) {
  mimo::search_vectors<kTx, kBits>(shape, job, tally, layout, 1 << kBits, clip,
                                   [](auto& paths) { return reduce(paths); });
}

std::unique_ptr<StageRun> make(const mimo::DetectorShape& shape, float clip) {
  const int most = 1 << shape.bits;
  return std::make_unique<mimo::SearchRun>("loading one_pass_detector", shape, most, clip, [&]<int kTx, int kBits>() {
    return mimo::SearchKernel{detect_vectors<kTx, kBits>, mimo::TilePaths<kTx, kBits>::bytes(most)};
  });
}

}  // namespace

IQD_CUDA_HALF(make)

}  // namespace iqd::one_pass_detector
