// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "gpu/device_array.hpp"
#include "gpu/fft_radix.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/measure/spectrum/spectrum.hpp"

/// Shared by both methods: which frames exist, and the conversion of power sums to decibels.
namespace iqd::spectrum {
namespace {

using gpu::Complex32;

struct Job {
  const Complex32* x;  // row 0, position *x_first
  std::int64_t x_pitch;
  const std::int64_t* x_first;
  std::int64_t begin;  // of the block, from *x_first on
  std::int64_t length;
  std::int64_t size;
  std::int64_t average;  // or the maximum number of frames
  const float* window;
  const Complex32* factors;
  double* sums;  // [row][part][bin]
  int parts;
  float* y;
  std::int64_t y_pitch;
  std::int32_t* count;
  double reference;
  double least;  // the power that reads kFloorDb
};

/// The frames that lie wholly in the block. The block's beginning is known only when the kernel runs.
struct Frames {
  std::int64_t offset;  // of the first, from x
  std::int64_t count;
};

__device__ Frames frames_of(const Job& job) {
  const std::int64_t x_first = *job.x_first;
  const std::int64_t begin = x_first + job.begin;
  const std::int64_t first = (begin + job.size - 1) / job.size;
  const std::int64_t whole = max((begin + job.length) / job.size - first, std::int64_t{0});
  return {first * job.size - x_first, min(job.average, whole)};
}

/// One thread computes it for its thread block, since positions may be in host memory.
__device__ Frames frames_of_group(const Job& job) {
  __shared__ Frames frames;
  if (threadIdx.x == 0 && threadIdx.y == 0) frames = frames_of(job);
  __syncthreads();
  return frames;
}

__device__ void write_bin(const Job& job, std::int64_t row, std::int64_t k, double power, std::int64_t frames) {
  const double p = power * (1 / (job.reference * static_cast<double>(frames)));
  const double db = p < job.least ? kFloorDb : 10 * log10(p);
  const std::int64_t middle = job.size / 2;
  job.y[row * job.y_pitch + (k < job.size - middle ? k + middle : k - (job.size - middle))] = static_cast<float>(db);
}

__device__ double squared(Complex32 v) {
  const double re = v.re;
  const double im = v.im;
  return re * re + im * im;
}

constexpr int kBins = 32;
constexpr int kSplit = 8;

/// From the sums of all thread blocks to the spectrum.
__global__ void __launch_bounds__(kBins* kSplit) finish(const Job job) {
  __shared__ double split[kSplit][kBins];
  const Frames frames = frames_of_group(job);
  const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * kBins + threadIdx.x;
  const std::int64_t row = blockIdx.y;
  if (blockIdx.x == 0 && row == 0 && threadIdx.x == 0 && threadIdx.y == 0) *job.count = frames.count > 0 ? 1 : 0;
  if (frames.count == 0) return;
  double sum = 0;
  const double* const sums = job.sums + row * job.parts * job.size + k;
  if (k < job.size) {
#pragma unroll 4
    for (int part = static_cast<int>(threadIdx.y); part < job.parts; part += kSplit) sum += sums[part * job.size];
  }
  split[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || k >= job.size) return;
  for (int s = 1; s < kSplit; ++s) sum += split[s][threadIdx.x];
  write_bin(job, row, k, sum, frames.count);
}

void put_finish(const Job& job, std::int64_t rows, cudaStream_t stream) {
  const dim3 grid(gpu::groups_of(job.size, kBins), static_cast<unsigned>(rows));
  finish<<<grid, dim3(kBins, kSplit), 0, stream>>>(job);
}

/// The window and other values that do not change from block to block.
class Fixed {
 public:
  explicit Fixed(const Config& c) : size_(c.size), average_(c.average), least_(std::pow(10.0, kFloorDb / 10.0)) {
    const std::vector<double> w = make_window(c.window, c.size, c.beta);
    const std::vector<float> rounded(w.begin(), w.end());
    window_ = gpu::DeviceArray<float>(std::span(rounded));
    const double sum = std::accumulate(w.begin(), w.end(), 0.0);
    reference_ = sum * sum;
  }

  Job job(const StageIo& io) const noexcept {
    const PortIo& in = io.in[0];
    const PortIo& out = io.out[0];
    Job job{};
    job.x = reinterpret_cast<const Complex32*>(in.data);
    job.x_pitch = in.pitch / static_cast<std::int64_t>(sizeof(Complex32));
    job.x_first = in.first_at;
    job.begin = io.first_new - in.first;
    job.length = io.end_new - io.first_new;
    job.size = size_;
    const std::int64_t most = std::max<std::int64_t>(job.length, 0) / size_;
    job.average = average_ > 0 ? std::min(average_, most) : most;
    job.window = window_.data();
    job.sums = reinterpret_cast<double*>(io.device_scratch);
    job.y = reinterpret_cast<float*>(out.data);
    job.y_pitch = out.pitch / static_cast<std::int64_t>(sizeof(float));
    job.count = out.count;
    job.reference = reference_;
    job.least = least_;
    return job;
  }

 private:
  std::int64_t size_;
  std::int64_t average_;
  double least_;
  double reference_ = 1;
  gpu::DeviceArray<float> window_;
};

}  // namespace
}  // namespace iqd::spectrum
