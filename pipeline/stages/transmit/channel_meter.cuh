// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "gpu/device_array.hpp"
#include "gpu/fft_plan.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stages/transmit/channel_meter.hpp"

/// The meter on the GPU. Powers are summed in double precision, in an order that depends only on lengths, so the same
/// block gives the same bits.
namespace iqd::acpr_meter {

inline constexpr int kMeterThreads = 256;

struct MeterJob {
  const float2* x;
  std::int64_t size;
  std::int64_t frames;
  const float* window;
  double peak;
  double* power;        // [bin], bin size/2 is 0 Hz
  const Band* bands;    // of the levels, by kLevels, then of the carriers
  const bool* is_told;  // by kLevels
  int carriers;
  float* levels;
  float* spectrum;  // or null
};

/// The windowed samples of frames from `done` on.
static __global__ void __launch_bounds__(kMeterThreads)
    load_frames(const MeterJob job, std::int64_t done, std::int64_t samples, float2* held) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kMeterThreads + threadIdx.x;
  if (at >= samples) return;
  const std::int64_t frame = at / job.size;
  const std::int64_t i = at - frame * job.size;
  const float2 v = job.x[(done + frame) * (job.size / 2) + i];
  const float w = __ldg(job.window + i);
  held[at] = {v.x * w, v.y * w};
}

/// One thread per bin; adds to the sums so far.
static __global__ void __launch_bounds__(kMeterThreads)
    add_powers(const MeterJob job, std::int64_t done, std::int64_t frames, const float2* held) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * kMeterThreads + threadIdx.x;
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

static __global__ void __launch_bounds__(kMeterThreads) write_spectrum(const MeterJob job) {
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * kMeterThreads + threadIdx.x;
  if (k < job.size) job.spectrum[k] = decibels(job.power[k] / job.peak);
}

/// Returns the sum to all threads of the thread block.
static __device__ double power_within_group(const MeterJob& job, const Band& band) {
  __shared__ double sums[kMeterThreads];
  const BandOfBins bins(band, job.size);
  double sum = 0;
  for (std::int64_t k = bins.begin + threadIdx.x; k < bins.end; k += kMeterThreads) sum += job.power[k] * bins.share(k);
  sums[threadIdx.x] = sum;
  for (int half = kMeterThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  sum = sums[0];
  __syncthreads();  // before the next band's sums are written
  return sum;
}

/// Runs in one thread block.
static __global__ void __launch_bounds__(kMeterThreads) write_levels(const MeterJob job) {
  constexpr int kCount = static_cast<int>(kLevels.size());
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

/// Created once; many threads may use it, each with its own scratch. Frames pass through scratch, as many at a time as
/// the FFT plan takes.
class CudaMeter {
 public:
  CudaMeter(const Bands& bands, std::int64_t size, std::int64_t average)
      : average_(average), carriers_(static_cast<int>(bands.carriers().size())), plans_(size) {
    const WelchWindow window = welch_window(size);
    peak_ = window.peak;
    window_ = gpu::DeviceArray<float>(std::span<const float>(window.values.data(), window.values.size()));
    const std::span<const Band> carriers = bands.carriers();
    std::vector<Band> all(kLevels.size() + carriers.size());
    bool is_told[kLevels.size()] = {};
    for (std::size_t l = 0; l < kLevels.size(); ++l) {
      is_told[l] = bands.level(l).has_value();
      all[l] = bands.level(l).value_or(Band{});
    }
    std::copy(carriers.begin(), carriers.end(), all.begin() + kLevels.size());
    bands_ = gpu::DeviceArray<Band>(std::span<const Band>(all));
    is_told_ = gpu::DeviceArray<bool>(std::span<const bool>(is_told));
  }

  /// Device memory. It begins at a multiple of 256.
  std::size_t scratch_bytes() const noexcept {
    return plans_.work_bytes() + plans_.held_bytes() + static_cast<std::size_t>(plans_.size()) * sizeof(double);
  }

  /// Returns the number of frames measured; if there are none, nothing is written. The spectrum may be null if nothing
  /// reads it.
  std::int64_t run(const float2* x, std::int64_t samples, float* levels, float* spectrum, std::byte* scratch,
                   cudaStream_t stream) const noexcept {
    MeterJob job{};
    job.x = x;
    job.size = plans_.size();
    job.frames = welch_frames(samples, job.size, average_);
    job.window = window_.data();
    job.peak = peak_;
    job.power = reinterpret_cast<double*>(scratch + plans_.work_bytes() + plans_.held_bytes());
    job.bands = bands_.data();
    job.is_told = is_told_.data();
    job.carriers = carriers_;
    job.levels = levels;
    job.spectrum = spectrum;
    if (job.frames > 0) put(job, scratch, stream);
    return job.frames;
  }

 private:
  void put(const MeterJob& job, std::byte* scratch, cudaStream_t stream) const noexcept {
    auto* const held = reinterpret_cast<float2*>(scratch + plans_.work_bytes());
    auto* const samples_held = reinterpret_cast<cf32*>(held);
    const unsigned bins = gpu::groups_of(job.size, kMeterThreads);
    for (std::int64_t done = 0; done < job.frames; done += plans_.most()) {
      const std::int64_t now = std::min(plans_.most(), job.frames - done);
      const std::int64_t samples = now * job.size;
      load_frames<<<gpu::groups_of(samples, kMeterThreads), kMeterThreads, 0, stream>>>(job, done, samples, held);
      plans_.run(samples_held, samples_held, now, false, scratch, stream);
      add_powers<<<bins, kMeterThreads, 0, stream>>>(job, done, now, held);
    }
    if (job.spectrum != nullptr) write_spectrum<<<bins, kMeterThreads, 0, stream>>>(job);
    write_levels<<<1, kMeterThreads, 0, stream>>>(job);
  }

  std::int64_t average_;
  int carriers_;
  gpu::FftPlans plans_;
  double peak_ = 1;
  gpu::DeviceArray<float> window_;
  gpu::DeviceArray<Band> bands_;
  gpu::DeviceArray<bool> is_told_;
};

}  // namespace iqd::acpr_meter
