// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Powers are added in double precision in an order that depends on lengths alone, so the same block gives the same
// bits.
#include <cuda_pipeline_primitives.h>

#include <algorithm>
#include <span>

#include "gpu/device_array.hpp"
#include "gpu/fft_kernel.cuh"
#include "gpu/fft_plan.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/measure/spectrum/job.cuh"
#include "pipeline/stages/measure/spectrum/spectrum.hpp"

namespace iqd::spectrum {
namespace {

using gpu::FftGroup;

/// Fetches the samples of a thread block's frames into shared memory while the previous frames are transformed. A
/// thread fetches the samples that it needs; if those are too few in a row, the warp shares the work.
template <int N> struct Fetch {
  using Group = FftGroup<N>;
  Complex32* held;

  /// Fetches the first `frames` frames from x on.
  __device__ __forceinline__ void start(const Complex32* x, int frames) const {
    if constexpr (Group::kStaged) {
#pragma unroll
      for (int j = 0; j < Group::kPoints; ++j)
        if (Group::staged(j) < frames * N) fetch(Group::staged_at(j), x + Group::staged(j));
    } else if (Group::frame() < frames) {
      const Complex32* const from = x + Group::frame() * N + Group::thread();
      const int to = gpu::read_at<N>(Group::base(), Group::thread(), 0);
#pragma unroll
      for (int e = 0; e < Group::kPoints; ++e) fetch(gpu::read_at<N>(to, 0, e), from + gpu::kFftThreads<N> * e);
    }
    __pipeline_commit();
  }
  __device__ __forceinline__ void wait(Complex32 (&v)[Group::kPoints]) const {
    __pipeline_wait_prior(0);
    if (Group::kStaged) __syncwarp();
#pragma unroll
    for (int e = 0; e < Group::kPoints; ++e) v[e] = held[gpu::read_at<N>(Group::base(), Group::thread(), e)];
    if (Group::kStaged) __syncwarp();
  }

 private:
  __device__ __forceinline__ void fetch(int to, const Complex32* from) const {
    __pipeline_memcpy_async(held + to, from, sizeof(Complex32));
  }
};

/// Adds the threads' sums of the same bins, by halves; the results are at the front of `sums`.
template <int N> __device__ void add_up(double* sums, const double (&power)[gpu::kFftPoints<N>]) {
  using Group = FftGroup<N>;
  __syncthreads();
#pragma unroll
  for (int e = 0; e < Group::kPoints; ++e)
    sums[Group::frame() * N + Group::thread() + gpu::kFftThreads<N> * e] = power[e];
  __syncthreads();
  for (int half = Group::kFrames / 2 * N; half >= N; half /= 2) {
    for (int at = static_cast<int>(threadIdx.x); at < half; at += Group::kThreads) sums[at] += sums[at + half];
    __syncthreads();
  }
}

/// Sums the powers of every gridDim.x-th piece of kFrames frames. Writes the sums, or with a single thread block the
/// spectrum.
template <int N> __global__ void __launch_bounds__(FftGroup<N>::kThreads, 512 / FftGroup<N>::kThreads)
    add_spectra(const Job job) {
  using Group = FftGroup<N>;
  extern __shared__ Complex32 shared[];
  const Frames frames = frames_of_group(job);
  const std::int64_t row = blockIdx.y;
  const Complex32* const x = job.x + row * job.x_pitch + frames.offset;
  const Fetch<N> fetch{shared + Group::kBytes / sizeof(Complex32)};
  const auto left = [&](std::int64_t f) {
    return static_cast<int>(min(max(frames.count - f, std::int64_t{0}), static_cast<std::int64_t>(Group::kFrames)));
  };
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * Group::kFrames;
  std::int64_t f = static_cast<std::int64_t>(blockIdx.x) * Group::kFrames;
  double power[Group::kPoints] = {};
  fetch.start(x + f * N, left(f));
  for (; f < frames.count; f += step) {
    Complex32 v[Group::kPoints];
    fetch.wait(v);
    // Hides from the compiler that these do not change: kept in registers, their values would spill others.
    const float* window = job.window + Group::thread();
    const Complex32* factors = job.factors;
    asm volatile("" : "+l"(window), "+l"(factors));
    fetch.start(x + (f + step) * N, left(f + step));
#pragma unroll
    for (int e = 0; e < Group::kPoints; ++e) {
      const float w = __ldg(window + gpu::kFftThreads<N> * e);
      v[e] = {v[e].re * w, v[e].im * w};
    }
    Group::sync();  // the previous transform is done
    gpu::fft_steps<N>(v, shared, factors);
    if (Group::frame() >= left(f)) continue;
#pragma unroll
    for (int e = 0; e < Group::kPoints; ++e) power[e] += squared(v[e]);
  }
  double* const sums = reinterpret_cast<double*>(shared);
  add_up<N>(sums, power);
  for (int k = static_cast<int>(threadIdx.x); k < N; k += Group::kThreads) {
    if (gridDim.x > 1)
      job.sums[(row * job.parts + blockIdx.x) * N + k] = sums[k];
    else if (frames.count > 0)
      write_bin(job, row, k, sums[k], frames.count);
  }
  if (gridDim.x == 1 && row == 0 && threadIdx.x == 0) *job.count = frames.count > 0 ? 1 : 0;
}

constexpr int kBuffers = 2;  // for the frames being transformed, and those being fetched

using Kernel = gpu::FftKernel<Job>;

Kernel kernel_for(std::int64_t size) {
  const Kernel kernel =
      gpu::with_fft_size(size, [](auto n) { return gpu::fft_kernel<n()>(add_spectra<n()>, kBuffers); });
  kernel.allow("shared memory of a spectrum");
  return kernel;
}

/// Thread blocks that run at once.
std::int64_t groups_at_once(const Kernel& kernel) {
  int each = 0;
  gpu::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel.run, kernel.threads,
                                                           static_cast<std::size_t>(kernel.bytes)),
             "querying the device");
  return std::max<std::int64_t>(1, each * gpu::count_multiprocessors());
}

/// Powers of two up to 8192: samples are read once, only sums of powers are written.
class OnePass final : public StageRun {
 public:
  OnePass(const Config& c, std::int64_t rows)
      : size_(c.size),
        rows_(rows),
        fixed_(c),
        kernel_(kernel_for(c.size)),
        most_parts_(std::max<std::int64_t>(1, groups_at_once(kernel_) / rows)),
        factors_(std::span<const Complex32>(gpu::fft_factors(static_cast<int>(c.size)))) {}

  std::size_t device_scratch_bytes() const noexcept override {
    return static_cast<std::size_t>(rows_ * most_parts_ * size_) * sizeof(double);
  }

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    Job job = fixed_.job(io);
    job.factors = factors_.data();
    job.parts =
        static_cast<int>(std::clamp<std::int64_t>((job.average + kernel_.frames - 1) / kernel_.frames, 1, most_parts_));
    const dim3 grid(static_cast<unsigned>(job.parts), static_cast<unsigned>(rows_));
    kernel_.launch(grid, gpu::stream_of(stream), job);
    if (job.parts > 1) put_finish(job, rows_, gpu::stream_of(stream));
  }

 private:
  std::int64_t size_;
  std::int64_t rows_;
  Fixed fixed_;
  Kernel kernel_;
  std::int64_t most_parts_;
  gpu::DeviceArray<Complex32> factors_;
};

constexpr unsigned kThreads = 256;

/// The windowed samples of frames `done` … of row `row`; zeros for missing frames.
__global__ void __launch_bounds__(kThreads)
    load_frames(const Job job, std::int64_t row, std::int64_t done, std::uint32_t samples, Complex32* held) {
  const Frames frames = frames_of_group(job);
  const std::uint32_t at = blockIdx.x * kThreads + threadIdx.x;
  if (at >= samples) return;
  const auto size = static_cast<std::uint32_t>(job.size);
  Complex32 v{0, 0};
  if (done + at / size < frames.count) {
    v = job.x[row * job.x_pitch + frames.offset + done * job.size + at];
    const float w = __ldg(job.window + at % size);
    v = {v.re * w, v.im * w};
  }
  held[at] = v;
}

/// Each part adds every parts-th of the held frames to its sum.
__global__ void __launch_bounds__(kBins* kSplit)
    add_powers(const Job job, std::int64_t done, int held_frames, const Complex32* held) {
  const Frames frames = frames_of_group(job);
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * kBins + threadIdx.x;
  const auto part = static_cast<int>(blockIdx.y * kSplit + threadIdx.y);
  if (k >= job.size || part >= job.parts) return;
  double* const sum = job.sums + part * job.size + k;
  double power = done == 0 ? 0 : *sum;
  const std::int64_t end = min(frames.count - done, static_cast<std::int64_t>(held_frames));
#pragma unroll 4
  for (std::int64_t f = part; f < end; f += job.parts) power += squared(held[f * job.size + k]);
  *sum = power;
}

/// Every other size, and sizes that need more shared memory than the device has, by cuFFT: frames pass through scratch,
/// as many at a time as a plan takes.
class Planned final : public StageRun {
 public:
  explicit Planned(const Config& c)
      : fixed_(c),
        plans_(c.size),
        parts_(static_cast<int>(std::clamp<std::int64_t>(kMostSums / c.size, 1, kMostParts))) {}

  std::size_t device_scratch_bytes() const noexcept override {
    return plans_.work_bytes() + plans_.held_bytes() +
           static_cast<std::size_t>(parts_ * plans_.size()) * sizeof(double);
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    Job job = fixed_.job(io);
    job.sums = reinterpret_cast<double*>(io.device_scratch + plans_.work_bytes() + plans_.held_bytes());
    job.parts = parts_;
    for (std::int64_t row = 0; row < io.in[0].rows; ++row) {
      add_row(job, row, io.device_scratch, gpu::stream_of(view));
      put_finish(job, 1, gpu::stream_of(view));
      job.y += job.y_pitch;
    }
  }

 private:
  static constexpr std::int64_t kMostSums = 1 << 18;
  static constexpr std::int64_t kMostParts = 256;

  void add_row(const Job& job, std::int64_t row, std::byte* scratch, cudaStream_t stream) const noexcept {
    auto* const held = reinterpret_cast<Complex32*>(scratch + plans_.work_bytes());
    auto* const samples_held = reinterpret_cast<cf32*>(held);
    for (std::int64_t done = 0; done < job.average; done += plans_.most()) {
      const std::int64_t now = std::min(plans_.most(), job.average - done);
      const auto samples = static_cast<std::uint32_t>(now * job.size);
      load_frames<<<gpu::groups_of(samples, kThreads), kThreads, 0, stream>>>(job, row, done, samples, held);
      plans_.run(samples_held, samples_held, now, false, scratch, stream);
      const dim3 grid(gpu::groups_of(job.size, kBins), gpu::groups_of(parts_, kSplit));
      add_powers<<<grid, dim3(kBins, kSplit), 0, stream>>>(job, done, static_cast<int>(now), held);
    }
  }

  Fixed fixed_;
  gpu::FftPlans plans_;
  int parts_;
};

std::unique_ptr<StageRun> make(const Config& config, std::int64_t rows) {
  if (gpu::fft_in_one_pass(config.size) && kBuffers * gpu::fft_shared_bytes(config.size) <= gpu::most_shared_bytes())
    return std::make_unique<OnePass>(config, rows);
  return std::make_unique<Planned>(config);
}

}  // namespace

IQD_CUDA_HALF(make)

}  // namespace iqd::spectrum
