// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A thread a vector, in one kernel from h and y to LLRs. Compiled with -fmad=false: only what says fmaf is fused.
#include <memory>

#include "base/error.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stages/mimo/front_end.cuh"
#include "pipeline/stages/mimo/mtt_detector/mtt_detector_cuda.hpp"
#include "pipeline/stages/mimo/mtt_detector/scan.cuh"
#include "pipeline/stages/mimo/mtt_detector/traverse.cuh"

namespace iqd::mtt_detector {
namespace {

using mimo::DetectorJob;
using mimo::DetectorShape;
using mimo::kTileVectors;
using mimo::Tally;

using Kernel = void (*)(DetectorShape, DetectorJob, Tally*, std::uint32_t);

// Four antennas and 64-QAM want 160 registers and hide latency by their independent sums; the others run four groups.
template <class Search> __global__ void __launch_bounds__(kTileVectors, Search::kTx > 4 ? 2 : 3)
    detect_vectors(const DetectorShape shape, const DetectorJob job, Tally* const tally, const std::uint32_t points) {
  extern __shared__ __align__(16) std::byte memory[];
  const mimo::Tile tile = mimo::load_tile(shape, job, *tally, memory);
  bool erased = false;
  if (tile.count > 0) {
    const mimo::Triangle<Search::kTx> r = mimo::triangulate_vector<Search::kTx>(tile, shape);
    __syncthreads();
    mimo::Results results(shape, job, tile, r.erased, memory);
    auto* const columns = reinterpret_cast<std::uint32_t*>(memory + mimo::tile_bytes(shape));
    Search search(r, columns + threadIdx.x, points);
    const float distance = search.run([&](int antenna, const float(&llr)[Search::kBits]) {
      if (antenna < shape.tx) results.put_antenna(antenna, llr);
    });
    erased = r.erased && tile.has_vector();
    results.put_distance(r.unscaled(distance + r.residual));
    results.flush();
  }
  mimo::count_erased(job, tally, erased);
}

struct Choice {
  Kernel kernel;
  std::size_t shared_bytes;
  std::uint32_t last;  // argument: how many points there are, or for scan_vectors whether lists are pooled
};

template <class Search> Choice choice(const DetectorShape& shape) {
  static_assert(Search::kStride == kTileVectors);
  return {detect_vectors<Search>, mimo::tile_bytes(shape) + sizeof(std::uint32_t) * Search::kWords * kTileVectors,
          Search::kPoints};
}
template <int kTx, int kBits> Choice choice_of_lists(const DetectorShape& shape, Lists lists) {
  if (lists == Lists::pooled) return choice<Traversal<kTx, kBits, true>>(shape);
  return choice<Traversal<kTx, kBits, false>>(shape);
}
template <int kTx> Choice choice_of_points(const DetectorShape& shape, const Config& config) {
  if (config.variant == Variant::paper)
    return {scan_vectors<kTx>, mimo::tile_bytes(shape) + Scan<kTx>::bytes(shape.bits), config.lists == Lists::pooled};
  if (shape.bits == 2) return choice_of_lists<kTx, 2>(shape, config.lists);
  if (shape.bits == 4) return choice_of_lists<kTx, 4>(shape, config.lists);
  return choice_of_lists<kTx, 6>(shape, config.lists);
}
/// Antennas that there are not are columns of zeros: they are sorted to the end of the search and cost nothing there.
Choice choice_for(const DetectorShape& shape, const Config& config) {
  if (shape.tx <= 2) return choice_of_points<2>(shape, config);
  if (shape.tx <= 4) return choice_of_points<4>(shape, config);
  return choice_of_points<8>(shape, config);
}

class Run final : public StageRun {
 public:
  Run(const DetectorShape& shape, const Config& config) : shape_(shape), choice_(choice_for(shape, config)) {
    gpu::check(cudaFuncSetAttribute(choice_.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(choice_.shared_bytes)),
               "shared memory for mtt_detector");
    cudaFuncAttributes loaded;  // asking loads the code, before samples flow
    gpu::check(cudaFuncGetAttributes(&loaded, mimo::begin_tally), "loading mtt_detector");
  }

  std::size_t device_scratch_bytes() const noexcept override { return mimo::kTallyBytes; }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const cudaStream_t stream = gpu::stream_of(view);
    const DetectorJob job = mimo::job_of(io);
    Tally* const tally = mimo::begin_vectors(shape_, job, io.device_scratch, stream);
    choice_.kernel<<<mimo::groups_for(shape_), kTileVectors, choice_.shared_bytes, stream>>>(shape_, job, tally,
                                                                                             choice_.last);
  }

 private:
  DetectorShape shape_;
  Choice choice_;
};

std::unique_ptr<StageRun> make(const DetectorShape& shape, const Config& config) {
  if (shape.bits > 6) throw SetupError("mtt_detector: 256-QAM has no code for a GPU: give the stage `backend: cpu`");
  return std::make_unique<Run>(shape, config);
}

}  // namespace

const void* cuda_half();
const void* cuda_half() {
  static constexpr CudaHalf half{make};
  return &half;
}

}  // namespace iqd::mtt_detector
