// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// One thread per vector, in one kernel from h and y to LLRs; 256-QAM: mtt_detector_256qam.cu. Compiled with -fmad=false:
// only what is written as fmaf is fused.
#include <algorithm>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/mimo/front_end.cuh"
#include "pipeline/stages/mimo/mtt_detector/mtt_detector.hpp"
#include "pipeline/stages/mimo/mtt_detector/scan.cuh"
#include "pipeline/stages/mimo/mtt_detector/traverse.cuh"

namespace iqd::mtt_detector {
namespace {

using mimo::DetectorJob;
using mimo::DetectorShape;
using mimo::kTileVectors;
using mimo::Tally;

using Kernel = void (*)(DetectorShape, DetectorJob, Tally*, std::uint32_t);

/// Least thread blocks per multiprocessor: as many as registers allow without spilling. More warps hide more latency,
/// except with 64-QAM, whose 64 independent sums hide it.
template <class Search, bool kSquare> constexpr int kGroups =
    Search::kThreads > 128                                                 ? 1
    : Search::kTx > 4                                                      ? 2
    : Search::kBits > 4                                                    ? 3
    : kSquare&& Search::kTx == 4 && Search::kBits == 2 && !Search::kPooled ? 6
                                                                           : 4;

/// `kSquare`: Search::kTx antennas on both sides.
template <class Search, bool kSquare> __global__ void __launch_bounds__(Search::kThreads, kGroups<Search, kSquare>)
    detect_vectors(const DetectorShape shape, const DetectorJob job, Tally* const tally, const std::uint32_t points) {
  extern __shared__ __align__(16) std::byte memory[];
  auto* const columns =
      reinterpret_cast<std::uint32_t*>(memory + mimo::output_bytes(shape, static_cast<int>(blockDim.x)));
  unsigned erased = 0;
  for (unsigned number = blockIdx.x;; number += gridDim.x) {
    const mimo::Tile tile = mimo::find_tile(shape, job, *tally, number);
    if (tile.count == 0) break;
    constexpr int kTx = Search::kTx, kRx = kSquare ? kTx : mimo::kMostAntennas;
    const Alphabets alphabets = Search::kMixed ? mimo::alphabets_of(shape, job, tile) : Alphabets{};
    auto received = mimo::scaled(mimo::received<kTx, kRx, kSquare>(tile, shape));
    if constexpr (Search::kMixed) mimo::scale_columns(alphabets, received);
    constexpr bool kNothingBeside = kSquare && !Search::kMixed;  // where an antenna is silent, a part of y is
    const auto r = mimo::triangulate<kNothingBeside>(received, Search::kBits);
    mimo::Results results(shape, job, tile, r.erased, memory);
    Search search(r, columns + threadIdx.x, points, alphabets);
    const float distance = search.run([&](int antenna, const float(&llr)[Search::kBits]) {
      if (!kSquare && antenna >= shape.tx) return;
      if constexpr (Search::kMixed)
        results.put_mixed_antenna(alphabets.of(antenna), antenna, llr);
      else
        results.put_antenna(antenna, llr);
    });
    erased += r.erased && tile.has_vector();
    if (job.distance) results.put_distance(r.unscaled(distance + r.residual));
    results.flush();
    __syncthreads();
  }
  mimo::count_erased(job, tally, erased);
}

/// A kernel and its launch parameters.
struct Choice {
  Kernel kernel;
  int threads;
  unsigned groups;
  std::size_t shared_bytes;
  std::uint32_t last;  // argument: number of points; for scan_vectors, whether lists are pooled

  int groups_at_once() const {
    gpu::allow_shared(kernel, shared_bytes, "shared memory for mtt_detector");
    int groups = 0;
    gpu::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&groups, kernel, threads, shared_bytes),
               "loading mtt_detector");
    return groups;
  }
};

constexpr int rounded_up(std::int64_t n) {
  constexpr std::int64_t kWarp = 32;
  return static_cast<int>((n + kWarp - 1) / kWarp * kWarp);
}

/// The largest thread block that fits, or a smaller one where the vectors then spread more evenly over the GPU.
template <class Search, bool kSquare> Choice choice(const DetectorShape& shape) {
  const auto times = [](std::int64_t n, std::int64_t each) { return std::max<std::int64_t>((n + each - 1) / each, 1); };
  const std::int64_t processors = gpu::count_multiprocessors(), groups = processors * kGroups<Search, kSquare>;
  const std::int64_t rounds = times(shape.most, groups * Search::kThreads);
  const int threads = std::min(rounded_up(times(shape.most, groups * rounds)), Search::kThreads);
  Choice choice{detect_vectors<Search, kSquare>, threads, mimo::groups_for(shape, threads),
                mimo::output_bytes(shape, threads) + sizeof(std::uint32_t) * Search::kWords * Search::kStride,
                Search::kPoints};
  choice.groups = static_cast<unsigned>(std::min<std::int64_t>(choice.groups, processors * choice.groups_at_once()));
  return choice;
}
template <class Search> Choice choice_of_antennas(const DetectorShape& shape) {
  if constexpr (Search::kTx <= 4)
    if (shape.rx == Search::kTx && shape.tx == Search::kTx) return choice<Search, true>(shape);
  return choice<Search, false>(shape);
}
template <int kTx, int kBits, bool kMixed = false> Choice choice_of_lists(const DetectorShape& shape, Lists lists) {
  if (lists == Lists::pooled) return choice_of_antennas<Traversal<kTx, kBits, true, kMixed>>(shape);
  return choice_of_antennas<Traversal<kTx, kBits, false, kMixed>>(shape);
}
template <int kTx, bool kPrior, bool kMixed = false>
Choice choice_of_scan(const DetectorShape& shape, const Config& config) {
  return {scan_vectors<kTx, kPrior, kMixed>, kTileVectors, mimo::groups_for(shape),
          mimo::output_bytes(shape) + Scan<kTx, kPrior>::bytes(shape.bits), config.lists == Lists::pooled};
}
template <int kTx> Choice choice_of_points(const DetectorShape& shape, const Config& config) {
  if (shape.mixed && (shape.prior || config.variant == Variant::paper || shape.bits == 2))
    return choice_of_scan<kTx, true, true>(shape, config);
  if (shape.mixed && shape.bits == 4) return choice_of_lists<kTx, 4, true>(shape, config.lists);
  if (shape.mixed) return choice_of_lists<kTx, 6, true>(shape, config.lists);
  if (shape.prior) return choice_of_scan<kTx, true>(shape, config);
  if (config.variant == Variant::paper) return choice_of_scan<kTx, false>(shape, config);
  if (shape.bits == 2) return choice_of_lists<kTx, 2>(shape, config.lists);
  if (shape.bits == 4) return choice_of_lists<kTx, 4>(shape, config.lists);
  return choice_of_lists<kTx, 6>(shape, config.lists);
}
/// Antennas that do not exist are columns of zeros: they are sorted to the end of the search and cost nothing there.
Choice choice_for(const DetectorShape& shape, const Config& config) {
  if (shape.tx <= 2) return choice_of_points<2>(shape, config);
  if (shape.tx <= 4) return choice_of_points<4>(shape, config);
  return choice_of_points<8>(shape, config);
}

class Run final : public StageRun {
 public:
  Run(const DetectorShape& shape, const Config& config) : shape_(shape), choice_(choice_for(shape, config)) {
    if (choice_.groups_at_once() == 0)
      throw SetupError("mtt_detector does not fit on this GPU: set `backend: cpu` for the stage");
    gpu::load_kernels("loading mtt_detector", mimo::begin_tally);
  }

  std::size_t device_scratch_bytes() const noexcept override { return mimo::kTallyBytes; }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const cudaStream_t stream = gpu::stream_of(view);
    const DetectorJob job = mimo::job_of(io);
    Tally* const tally = mimo::begin_vectors(shape_, job, io.device_scratch, stream);
    choice_.kernel<<<choice_.groups, static_cast<unsigned>(choice_.threads), choice_.shared_bytes, stream>>>(
        shape_, job, tally, choice_.last);
  }

 private:
  DetectorShape shape_;
  Choice choice_;
};

std::unique_ptr<StageRun> make(const DetectorShape& shape, const Config& config) {
  if (shape.bits > 6 && shape.mixed)
    throw SetupError(
        "mtt_detector has no GPU code for 256-QAM beside other alphabets: set `backend: cpu` for the stage");
  if (shape.bits > 6) return make_256qam_run(shape, config);
  return std::make_unique<Run>(shape, config);
}

}  // namespace

IQD_CUDA_HALF(make)

}  // namespace iqd::mtt_detector
