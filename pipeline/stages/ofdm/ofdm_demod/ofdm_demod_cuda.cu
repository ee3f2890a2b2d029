// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "base/error.hpp"
#include "gpu/device_array.hpp"
#include "gpu/fft_kernel.cuh"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/ofdm/ofdm_demod/ofdm_demod.hpp"

namespace iqd::ofdm_demod {
namespace {

using gpu::Complex32;
using gpu::FftGroup;

/// Transforms are counted over frames, symbols and antennas, with the antennas innermost.
struct Job {
  const Complex32* frames;
  Complex32* carriers;
  const std::int32_t* found;
  std::int32_t* count;
  const Complex32* factors;
  std::int32_t rx;
  std::int32_t symbols;  // with those of the tail
  std::int32_t own_symbols;
  std::int32_t half;    // of the carriers
  std::int32_t first;   // sample of the first symbol's transform
  std::int32_t symbol;  // samples from one symbol to the next
  std::int32_t later;   // samples by which the symbols of the tail are later
  std::int32_t frame;   // samples, with those of the tail
  float scale;
};

/// The number of the transform that a point of this thread block belongs to.
template <int N> __device__ __forceinline__ std::int64_t transform_of(const gpu::FftPlace& place) {
  return static_cast<std::int64_t>(blockIdx.x) * FftGroup<N>::kFrames + (place.at - place.n) / N;
}

template <int N> struct Load {
  const Job& job;

  __device__ __forceinline__ Complex32 operator()(const gpu::FftPlace& place) const {
    const std::int64_t transform = transform_of<N>(place);
    const std::int64_t block = transform / job.rx;
    const std::int64_t row = block / job.symbols * job.rx + transform % job.rx;
    const auto s = static_cast<int>(block % job.symbols);
    const int begin = job.first + s * job.symbol + (s < job.own_symbols ? 0 : job.later);
    const float2 v = __ldcg(reinterpret_cast<const float2*>(job.frames) + row * job.frame + begin + place.n);
    return {v.x, v.y};
  }
};

template <int N> struct Store {
  const Job& job;

  /// Neighbouring carriers are rx elements apart; the thread blocks of the other antennas fill the gaps.
  __device__ __forceinline__ void operator()(const gpu::FftPlace& place, Complex32 z) const {
    const int c = place.n < N / 2 ? job.half - 1 + place.n : place.n - (N - job.half);
    if (place.n == 0 || c < 0 || c >= 2 * job.half) return;
    const std::int64_t transform = transform_of<N>(place);
    Complex32 y{z.re * job.scale, z.im * job.scale};
    if (!((y.re - y.re) + (y.im - y.im) == 0)) y = {NAN, NAN};
    job.carriers[(transform / job.rx * 2 * job.half + c) * job.rx + transform % job.rx] = y;
  }
};

template <int N> __global__ void __launch_bounds__(FftGroup<N>::kThreads, FftGroup<N>::kAtOnce)
    transform_symbols(const Job job) {
  extern __shared__ Complex32 shared[];
  __shared__ std::int32_t found;
  if (threadIdx.x == 0) {
    found = *job.found;
    if (blockIdx.x == 0) *job.count = found;
  }
  __syncthreads();
  const std::int64_t left =
      std::int64_t{found} * job.symbols * job.rx - static_cast<std::int64_t>(blockIdx.x) * FftGroup<N>::kFrames;
  if (left <= 0) return;
  const auto transforms = static_cast<int>(min(left, static_cast<std::int64_t>(FftGroup<N>::kFrames)));
  gpu::fft_frames<N>(transforms, job.factors, shared, Load<N>{job}, Store<N>{job});
}

using Kernel = gpu::FftKernel<Job>;

Kernel kernel_for(std::int64_t size) {
  const Kernel kernel = gpu::with_fft_size(
      size, [](auto n) -> Kernel { return gpu::fft_kernel<n()>(transform_symbols<n()>); }, gpu::FromSixtyFour());
  if (kernel.bytes > gpu::most_shared_bytes())
    throw SetupError(
        "ofdm_demod: the GPU has too little shared memory for a transform of 8192 points; set "
        "`backend: cpu`");
  kernel.allow("shared memory of ofdm_demod");
  return kernel;
}

class Run final : public StageRun {
 public:
  Run(const OfdmFormat& format, std::int64_t rx, float scale)
      : kernel_(kernel_for(format.fft)),
        factors_(std::span<const Complex32>(gpu::fft_factors(static_cast<int>(format.fft)))) {
    job_.factors = factors_.data();
    job_.rx = static_cast<std::int32_t>(rx);
    job_.own_symbols = static_cast<std::int32_t>(format.symbols());
    job_.symbols = static_cast<std::int32_t>(format.symbols() + format.tail_symbols());
    job_.later = static_cast<std::int32_t>(format.first_prefix() - format.prefix);
    job_.half = static_cast<std::int32_t>(format.carriers / 2);
    job_.first = static_cast<std::int32_t>(format.begin_of(0) - format.early());
    job_.symbol = static_cast<std::int32_t>(format.symbol());
    job_.frame = static_cast<std::int32_t>(format.frame + format.tail_samples());
    job_.scale = scale;
  }

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    Job job = job_;
    job.frames = io.in[0].row<const Complex32>();
    job.carriers = io.out[0].row<Complex32>();
    job.found = io.in[0].count;
    job.count = io.out[0].count;
    const unsigned groups = gpu::groups_of(io.in[0].length * job.symbols * job.rx, kernel_.frames);
    kernel_.launch(std::max(groups, 1u), gpu::stream_of(stream), job);
  }

 private:
  Kernel kernel_;
  gpu::DeviceArray<Complex32> factors_;
  Job job_{};
};

}  // namespace

IQD_CUDA_HALF(construct<Run>)

}  // namespace iqd::ofdm_demod
