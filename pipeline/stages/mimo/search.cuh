// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Detectors whose vectors are searched by groups of threads: how a tile's vectors are divided, the kernel, the run.
#pragma once

#include <cooperative_groups.h>

#include <algorithm>

#include "base/error.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stages/mimo/paths.cuh"

namespace iqd::mimo {

/// Calls f<tx, bits>() with the shape's.
template <class F> auto with_sizes(const DetectorShape& shape, const F& f) {
  const auto with_bits = [&]<int kTx>() {
    switch (shape.bits) {
      case 2: return f.template operator()<kTx, 2>();
      case 4: return f.template operator()<kTx, 4>();
      case 6: return f.template operator()<kTx, 6>();
      default: return f.template operator()<kTx, 8>();
    }
  };
  switch (shape.tx) {
    case 1: return with_bits.template operator()<1>();
    case 2: return with_bits.template operator()<2>();
    case 3: return with_bits.template operator()<3>();
    case 4: return with_bits.template operator()<4>();
    case 5: return with_bits.template operator()<5>();
    case 6: return with_bits.template operator()<6>();
    case 7: return with_bits.template operator()<7>();
    default: return with_bits.template operator()<8>();
  }
}

/// How a tile's vectors are searched: `groups` groups of threads take them in turn, each with memory of its own. The
/// exchange is the first part of shared memory; the front end and then the searches use the rest.
struct SearchLayout {
  int groups;
  std::size_t of_group;
  std::size_t bytes;
};

template <int kBits> using VectorThreads =
    cooperative_groups::thread_block_tile<threads_for(kBits), cooperative_groups::thread_block>;
template <int kTx, int kBits> using TilePaths = Paths<VectorThreads<kBits>, kTx, kBits>;

template <int kTx, int kBits> SearchLayout layout_for(const DetectorShape& shape, std::size_t of_group) {
  constexpr std::size_t kStatic = 1024;  // for the front end
  const std::size_t exchange = Exchange<kTx, kBits>::kBytes;
  const std::size_t room = static_cast<std::size_t>(gpu::most_shared_bytes()) - kStatic - exchange;
  const std::size_t groups = std::min<std::size_t>(kTileVectors / threads_for(kBits), room / of_group);
  if (groups == 0) throw SetupError("the paths do not fit into the GPU's shared memory: set `backend: cpu`");
  return {static_cast<int>(groups), of_group, exchange + std::max(output_bytes(shape), groups * of_group)};
}

/// The whole kernel of a detector. `begin(group, memory)` gives a group's `search(exchange, prior, alphabets)`, which
/// replaces a vector's R by its results.
template <int kTx, int kBits, class Begin>
__device__ void search_tile(const DetectorShape& shape, const DetectorJob& job, Tally* tally,
                            const SearchLayout& layout, float clip, const Begin& begin) {
  constexpr int kThreads = threads_for(kBits);
  extern __shared__ __align__(16) std::byte memory[];
  auto* const exchange = reinterpret_cast<float*>(memory);
  std::byte* const work = memory + Exchange<kTx, kBits>::kBytes;
  const auto thread = static_cast<int>(threadIdx.x);
  const Exchange<kTx, kBits> mine(exchange, thread);
  const Tile tile = find_tile(shape, job, *tally, blockIdx.x);
  const Alphabets alphabets = alphabets_of(shape, job, tile);
  const Triangle<kTx> r = triangulate_vector<kTx>(tile, shape, shape.mixed, alphabets);
  mine.put(r);
  __syncthreads();
  const int number = thread / kThreads;
  if (number < layout.groups) {
    const auto group = cooperative_groups::tiled_partition<kThreads>(cooperative_groups::this_thread_block());
    auto search = begin(group, work + number * layout.of_group);
    const float* const priors = shape.prior ? job.prior + tile.first * shape.llrs() : nullptr;
    for (int v = number; v < tile.count; v += layout.groups)
      search(Exchange<kTx, kBits>(exchange, v), priors ? priors + v * shape.llrs() : nullptr,
             shape.by_port ? alphabets_of(shape, job, (tile.first + v) / shape.vectors) : shape.sent);
  }
  __syncthreads();
  Results results(shape, job, tile, r.erased, work);
  results.put_distance(r.unscaled(mine.least() + r.residual));
#pragma unroll
  for (int m = 0; m < kTx; ++m) {
    float llr[kBits];
#pragma unroll
    for (int b = 0; b < kBits; ++b) {
      const float prior = shape.mixed   ? mixed_prior_of(shape, job, tile, alphabets, r.antenna[m], b)
                          : shape.prior ? prior_of(shape, job, tile, r.antenna[m], b)
                                        : 0;
      llr[b] = fminf(fmaxf(mine.gap(m, b) / r.noise - prior, -clip), clip);
    }
    if (shape.mixed)
      results.put_mixed_antenna(alphabets.of(r.antenna[m]), r.antenna[m], llr);
    else
      results.put_antenna(r.antenna[m], llr);
  }
  results.flush();
  count_erased(job, tally, r.erased && tile.has_vector());
}

/// The whole kernel of a detector with one list of paths (paths.cuh). `choose(paths)` puts a row's paths and returns
/// their number.
template <int kTx, int kBits, class Choose>
__device__ void search_vectors(const DetectorShape& shape, const DetectorJob& job, Tally* tally,
                               const SearchLayout& layout, int most, float clip, const Choose& choose) {
  search_tile<kTx, kBits>(shape, job, tally, layout, clip, [&](const VectorThreads<kBits>& group, std::byte* memory) {
    return [&, paths = TilePaths<kTx, kBits>(group, most, memory)](const Exchange<kTx, kBits>& x, const float* prior,
                                                                   const Alphabets& alphabets) mutable {
      paths.descend(x, prior, shape.mixed, alphabets, [&] { return choose(paths); });
    };
  });
}

/// A kernel of search_tile, and the shared memory of its groups.
struct SearchKernel {
  void (*kernel)(DetectorShape, DetectorJob, Tally*, SearchLayout, int, float);
  std::size_t of_group;
};

/// Detects with the kernel that `kernel_for<tx, bits>()` gives. It gets `most` and `clip`.
class SearchRun final : public StageRun {
 public:
  template <class KernelFor>
  SearchRun(const char* name, const DetectorShape& shape, int most, float clip, const KernelFor& kernel_for)
      : shape_(shape), most_(most), clip_(clip) {
    with_sizes(shape, [&]<int kTx, int kBits>() {
      const SearchKernel chosen = kernel_for.template operator()<kTx, kBits>();
      kernel_ = chosen.kernel;
      layout_ = layout_for<kTx, kBits>(shape, chosen.of_group);
    });
    gpu::allow_shared(kernel_, layout_.bytes, name);
  }

  std::size_t device_scratch_bytes() const noexcept override { return kTallyBytes; }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const cudaStream_t stream = gpu::stream_of(view);
    const DetectorJob job = job_of(io);
    Tally* const tally = begin_vectors(shape_, job, io.device_scratch, stream);
    kernel_<<<groups_for(shape_), kTileVectors, layout_.bytes, stream>>>(shape_, job, tally, layout_, most_, clip_);
  }

 private:
  DetectorShape shape_;
  int most_;
  float clip_;
  decltype(SearchKernel::kernel) kernel_ = nullptr;
  SearchLayout layout_{};
};

}  // namespace iqd::mimo
