// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "gpu/device_array.hpp"
#include "gpu/fft_kernel.cuh"
#include "gpu/fft_plan.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/filters/channelizer/channelizer.hpp"

namespace iqd::channelizer {
namespace {

using gpu::Complex32;
using gpu::FftGroup;

constexpr unsigned kThreads = 256;

/// One block, or a part of its frames.
struct Job {
  const Complex32* x;  // the newest input of frame 0
  Complex32* y;
  std::int64_t y_pitch;  // elements
  std::int64_t past;     // inputs available before x
  std::int64_t frames;
  const std::int64_t* first_at;
  const float* h;
  const int* rows;      // of the output, by channel; -1 if not selected
  const int* selected;  // channels by row
  int channels;
  int decimation;
  int taps;
};

/// The newest input of frame 0, modulo the channels.
__device__ int place_of(const Job& job) {
  return static_cast<int>(*job.first_at % job.channels * job.decimation % job.channels);
}

/// Point r of a frame's transform: the sum over those inputs whose position is r mod K. If it is not finite, both parts
/// are NaN, so that every bin of the transform is NaN.
__device__ __forceinline__ Complex32 folded(const Job& job, int channels, int place, std::int64_t frame, int r) {
  const std::int64_t newest = frame * job.decimation;
  const auto turned = static_cast<int>((newest + place - r) % channels);  // 0 … K-1, or that less K
  const int last = static_cast<int>(min(newest + job.past, std::int64_t{job.taps - 1}));
  Complex32 sum{0, 0};
  for (int l = turned < 0 ? turned + channels : turned; l <= last; l += channels) {
    const float h = __ldg(job.h + l);
    const float2 x = __ldg(reinterpret_cast<const float2*>(job.x) + (newest - l));
    sum = {fmaf(h, x.x, sum.re), fmaf(h, x.y, sum.im)};
  }
  return isfinite(sum.re) && isfinite(sum.im) ? sum : Complex32{NAN, NAN};
}

/// A power of two of channels: sums, transforms and stores in one kernel.
template <int K> __global__ void __launch_bounds__(FftGroup<K>::kThreads, FftGroup<K>::kAtOnce)
    split_frames(const Job job, const Complex32* factors) {
  extern __shared__ Complex32 shared[];
  __shared__ int place;
  if (threadIdx.x == 0) place = place_of(job);
  __syncthreads();
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * FftGroup<K>::kFrames;
  const auto load = [&](const gpu::FftPlace& at) { return folded(job, K, place, first + at.at / K, at.n); };
  const auto store = [&](const gpu::FftPlace& at, Complex32 z) {
    const int row = __ldg(job.rows + at.n);
    if (row >= 0) job.y[row * job.y_pitch + first + at.at / K] = z;
  };
  const auto frames = static_cast<int>(min(job.frames - first, std::int64_t{FftGroup<K>::kFrames}));
  gpu::fft_frames<K>(frames, factors, shared, load, store);
}

/// Frames begin … begin + count - 1, one thread per point.
__global__ void __launch_bounds__(kThreads)
    fold_frames(const Job job, std::int64_t begin, std::int64_t count, Complex32* to) {
  __shared__ int place;
  if (threadIdx.x == 0) place = place_of(job);
  __syncthreads();
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at < count * job.channels)
    to[at] = folded(job, job.channels, place, begin + at / job.channels, static_cast<int>(at % job.channels));
}

/// One thread per output of these frames, row by row.
__global__ void __launch_bounds__(kThreads)
    deal_out(const Job job, std::int64_t begin, std::int64_t count, std::int64_t rows, const Complex32* bins) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= count * rows) return;
  const std::int64_t row = at / count, frame = at % count;
  job.y[row * job.y_pitch + begin + frame] = bins[frame * job.channels + __ldg(job.selected + row)];
}

class Bank : public StageRun {
 public:
  Bank(std::int64_t channels, std::int64_t decimation, std::span<const double> taps,
       std::span<const std::int64_t> select)
      : channels_(channels), decimation_(decimation), taps_count_(std::ssize(taps)), out_(std::ssize(select)) {
    const std::vector<float> rounded(taps.begin(), taps.end());
    taps_ = gpu::DeviceArray<float>(std::span(rounded));
    std::vector<int> rows(static_cast<std::size_t>(channels), -1);
    std::vector<int> selected;
    for (const std::int64_t k : select) {
      rows[static_cast<std::size_t>(k)] = static_cast<int>(selected.size());
      selected.push_back(static_cast<int>(k));
    }
    rows_ = gpu::DeviceArray<int>(std::span<const int>(rows));
    selected_ = gpu::DeviceArray<int>(std::span<const int>(selected));
  }

 protected:
  Job job_of(const StageIo& io) const noexcept {
    const PortIo& in = io.in[0];
    const PortIo& out = io.out[0];
    const std::int64_t past = out.first * decimation_ - in.first;
    return {.x = reinterpret_cast<const Complex32*>(in.data) + past,
            .y = reinterpret_cast<Complex32*>(out.data),
            .y_pitch = out.pitch / static_cast<std::int64_t>(sizeof(Complex32)),
            .past = past,
            .frames = out.length,
            .first_at = out.first_at,
            .h = taps_.data(),
            .rows = rows_.data(),
            .selected = selected_.data(),
            .channels = static_cast<int>(channels_),
            .decimation = static_cast<int>(decimation_),
            .taps = static_cast<int>(taps_count_)};
  }

  std::int64_t channels_;
  std::int64_t decimation_;
  std::int64_t taps_count_;
  std::int64_t out_;  // channels of the output

 private:
  gpu::DeviceArray<float> taps_;
  gpu::DeviceArray<int> rows_;
  gpu::DeviceArray<int> selected_;
};

class OnePass final : public Bank {
 public:
  OnePass(std::int64_t channels, std::int64_t decimation, std::span<const double> taps,
          std::span<const std::int64_t> select)
      : Bank(channels, decimation, taps, select),
        kernel_(gpu::with_fft_size(channels, [](auto k) { return gpu::fft_kernel<k()>(split_frames<k()>); })),
        factors_(std::span<const Complex32>(gpu::fft_factors(static_cast<int>(channels)))) {
    kernel_.allow("shared memory of a channelizer");
  }

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const unsigned groups = gpu::groups_of(io.out[0].length, kernel_.frames);
    if (groups > 0) kernel_.launch(groups, gpu::stream_of(stream), job_of(io), factors_.data());
  }

 private:
  gpu::FftKernel<Job, const Complex32*> kernel_;
  gpu::DeviceArray<Complex32> factors_;
};

/// Any number of channels, by cuFFT, as many frames at a time as a plan takes.
class Planned final : public Bank {
 public:
  Planned(std::int64_t channels, std::int64_t decimation, std::span<const double> taps,
          std::span<const std::int64_t> select)
      : Bank(channels, decimation, taps, select), plans_(channels) {}

  std::size_t device_scratch_bytes() const noexcept override { return plans_.work_bytes() + plans_.held_bytes(); }

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const Job job = job_of(io);
    const cudaStream_t s = gpu::stream_of(stream);
    auto* const held = reinterpret_cast<Complex32*>(io.device_scratch + plans_.work_bytes());
    auto* const bins = reinterpret_cast<cf32*>(held);
    for (std::int64_t begin = 0; begin < job.frames; begin += plans_.most()) {
      const std::int64_t count = std::min(plans_.most(), job.frames - begin);
      fold_frames<<<gpu::groups_of(count * channels_, kThreads), kThreads, 0, s>>>(job, begin, count, held);
      plans_.run(bins, bins, count, false, io.device_scratch, s);
      deal_out<<<gpu::groups_of(count * out_, kThreads), kThreads, 0, s>>>(job, begin, count, out_, held);
    }
  }

 private:
  gpu::FftPlans plans_;
};

std::unique_ptr<StageRun> make(std::int64_t channels, std::int64_t decimation, std::span<const double> taps,
                               std::span<const std::int64_t> select) {
  const bool once = std::all_of(select.begin(), select.end(),
                                [&](std::int64_t k) { return std::count(select.begin(), select.end(), k) == 1; });
  if (once && gpu::fft_in_one_pass(channels) && gpu::fft_shared_bytes(channels) <= gpu::most_shared_bytes())
    return std::make_unique<OnePass>(channels, decimation, taps, select);
  return std::make_unique<Planned>(channels, decimation, taps, select);
}

}  // namespace

IQD_CUDA_HALF(make)

}  // namespace iqd::channelizer
