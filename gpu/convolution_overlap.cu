// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/convolution_methods.hpp"
#include "gpu/device_array.hpp"
#include "gpu/overlap_save.cuh"
#include "gpu/runtime.hpp"

namespace iqd::gpu {
namespace {

struct Job {
  TapRows h;
  Complex32* responses;  // [filter][N]
  const Complex32* factors;
  const Complex32* factors_back;
  const float2* x;
  std::int64_t x_pitch;
  float2* y;
  std::int64_t y_pitch;
  int signal;
  int outputs;
  int skip;
  int step;
  int each;  // segments per packet; they are counted through all packets
  std::int64_t segments;
};

/// The filters' transforms, with the 1/N that the inverse transform omits.
template <int N> __global__ void __launch_bounds__(FftGroup<N>::kThreads, FftGroup<N>::kAtOnce)
    transform_filters(const Job job) {
  using Group = FftGroup<N>;
  extern __shared__ Complex32 shared[];
  const std::int64_t filter = static_cast<std::int64_t>(blockIdx.x) * Group::kFrames + Group::frame();
  const bool mine = filter < job.h.rows;
  const int t = Group::thread();
  const float2* const h = job.h.data + filter * job.h.pitch;
  Complex32 v[Group::kPoints] = {};
#pragma unroll
  for (int e = 0; e < Group::kPoints; ++e) {
    const int k = t + e * kFftThreads<N>;
    if (mine && k < job.h.taps) v[e] = {h[k].x, h[k].y};
  }
  fft_steps<N>(v, shared, job.factors);
  if (!mine) return;
  Complex32* const response = job.responses + filter * N + t;
#pragma unroll
  for (int e = 0; e < Group::kPoints; ++e) response[e * kFftThreads<N>] = {v[e].re * (1.0f / N), v[e].im * (1.0f / N)};
}

/// A sample has the same index in its packet as the output in its place.
template <int N> __global__ void __launch_bounds__(FftGroup<N>::kThreads, FftGroup<N>::kAtOnce)
    convolve_segments(const Job job) {
  using Group = FftGroup<N>;
  extern __shared__ Complex32 shared[];
  const std::int64_t segment = static_cast<std::int64_t>(blockIdx.x) * Group::kFrames + Group::frame();
  const bool mine = segment < job.segments;
  const std::int64_t packet = mine ? segment / job.each : 0;
  const int first = static_cast<int>(segment - packet * job.each) * job.step - job.skip;
  const float2* const x = job.x + packet * job.x_pitch;
  float2* const y = job.y + packet * job.y_pitch;
  const auto load = [&](int n) {
    if (!mine || first + n < 0 || first + n >= job.signal) return Complex32{};
    const float2 sample = __ldcg(x + (first + n));
    return Complex32{sample.x, sample.y};
  };
  const auto store = [&](int n, Complex32 z) {
    if (mine && n >= job.skip && first + n < job.outputs) y[first + n] = {z.re, z.im};
  };
  const Complex32* const response = job.responses + (job.h.rows > 1 ? packet * N : 0);
  convolve_frame<N>(response, job.factors, job.factors_back, shared, load, store);
}

struct Kernels {
  FftKernel<Job> filters;
  FftKernel<Job> segments;
};

Kernels kernels_of(std::int64_t size) {
  return with_overlap_size(size, [](auto n) {
    return Kernels{fft_kernel<n()>(transform_filters<n()>), fft_kernel<n()>(convolve_segments<n()>)};
  });
}

class OverlapSave final : public Convolver {
 public:
  OverlapSave(const ConvolutionShape& shape, std::int64_t size)
      : shape_(shape),
        segments_(segments_of(shape, size)),
        kernels_(kernels_of(size)),
        factors_(std::span<const Complex32>(fft_factors(static_cast<int>(size)))) {
    for (const auto& kernel : {kernels_.filters, kernels_.segments}) kernel.allow("shared memory of a convolution");
  }

  std::size_t scratch_bytes() const noexcept override {
    return joined_bytes(shape_) + static_cast<std::size_t>(shape_.filters() * segments_.size) * sizeof(Complex32);
  }
  double flops() const noexcept override { return segment_flops(shape_, segments_); }

  void run(const ConvolutionIo& io, std::byte* scratch, StreamView stream) const noexcept override {
    Job job{};
    job.h = join_filters(io, scratch, stream_of(stream));
    job.responses = reinterpret_cast<Complex32*>(scratch + joined_bytes(shape_));
    job.factors = factors_.data();
    job.factors_back = factors_.data();
    job.x = reinterpret_cast<const float2*>(io.x.data());
    job.x_pitch = io.x.stride(0);
    job.y = reinterpret_cast<float2*>(io.y.data());
    job.y_pitch = io.y.stride(0);
    job.signal = static_cast<int>(shape_.signal);
    job.outputs = static_cast<int>(shape_.outputs());
    job.skip = static_cast<int>(segments_.skip);
    job.step = static_cast<int>(segments_.step);
    job.each = static_cast<int>(segments_.count);
    job.segments = segments_.count * io.x.extent(0);
    put(kernels_.filters, job, job.h.rows, stream_of(stream));
    put(kernels_.segments, job, job.segments, stream_of(stream));
  }

 private:
  static void put(const FftKernel<Job>& kernel, const Job& job, std::int64_t frames, cudaStream_t stream) noexcept {
    const unsigned groups = groups_of(frames, kernel.frames);
    if (groups > 0) kernel.launch(groups, stream, job);
  }

  ConvolutionShape shape_;
  Segments segments_;
  Kernels kernels_;
  DeviceArray<Complex32> factors_;
};

/// Whether thread blocks of the current device may have so much shared memory; without a device, always true.
bool has_shared(int bytes) {
  int device = 0, most = 0;
  if (cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess)
    return bytes <= most;
  cudaGetLastError();
  return true;
}

}  // namespace

std::vector<std::int64_t> overlap_sizes(const ConvolutionShape& shape) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t size : kOverlapSizes)
    if (4 * shape.all_taps() <= 3 * size && segments_of(shape, size).count * shape.batch < std::int64_t{1} << 31 &&
        has_shared(kernels_of(size).segments.bytes))
      sizes.push_back(size);
  const auto work = [&](std::int64_t size) { return segment_flops(shape, segments_of(shape, size)); };
  std::sort(sizes.begin(), sizes.end(), [&](std::int64_t a, std::int64_t b) { return work(a) < work(b); });
  return sizes;
}

std::unique_ptr<Convolver> make_overlap(const ConvolutionShape& shape, std::int64_t size) {
  return std::make_unique<OverlapSave>(shape, size);
}

}  // namespace iqd::gpu
