// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "gpu/device_array.hpp"
#include "gpu/fft_kernel.cuh"
#include "gpu/fft_plan.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/fft/fft.hpp"

namespace iqd::fft {
namespace {

using gpu::Complex32;
using gpu::FftGroup;

struct Job {
  View<const Complex32, 2> x;
  View<Complex32, 2> y;
  std::int64_t skipped;  // samples of x before the first frame
  std::int64_t frames;
  const float* window;
  const Complex32* factors;
  int shift_before;  // half of the size, or 0
  int shift_after;
};

/// Loads a point: windowed, and from the other half if shifted. For an inverse transform it swaps real and imaginary
/// part: a forward transform with the parts of its inputs and outputs swapped is an inverse one.
template <bool Inverse, bool Windowed> struct Load {
  const Complex32* x;
  const float* window;
  int shift;

  __device__ __forceinline__ Complex32 operator()(const gpu::FftPlace& place) const {
    float2 v = __ldcg(reinterpret_cast<const float2*>(x) + place.at_across(shift));
    if constexpr (Windowed) {
      const float w = __ldg(window + place.n_across(shift));
      v = {v.x * w, v.y * w};
    }
    return Inverse ? Complex32{v.y, v.x} : Complex32{v.x, v.y};
  }
};

template <bool Inverse> struct Store {
  Complex32* y;
  int shift;

  __device__ __forceinline__ void operator()(const gpu::FftPlace& place, Complex32 z) const {
    reinterpret_cast<float2*>(y)[place.at_across(shift)] = Inverse ? float2{z.im, z.re} : float2{z.re, z.im};
  }
};

template <int N, bool Inverse, bool Windowed>
__global__ void __launch_bounds__(FftGroup<N>::kThreads, FftGroup<N>::kAtOnce) transform_frames(const Job job) {
  extern __shared__ Complex32 shared[];
  const std::int64_t row = blockIdx.y;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * FftGroup<N>::kFrames;
  const Load<Inverse, Windowed> load{&job.x(row, job.skipped + first * N), job.window, job.shift_before};
  const Store<Inverse> store{&job.y(row, first * N), job.shift_after};
  const auto frames = static_cast<int>(min(job.frames - first, static_cast<std::int64_t>(FftGroup<N>::kFrames)));
  gpu::fft_frames<N>(frames, job.factors, shared, load, store);
}

using Kernel = gpu::FftKernel<Job>;

template <bool Inverse, bool Windowed> Kernel kernel_for(std::int64_t size) {
  return gpu::with_fft_size(size,
                            [](auto n) { return gpu::fft_kernel<n()>(transform_frames<n(), Inverse, Windowed>); });
}

Kernel kernel_for(const Config& c) {
  const bool windowed = c.window != Window::rectangular;
  const Kernel kernel = c.inverse ? (windowed ? kernel_for<true, true>(c.size) : kernel_for<true, false>(c.size))
                                  : (windowed ? kernel_for<false, true>(c.size) : kernel_for<false, false>(c.size));
  kernel.allow("shared memory of a transform");
  return kernel;
}

gpu::DeviceArray<float> window_of(const Config& c) {
  if (c.window == Window::rectangular) return {};
  const std::vector<double> w = make_window(c.window, c.size, c.beta);
  const std::vector<float> rounded(w.begin(), w.end());
  return gpu::DeviceArray<float>(std::span(rounded));
}

Job job_of(const StageIo& io, std::int64_t size) {
  const PortIo &in = io.in[0], &out = io.out[0];
  return {.x = in.as<const Complex32>(),
          .y = out.as<Complex32>(),
          .skipped = out.first * size - in.first,
          .frames = out.length};
}

/// Powers of two up to 8192: one kernel that reads and writes memory once.
class OnePass final : public StageRun {
 public:
  explicit OnePass(const Config& c)
      : size_(c.size),
        shift_before_(c.shift && c.inverse ? static_cast<int>(c.size / 2) : 0),
        shift_after_(c.shift && !c.inverse ? static_cast<int>(c.size / 2) : 0),
        kernel_(kernel_for(c)),
        window_(window_of(c)),
        factors_(std::span<const Complex32>(gpu::fft_factors(static_cast<int>(c.size)))) {}

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    Job job = job_of(io, size_);
    job.window = window_.data();
    job.factors = factors_.data();
    job.shift_before = shift_before_;
    job.shift_after = shift_after_;
    const dim3 grid(gpu::groups_of(job.frames, kernel_.frames), static_cast<unsigned>(io.out[0].rows));
    if (grid.x > 0 && grid.y > 0) kernel_.launch(grid, gpu::stream_of(stream), job);
  }

 private:
  std::int64_t size_;
  int shift_before_;
  int shift_after_;
  Kernel kernel_;
  gpu::DeviceArray<float> window_;
  gpu::DeviceArray<Complex32> factors_;
};

constexpr unsigned kThreads = 256;

/// y(f, i) = w(j) x(f, j) where j = (i + middle) mod size; without a window w = 1. `samples` counts those of all
/// frames.
__global__ void __launch_bounds__(kThreads) move_frames(const float2* x, float2* y, std::uint32_t samples,
                                                        std::uint32_t size, std::uint32_t middle, const float* window) {
  const std::uint32_t at = blockIdx.x * kThreads + threadIdx.x;
  if (at >= samples) return;
  const std::uint32_t i = at % size;
  const std::uint32_t j = i < size - middle ? i + middle : i - (size - middle);
  const float2 v = x[at - i + j];
  if (!window) return static_cast<void>(y[at] = v);
  const float w = __ldg(window + j);
  y[at] = {v.x * w, v.y * w};
}

bool on_device(const void* memory) {
  cudaPointerAttributes attributes;
  return cudaPointerGetAttributes(&attributes, memory) == cudaSuccess && attributes.type == cudaMemoryTypeDevice;
}
bool aligned(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % 16 == 0;
}

/// Every other size, and sizes that need more shared memory than the device has, by cuFFT. It may access its input and
/// output several times. So frames that are not in device memory, windowed, shifted or unaligned go through scratch, as
/// many at a time as a plan takes.
class Planned final : public StageRun {
 public:
  explicit Planned(const Config& c)
      : inverse_(c.inverse),
        middle_before_(c.shift && c.inverse ? c.size / 2 : 0),
        middle_after_(c.shift && !c.inverse ? (c.size + 1) / 2 : 0),
        window_(window_of(c)),
        plans_(c.size) {}

  std::size_t device_scratch_bytes() const noexcept override { return plans_.work_bytes() + plans_.held_bytes(); }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const Job job = job_of(io, plans_.size());
    if (job.frames <= 0) return;
    for (std::int64_t row = 0; row < io.out[0].rows; ++row)
      run_row(io.in[0].row<const cf32>(row) + job.skipped, io.out[0].row<cf32>(row), job.frames, io.device_scratch,
              gpu::stream_of(view));
  }

 private:
  void run_row(const cf32* x, cf32* y, std::int64_t frames, std::byte* scratch, cudaStream_t stream) const noexcept {
    const bool from_x = window_.empty() && middle_before_ == 0 && aligned(x) && on_device(x);
    const bool to_y = middle_after_ == 0 && aligned(y) && on_device(y);
    auto* const held = reinterpret_cast<cf32*>(scratch + plans_.work_bytes());
    const std::int64_t most = from_x && to_y ? frames : plans_.most();
    for (std::int64_t done = 0; done < frames; done += most) {
      const std::int64_t now = std::min(most, frames - done);
      const cf32* const from = x + done * plans_.size();
      cf32* const to = y + done * plans_.size();
      if (!from_x) move(from, held, now, middle_before_, window_.data(), stream);
      plans_.run(from_x ? from : held, to_y ? to : held, now, inverse_, scratch, stream);
      if (!to_y) move(held, to, now, middle_after_, nullptr, stream);
    }
  }

  void move(const cf32* from, cf32* to, std::int64_t frames, std::int64_t middle, const float* window,
            cudaStream_t stream) const noexcept {
    const auto samples = static_cast<std::uint32_t>(frames * plans_.size());
    move_frames<<<gpu::groups_of(samples, kThreads), kThreads, 0, stream>>>(
        reinterpret_cast<const float2*>(from), reinterpret_cast<float2*>(to), samples,
        static_cast<std::uint32_t>(plans_.size()), static_cast<std::uint32_t>(middle), window);
  }

  bool inverse_;
  std::int64_t middle_before_;
  std::int64_t middle_after_;
  gpu::DeviceArray<float> window_;
  gpu::FftPlans plans_;
};

std::unique_ptr<StageRun> make(const Config& config) {
  if (gpu::fft_in_one_pass(config.size) && gpu::fft_shared_bytes(config.size) <= gpu::most_shared_bytes())
    return std::make_unique<OnePass>(config);
  return std::make_unique<Planned>(config);
}

}  // namespace

IQD_CUDA_HALF(make)

}  // namespace iqd::fft
