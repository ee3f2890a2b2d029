// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// 256-QAM: one warp per vector (warp.cuh). Compiled with -fmad=false: only what is written as fmaf is fused.
#include "pipeline/stages/mimo/mtt_detector/mtt_detector.hpp"
#include "pipeline/stages/mimo/mtt_detector/warp.cuh"
#include "pipeline/stages/mimo/search.cuh"

namespace iqd::mtt_detector {
namespace {

constexpr int kPooledLists = 1, kAsPublished = 2;

/// Thread blocks per multiprocessor: as many as registers allow without spilling.
template <int kTx> __global__ void __launch_bounds__(mimo::kTileVectors, kTx <= 4 ? 3 : 2)
    detect_by_warps(const mimo::DetectorShape shape, const mimo::DetectorJob job, mimo::Tally* tally,
                    const mimo::SearchLayout layout, int options, float most) {
  using Traversal = WarpTraversal<mimo::VectorThreads<8>, kTx>;
  const WarpOptions chosen{.pooled = (options & kPooledLists) != 0, .paper = (options & kAsPublished) != 0};
  mimo::search_tile<kTx, 8>(shape, job, tally, layout, most,
                            [&](const mimo::VectorThreads<8>& group, std::byte* memory) {
                              return [traversal = Traversal(group, memory, chosen), points = 1u << shape.bits](
                                         const typename Traversal::X& x, const float* prior, const Alphabets&) mutable {
                                traversal.search(x, prior, points);
                              };
                            });
}

}  // namespace

std::unique_ptr<StageRun> make_256qam_run(const mimo::DetectorShape& shape, const Config& config) {
  const bool pooled = config.lists == Lists::pooled, paper = config.variant == Variant::paper;
  const bool reduces = shape.tx > 2 || paper;
  return std::make_unique<mimo::SearchRun>(
      "loading mtt_detector", shape, (pooled ? kPooledLists : 0) | (paper ? kAsPublished : 0), FLT_MAX,
      [&]<int kTx, int kBits>() -> mimo::SearchKernel {
        if constexpr (kBits == 8)
          return {detect_by_warps<kTx>, WarpTraversal<mimo::VectorThreads<8>, kTx>::bytes(reduces, shape.prior)};
        else
          return {};
      });
}

}  // namespace iqd::mtt_detector
