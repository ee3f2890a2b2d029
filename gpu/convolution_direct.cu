// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/convolution_methods.hpp"
#include "gpu/runtime.hpp"

namespace iqd::gpu {
namespace {

constexpr auto kSample = sizeof(float2);

/// Thread blocks are counted through all packets, `groups` per packet.
struct Job {
  const float2* x;
  std::int64_t x_pitch;
  TapRows h;
  float2* y;
  std::int64_t y_pitch;
  int signal;
  int outputs;
  int groups;
};

__device__ float2 multiply_add(float2 h, float2 x, float2 sum) {
  return {fmaf(-h.y, x.y, fmaf(h.x, x.x, sum.x)), fmaf(h.y, x.x, fmaf(h.x, x.y, sum.y))};
}

__device__ float2 sum_of_products(const Job& job, const float2* x, const float2* h, int i) {
  float2 sum{0, 0};
  for (int k = 0; k < job.h.taps; ++k)
    if (i - k >= 0 && i - k < job.signal) sum = multiply_add(h[k], x[i - k], sum);
  return sum;
}

/// The thesis's direct method: all from global memory, or, with InShared, the filter from shared memory.
template <bool InShared> __global__ void __launch_bounds__(1024) convolve_output(const Job job) {
  extern __shared__ float2 taps[];
  const std::int64_t packet = blockIdx.x / static_cast<unsigned>(job.groups);
  const auto group = static_cast<int>(blockIdx.x % static_cast<unsigned>(job.groups));
  const auto i = static_cast<int>(group * blockDim.x + threadIdx.x);
  const float2* h = job.h.data + packet * job.h.pitch;
  if constexpr (InShared) {
    if (threadIdx.x < static_cast<unsigned>(job.h.taps)) taps[threadIdx.x] = h[threadIdx.x];
    __syncthreads();
    h = taps;
  }
  if (i < job.outputs) job.y[packet * job.y_pitch + i] = sum_of_products(job, job.x + packet * job.x_pitch, h, i);
}

constexpr int kPiece = 256;  // taps in shared memory at once

/// Position of sample i of a tile: threads that take `each` neighbouring samples use different banks.
template <int each> IQD_HOST_DEVICE constexpr int padded(int i) {
  return i + i / each;
}

template <int each> struct alignas(16) Taps { float2 at[each]; };

/// sum(r) += sum over q of h(q) x(r - q), for a multiple of `each` taps. From tap to tap the window of inputs of all
/// outputs moves by one sample, so `each` products need one load, which replaces the sample that left the window.
template <int each> __device__ void add_products(const float2* x, const float2* h, int taps, float2 (&sum)[each]) {
  float2 window[each];
#pragma unroll
  for (int r = 0; r < each; ++r) window[r] = x[r];
  for (int q = 0; q < taps; q += each) {
    x -= each + 1;
    const Taps<each> tap = *reinterpret_cast<const Taps<each>*>(h + q);
#pragma unroll
    for (int u = 0; u < each; ++u) {
#pragma unroll
      for (int r = each - 1; r >= 0; --r) sum[r] = multiply_add(tap.at[u], window[(r + each - u) % each], sum[r]);
      window[each - 1 - u] = x[each - 1 - u];
    }
  }
}

/// Each thread of a thread block makes `each` outputs. A piece of taps and the samples that they need are in shared
/// memory, taps(0) next to x(last - 0); missing taps or samples are zero.
template <int each> __global__ void __launch_bounds__(256, 4) convolve_tile(const Job job) {
  extern __shared__ float4 memory[];
  float2* const taps = reinterpret_cast<float2*>(memory);
  float2* const tile = taps + kPiece;
  const std::int64_t packet = blockIdx.x / static_cast<unsigned>(job.groups);
  const auto threads = static_cast<int>(blockDim.x), t = static_cast<int>(threadIdx.x);
  const int first = static_cast<int>(blockIdx.x % static_cast<unsigned>(job.groups)) * threads * each;
  const float2* const x = job.x + packet * job.x_pitch;
  const float2* const h = job.h.data + packet * job.h.pitch;

  float2 sum[each] = {};
  for (int piece = 0; piece < job.h.taps; piece += kPiece) {
    const int count = min(kPiece, job.h.taps - piece);
    const int used = (count + each - 1) / each * each;
    const int from = first - piece - used;
    if (piece > 0) __syncthreads();
    for (int k = t; k < used; k += threads) taps[k] = k < count ? h[piece + k] : float2{0, 0};
#pragma unroll 4
    for (int i = t; i < threads * each + used; i += threads)
      tile[padded<each>(i)] = from + i >= 0 && from + i < job.signal ? x[from + i] : float2{0, 0};
    __syncthreads();
    add_products<each>(tile + padded<each>(t * each + used), taps, used, sum);
  }

  __syncthreads();
#pragma unroll
  for (int r = 0; r < each; ++r) tile[padded<each>(t * each) + r] = sum[r];
  __syncthreads();
  float2* const y = job.y + packet * job.y_pitch + first;
  const int outputs = min(threads * each, job.outputs - first);
  for (int i = t; i < outputs; i += threads) y[i] = tile[padded<each>(i)];
}

/// Joins the taps of h and g; one thread each.
__global__ void __launch_bounds__(256) join_taps(TapRows h, TapRows g, std::int64_t rows, int taps, float2* joined) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x;
  const std::int64_t row = at / taps;
  const auto i = static_cast<int>(at % taps);
  if (row >= rows) return;
  float2 sum{0, 0};
  for (int k = max(0, i - h.taps + 1); k < min(g.taps, i + 1); ++k)
    sum = multiply_add(g.data[row * g.pitch + k], h.data[row * h.pitch + i - k], sum);
  joined[at] = sum;
}

const float2* samples(const cf32* x) {
  return reinterpret_cast<const float2*>(x);
}

using Kernel = void (*)(Job);

Job job_of(View<const cf32, 2> x, const TapRows& h, cf32* y, std::int64_t y_pitch, std::int64_t each) {
  Job job{samples(x.data()), x.stride(0), h, reinterpret_cast<float2*>(y), y_pitch, static_cast<int>(x.extent(1))};
  job.outputs = job.signal + h.taps - 1;
  job.groups = static_cast<int>(groups_of(job.outputs, each));
  return job;
}

void launch(Kernel kernel, const Job& job, std::int64_t packets, std::int64_t threads, std::size_t shared,
            cudaStream_t stream) {
  const auto groups = static_cast<unsigned>(packets * job.groups);
  if (groups > 0) kernel<<<groups, static_cast<unsigned>(threads), shared, stream>>>(job);
}

/// One thread per output; a second filter runs separately.
class OutputEach final : public Convolver {
 public:
  OutputEach(const ConvolutionShape& shape, std::int64_t threads, bool in_shared)
      : shape_(shape), threads_(threads), in_shared_(in_shared) {}

  std::size_t scratch_bytes() const noexcept override {
    return shape_.second > 0 ? static_cast<std::size_t>(shape_.batch * between()) * kSample : 0;
  }
  double flops() const noexcept override {
    ConvolutionShape then = shape_;
    then.signal = between();
    return direct_flops(shape_, shape_.taps) + direct_flops(then, shape_.second);
  }

  void run(const ConvolutionIo& io, std::byte* scratch, StreamView stream) const noexcept override {
    if (shape_.second == 0) return filter(io.x, io.h, io.y.data(), io.y.stride(0), stream);
    cf32* const held = reinterpret_cast<cf32*>(scratch);
    filter(io.x, io.h, held, between(), stream);
    filter(View<const cf32, 2>(held, {io.x.extent(0), between()}), io.g, io.y.data(), io.y.stride(0), stream);
  }

 private:
  std::int64_t between() const noexcept { return shape_.signal + shape_.taps - 1; }
  void filter(View<const cf32, 2> x, View<const cf32, 2> filters, cf32* y, std::int64_t y_pitch,
              StreamView stream) const noexcept {
    const TapRows h = tap_rows(filters);
    const Kernel kernel = in_shared_ ? convolve_output<true> : convolve_output<false>;
    launch(kernel, job_of(x, h, y, y_pitch, threads_), x.extent(0), threads_,
           in_shared_ ? static_cast<std::size_t>(h.taps) * kSample : 0, stream_of(stream));
  }

  ConvolutionShape shape_;
  std::int64_t threads_;
  bool in_shared_;
};

/// Fewer thread blocks than this leave multiprocessors idle: then a thread makes two outputs.
constexpr std::int64_t kBusyGroups = 96;

class Tiled final : public Convolver {
 public:
  Tiled(const ConvolutionShape& shape, std::int64_t threads) : shape_(shape), threads_(threads) {}

  std::size_t scratch_bytes() const noexcept override { return joined_bytes(shape_); }
  double flops() const noexcept override { return direct_flops(shape_, shape_.all_taps()); }

  void run(const ConvolutionIo& io, std::byte* scratch, StreamView stream) const noexcept override {
    const TapRows h = join_filters(io, scratch, stream_of(stream));
    if (io.x.extent(0) * groups_of(shape_.outputs(), 8 * threads_) >= kBusyGroups) return put<8>(io, h, stream);
    put<2>(io, h, stream);
  }

 private:
  template <int each> void put(const ConvolutionIo& io, const TapRows& h, StreamView stream) const noexcept {
    const auto most = static_cast<int>(threads_) * each + kPiece;
    launch(convolve_tile<each>, job_of(io.x, h, io.y.data(), io.y.stride(0), each * threads_), io.x.extent(0), threads_,
           static_cast<std::size_t>(kPiece + padded<each>(most)) * kSample, stream_of(stream));
  }
  ConvolutionShape shape_;
  std::int64_t threads_;
};

bool fits_grid(const ConvolutionShape& shape, std::int64_t each) {
  return (shape.outputs() / each + 1) * shape.batch < std::int64_t{1} << 31;
}

}  // namespace

TapRows tap_rows(View<const cf32, 2> filters) noexcept {
  const bool one = filters.extent(0) <= 1;
  return {samples(filters.data()), one ? 0 : filters.stride(0), static_cast<int>(filters.extent(1)), filters.extent(0)};
}

std::size_t joined_bytes(const ConvolutionShape& shape) noexcept {
  return shape.second > 0 ? round_256(static_cast<std::size_t>(shape.filters() * shape.all_taps()) * kSample) : 0;
}

TapRows join_filters(const ConvolutionIo& io, std::byte* memory, cudaStream_t stream) noexcept {
  const TapRows h = tap_rows(io.h), g = tap_rows(io.g);
  if (g.taps == 0) return h;
  const int taps = h.taps + g.taps - 1;
  float2* const joined = reinterpret_cast<float2*>(memory);
  if (h.rows > 0) join_taps<<<groups_of(h.rows * taps, 256), 256, 0, stream>>>(h, g, h.rows, taps, joined);
  return {joined, h.rows > 1 ? taps : 0, taps, h.rows};
}

std::vector<std::int64_t> global_sizes(const ConvolutionShape& shape) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t threads : {256, 32, 64, 96, 128, 192, 320, 384, 512, 640, 768, 896, 1024})
    if (fits_grid(shape, threads)) sizes.push_back(threads);
  return sizes;
}

std::vector<std::int64_t> shared_sizes(const ConvolutionShape& shape) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t threads : global_sizes(shape))
    if (threads >= std::max(shape.taps, shape.second)) sizes.push_back(threads);
  return sizes;
}

std::vector<std::int64_t> tiled_sizes(const ConvolutionShape& shape) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t threads : {128, 64, 256})
    if (fits_grid(shape, 2 * threads)) sizes.push_back(threads);
  return sizes;
}

std::unique_ptr<Convolver> make_global(const ConvolutionShape& shape, std::int64_t threads) {
  return std::make_unique<OutputEach>(shape, threads, false);
}
std::unique_ptr<Convolver> make_shared(const ConvolutionShape& shape, std::int64_t threads) {
  return std::make_unique<OutputEach>(shape, threads, true);
}
std::unique_ptr<Convolver> make_tiled(const ConvolutionShape& shape, std::int64_t threads) {
  return std::make_unique<Tiled>(shape, threads);
}

}  // namespace iqd::gpu
