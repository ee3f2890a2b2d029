// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Powers are added in double precision in an order that depends on lengths alone, so the same block gives the same
// bits.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "gpu/device_array.hpp"
#include "gpu/fft_plan.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stages/transmit/acpr_meter/acpr_meter_cuda.hpp"

namespace iqd::acpr_meter {
namespace {

constexpr int kThreads = 256;

/// One row of one block.
struct Job {
  const float2* x;  // the first new sample
  std::int64_t size;
  std::int64_t frames;
  const float* window;
  double peak;
  double* power;        // [bin], bin size/2 is 0 Hz
  const Band* bands;    // those of levels, by kLevels, then those of carriers
  const bool* is_told;  // by kLevels
  int carriers;
  float* levels;
  float* spectrum;  // or null
  std::int32_t* levels_count;
  std::int32_t* spectrum_count;
};

/// The windowed samples of frames `done` ….
__global__ void __launch_bounds__(kThreads)
    load_frames(const Job job, std::int64_t done, std::int64_t samples, float2* held) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= samples) return;
  const std::int64_t frame = at / job.size;
  const std::int64_t i = at - frame * job.size;
  const float2 v = job.x[(done + frame) * (job.size / 2) + i];
  const float w = __ldg(job.window + i);
  held[at] = {v.x * w, v.y * w};
}

/// Each thread a bin; goes on where it was.
__global__ void __launch_bounds__(kThreads)
    add_powers(const Job job, std::int64_t done, std::int64_t frames, const float2* held) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (k >= job.size) return;
  const std::int64_t middle = job.size / 2;
  double* const sum = job.power + (k < job.size - middle ? k + middle : k - (job.size - middle));
  double power = done == 0 ? 0 : *sum;
#pragma unroll 4
  for (std::int64_t f = 0; f < frames; ++f) {
    const float2 v = held[f * job.size + k];
    const double re = v.x, im = v.y;
    power += re * re + im * im;
  }
  *sum = done + frames == job.frames ? power / static_cast<double>(job.frames) : power;
}

__global__ void __launch_bounds__(kThreads) write_spectrum(const Job job) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (k < job.size) job.spectrum[k] = decibels(job.power[k] / job.peak);
}

/// All threads of the group get to know.
__device__ double power_within_group(const Job& job, const Band& band) {
  __shared__ double sums[kThreads];
  const BandOfBins bins(band, job.size);
  double sum = 0;
  for (std::int64_t k = bins.begin + threadIdx.x; k < bins.end; k += kThreads) sum += job.power[k] * bins.share(k);
  sums[threadIdx.x] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  sum = sums[0];
  __syncthreads();  // before the next band's sums are written
  return sum;
}

/// One group.
__global__ void __launch_bounds__(kThreads) write_levels(const Job job) {
  constexpr int kCount = static_cast<int>(kLevels.size());
  if (threadIdx.x == 0) *job.levels_count = *job.spectrum_count = job.frames > 0 ? 1 : 0;
  if (job.frames == 0) return;
  double carrier = 0;
  for (int c = 0; c < job.carriers; ++c) carrier += power_within_group(job, job.bands[kCount + c]) / job.carriers;
  const bool any = carrier > 0 && isfinite(carrier);
  for (int l = 0; l < kCount; ++l) {
    float level = nanf("");
    if (any && l == 0)
      level = decibels(carrier);
    else if (any && job.is_told[l])
      level = decibels(power_within_group(job, job.bands[l]) / carrier);
    if (threadIdx.x == 0) job.levels[l] = level;
  }
}

/// Frames pass through scratch, as many at a time as a plan takes.
class Run final : public StageRun {
 public:
  Run(const Bands& bands, std::int64_t size, std::int64_t average)
      : average_(average), carriers_(static_cast<int>(bands.carriers().size())), plans_(size) {
    const WelchWindow window = welch_window(size);
    peak_ = window.peak;
    window_ = gpu::DeviceArray<float>(std::span(window.values));
    std::vector<Band> all(kLevels.size());
    bool is_told[kLevels.size()] = {};
    for (std::size_t l = 0; l < kLevels.size(); ++l) {
      is_told[l] = bands.level(l).has_value();
      all[l] = bands.level(l).value_or(Band{});
    }
    all.insert(all.end(), bands.carriers().begin(), bands.carriers().end());
    bands_ = gpu::DeviceArray<Band>(std::span<const Band>(all));
    is_told_ = gpu::DeviceArray<bool>(std::span<const bool>(is_told));
  }

  std::size_t device_scratch_bytes() const noexcept override {
    return plans_.work_bytes() + held_bytes() + static_cast<std::size_t>(plans_.size()) * sizeof(double);
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    const PortIo& in = io.in[0];
    const PortIo& levels = io.out[0];
    const PortIo& spectrum = io.out[1];
    Job job{};
    job.size = plans_.size();
    job.frames = welch_frames(io.end_new - io.first_new, job.size, average_);
    job.window = window_.data();
    job.peak = peak_;
    job.power = reinterpret_cast<double*>(io.device_scratch + plans_.work_bytes() + held_bytes());
    job.bands = bands_.data();
    job.is_told = is_told_.data();
    job.carriers = carriers_;
    job.levels_count = levels.count;
    job.spectrum_count = spectrum.count;
    for (std::int64_t row = 0; row < in.rows; ++row) {
      job.x = reinterpret_cast<const float2*>(in.data + row * in.pitch) + (io.first_new - in.first);
      job.levels = reinterpret_cast<float*>(levels.data + row * levels.pitch);
      if (spectrum.data != nullptr) job.spectrum = reinterpret_cast<float*>(spectrum.data + row * spectrum.pitch);
      put_row(job, io.device_scratch, gpu::stream_of(view));
    }
  }

 private:
  std::size_t held_bytes() const noexcept {
    return static_cast<std::size_t>(plans_.most() * plans_.size() * static_cast<std::int64_t>(sizeof(cf32)) + 255) /
           256 * 256;
  }

  void put_row(const Job& job, std::byte* scratch, cudaStream_t stream) const noexcept {
    auto* const held = reinterpret_cast<float2*>(scratch + plans_.work_bytes());
    auto* const samples_held = reinterpret_cast<cf32*>(held);
    const unsigned bins = gpu::groups_of(job.size, kThreads);
    for (std::int64_t done = 0; done < job.frames; done += plans_.most()) {
      const std::int64_t now = std::min(plans_.most(), job.frames - done);
      const std::int64_t samples = now * job.size;
      load_frames<<<gpu::groups_of(samples, kThreads), kThreads, 0, stream>>>(job, done, samples, held);
      plans_.run(samples_held, samples_held, now, false, scratch, stream);
      add_powers<<<bins, kThreads, 0, stream>>>(job, done, now, held);
    }
    if (job.spectrum != nullptr && job.frames > 0) write_spectrum<<<bins, kThreads, 0, stream>>>(job);
    write_levels<<<1, kThreads, 0, stream>>>(job);
  }

  std::int64_t average_;
  int carriers_;
  gpu::FftPlans plans_;
  double peak_ = 1;
  gpu::DeviceArray<float> window_;
  gpu::DeviceArray<Band> bands_;
  gpu::DeviceArray<bool> is_told_;
};

std::unique_ptr<StageRun> make(const Bands& bands, std::int64_t size, std::int64_t average) {
  return std::make_unique<Run>(bands, size, average);
}

}  // namespace

const void* cuda_half();
const void* cuda_half() {
  static constexpr CudaHalf half{make};
  return &half;
}

}  // namespace iqd::acpr_meter
