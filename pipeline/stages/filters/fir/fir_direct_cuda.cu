// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_pipeline.h>

#include <vector>

#include "gpu/device_array.hpp"
#include "gpu/warp_sum.cuh"
#include "pipeline/stages/filters/fir/fir_methods.cuh"
#include "pipeline/stages/filters/fir/tiling.hpp"
#include "pipeline/stages/filters/products.cuh"
#include "pipeline/stages/rows.cuh"

namespace iqd::fir {
namespace {

constexpr int kThreads = 128;
using gpu::kWarp;
constexpr int kWarps = kThreads / kWarp;
/// Above this decimation adjacent outputs share few inputs, and a tile of inputs would not fit in shared memory.
constexpr std::int64_t kMostTiled = 16;
/// This many thread blocks keep the device busy. With fewer, each thread gets fewer outputs.
constexpr unsigned kBusy = 96;

/// One block of rows.
template <class Sample> struct Job {
  View<const Sample, 2> x;
  View<Sample, 2> y;
  std::int64_t start;  // the first output multiplies tap 0 by x[start]
};

using dsp::add;
using dsp::multiply_add;

template <class Sample, class Tap> struct TilesJob : Job<Sample> {
  const Tap* taps;
  Tiling tiling;
  int stride;
};

template <class Tap> __device__ void stage_taps(const Tap* from, int count, Tap* to) {
  constexpr int kEach = 16 / sizeof(Tap);
  for (int i = static_cast<int>(threadIdx.x) * kEach; i < count; i += kThreads * kEach)
    __pipeline_memcpy_async(to + i, from + i, 16);
}

/// Copies x's samples from `first` on, the i-th to `to[place(i)]`; zero if x has no such sample.
template <class Sample, class Place> __device__ void stage_inputs(const Sample* x, std::int64_t length,
                                                                  std::int64_t first, int count, Place place,
                                                                  Sample* to) {
  const auto within = [&](std::int64_t i) {
    return static_cast<int>(min(max(i, std::int64_t{0}), std::int64_t{count}));
  };
  const int begin = within(-first);
  const int end = within(length - first);
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    if (i >= begin && i < end)
      __pipeline_memcpy_async(to + place(i), x + (first + i), sizeof(Sample));
    else
      to[place(i)] = Sample();
  }
}

template <class Tap, int n> struct alignas(n * sizeof(Tap) < 16 ? n * sizeof(Tap) : 16) Taps { Tap at[n]; };

/// sum[r] += h(q) x(r - q). From tap to tap the outputs' window of inputs moves by one sample, so `each` products need
/// one load; the new sample replaces the one that leaves.
template <int each, class Sample, class Tap>
__device__ void add_products(const Sample* x, const Tap* h, int taps, Sample (&sum)[each]) {
  Sample window[each];
#pragma unroll
  for (int r = 0; r < each; ++r) window[r] = x[r];
  const auto step = [&](int u, Tap tap) {
#pragma unroll
    for (int r = each - 1; r >= 0; --r) sum[r] = multiply_add(tap, window[(r + each - u) % each], sum[r]);
    window[each - 1 - u] = x[each - 1 - u];
  };
  int q = 0;
#pragma unroll(8 / each)
  for (; q + each <= taps; q += each) {
    x -= each + 1;
    const Taps<Tap, each> tap = *reinterpret_cast<const Taps<Tap, each>*>(h + q);
#pragma unroll
    for (int u = 0; u < each; ++u) step(u, tap.at[u]);
  }
  x -= each + 1;
#pragma unroll
  for (int u = 0; u < each - 1; ++u)
    if (q + u < taps) step(u, h[q + u]);
}

/// A phase's taps in runs, each summed separately: rounding errors grow with the length of a chain of sums.
template <int each, class Sample, class Tap>
__device__ void add_phase(const Sample* x, const Tap* h, int taps, Sample (&sum)[each]) {
  constexpr int kRun = 256 / sizeof(Tap);
  for (int q = 0; q < taps; q += kRun) {
    Sample run[each] = {};
    add_products(x - Tiling::padded<each>(q), h + q, min(kRun, taps - q), run);
#pragma unroll
    for (int r = 0; r < each; ++r) add(run[r], sum[r]);
  }
}

/// A thread block computes kThreads * each outputs, a thread `each` adjacent ones. Reference:
/// y[m] = sum over k of h[k] * (start + m * decimation - k < 0 ? 0 : x[start + m * decimation - k])
template <int each, class Sample, class Tap> __global__ void __launch_bounds__(kThreads)
    filter_tiles(const TilesJob<Sample, Tap> job) {
  extern __shared__ float4 memory[];
  const Tiling& tiling = job.tiling;
  Tap* const h = reinterpret_cast<Tap*>(memory);
  Sample* const x = reinterpret_cast<Sample*>(h + tiling.piece_size());
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (kThreads * each);
  const auto outputs = static_cast<int>(min(job.y.extent(1) - first, static_cast<std::int64_t>(kThreads * each)));
  const int own = static_cast<int>(threadIdx.x) * each;

  Sample sum[each] = {};
  for (int piece = 0; piece < tiling.pieces; ++piece) {
    if (piece > 0) __syncthreads();
    stage_taps(job.taps + static_cast<std::int64_t>(piece) * tiling.piece_size(), tiling.piece_size(), h);
    const std::int64_t from = job.start + first * tiling.decimation + tiling.staged_from(piece);
    const int staged = tiling.staged((outputs + each - 1) / each * each);
    const auto stage = [&](auto place) {
      stage_inputs(job.x.row(blockIdx.y).data(), job.x.extent(1), from, staged, place, x);
    };
    if (tiling.decimation == 1)
      stage([](int i) { return Tiling::padded<each>(i); });
    else
      stage([&](int i) { return tiling.template place_of_input<each>(i, job.stride); });
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    if (own >= outputs) continue;
    for (int phase = 0; phase < tiling.phases(); ++phase)
      add_phase(x + phase * job.stride + Tiling::padded<each>(tiling.depth + own), h + phase * tiling.depth,
                tiling.taps_in(piece, phase), sum);
  }

  __syncthreads();
#pragma unroll
  for (int r = 0; r < each; ++r) x[Tiling::padded<each>(own) + r] = sum[r];
  __syncthreads();
  Sample* const y = job.y.row(blockIdx.y).data() + first;
  for (int i = static_cast<int>(threadIdx.x); i < outputs; i += kThreads) y[i] = x[Tiling::padded<each>(i)];
}

template <class Sample, class Tap> struct DotsJob : Job<Sample> {
  const Tap* taps;
  std::int64_t tap_count;
  std::int64_t decimation;
};

/// A warp computes `each` adjacent outputs, a thread every 32nd of their products.
template <int each, class Sample, class Tap> __global__ void __launch_bounds__(kThreads)
    filter_dots(const DotsJob<Sample, Tap> job) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarp) * each;
  if (first >= job.y.extent(1)) return;
  const Sample* const x = job.x.row(blockIdx.y).data();
  const auto sample = [&](int r, std::int64_t k) {
    const std::int64_t n = job.start + (first + r) * job.decimation - k;
    return n >= 0 && n < job.x.extent(1) ? x[n] : Sample();
  };
  Sample sum[each] = {};
#pragma unroll 4
  for (std::int64_t k = lane; k < job.tap_count; k += kWarp) {
    const Tap h = job.taps[k];
#pragma unroll
    for (int r = 0; r < each; ++r) sum[r] = multiply_add(h, sample(r, k), sum[r]);
  }
  Sample* const y = job.y.row(blockIdx.y).data();
#pragma unroll
  for (int r = 0; r < each; ++r) {
    const Sample all = gpu::sum_of_warp(sum[r]);
    if (lane == r && first + r < job.y.extent(1)) y[first + r] = all;
  }
}

template <class Sample> Job<Sample> job_of(const StageIo& io, std::int64_t decimation) noexcept {
  const PortIo &in = io.in[0], &out = io.out[0];
  return {in.as<const Sample>(), out.as<Sample>(), out.first * decimation - in.first};
}

template <class Sample, class Tap> class Tiles final : public StageRun {
 public:
  Tiles(const std::vector<Tap>& taps, std::int64_t decimation)
      : tiling_(std::ssize(taps), static_cast<int>(decimation)),
        most_each_(decimation <= 4   ? 8
                   : decimation <= 8 ? 4
                                     : 2) {
    std::vector<Tap> placed(static_cast<std::size_t>(tiling_.pieces) * tiling_.piece_size());
    for (std::size_t k = 0; k < taps.size(); ++k) placed[tiling_.place_of_tap(static_cast<std::int64_t>(k))] = taps[k];
    taps_ = gpu::DeviceArray<Tap>(placed);
    // A tile needs at most 60,000 bytes, and even the smallest devices have 64 KiB.
    for (const auto kernel : {filter_tiles<8, Sample, Tap>, filter_tiles<4, Sample, Tap>, filter_tiles<2, Sample, Tap>})
      gpu::allow_shared(kernel, "shared memory for a filter");
  }

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo& out = io.out[0];
    if (out.length == 0 || out.rows == 0) return;
    int each = most_each_;
    while (each > 2 && gpu::groups_of(out.length, kThreads * each) * out.rows < kBusy) each /= 2;
    if (each == 8) return launch<8>(io, stream);
    if (each == 4) return launch<4>(io, stream);
    launch<2>(io, stream);
  }

 private:
  template <int each> void launch(const StageIo& io, StreamView stream) const noexcept {
    const int stride = tiling_.stride(kThreads * each, each, sizeof(Sample));
    const std::size_t shared = tiling_.piece_size() * sizeof(Tap) + tiling_.decimation * stride * sizeof(Sample);
    const TilesJob<Sample, Tap> job{job_of<Sample>(io, tiling_.decimation), taps_.data(), tiling_, stride};
    dsp::launch_rows(filter_tiles<each, Sample, Tap>, job, io.out[0], kThreads * each, kThreads, stream, shared);
  }

  Tiling tiling_;
  int most_each_;  // outputs of a thread: as many as leave room for several tiles in shared memory
  gpu::DeviceArray<Tap> taps_;
};

template <class Sample, class Tap> class Dots final : public StageRun {
 public:
  Dots(const std::vector<Tap>& taps, std::int64_t decimation) : decimation_(decimation), taps_(taps) {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    if (io.out[0].length == 0 || io.out[0].rows == 0) return;
    if (gpu::groups_of(io.out[0].length, kWarps * 4) * io.out[0].rows < kBusy) return launch<1>(io, stream);
    launch<4>(io, stream);
  }

 private:
  template <int each> void launch(const StageIo& io, StreamView stream) const noexcept {
    const DotsJob<Sample, Tap> job{job_of<Sample>(io, decimation_), taps_.data(),
                                   static_cast<std::int64_t>(taps_.size()), decimation_};
    dsp::launch_rows(filter_dots<each, Sample, Tap>, job, io.out[0], kWarps * each, kThreads, stream);
  }

  std::int64_t decimation_;
  gpu::DeviceArray<Tap> taps_;
};

template <class Sample, class Tap>
std::unique_ptr<StageRun> make_run(const std::vector<Tap>& taps, std::int64_t decimation) {
  if (decimation <= kMostTiled) return std::make_unique<Tiles<Sample, Tap>>(taps, decimation);
  return std::make_unique<Dots<Sample, Tap>>(taps, decimation);
}

}  // namespace

std::unique_ptr<StageRun> make_direct_cuda(const CudaTaps& taps, std::int64_t decimation, Element element) {
  if (element == Element::f32) return make_run<float>(taps.real, decimation);
  if (taps.any_complex) return make_run<float2>(taps.complex, decimation);
  return make_run<float2>(taps.real, decimation);
}

}  // namespace iqd::fir
