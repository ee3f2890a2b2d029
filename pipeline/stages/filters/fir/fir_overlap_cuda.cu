// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Overlap-save in one kernel, so that samples are read and written once: a thread block transforms a segment in shared
// memory, multiplies, transforms back and stores the outputs that wrap-around has not spoilt and the decimation keeps.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "gpu/device_array.hpp"
#include "gpu/overlap_save.cuh"
#include "gpu/runtime.hpp"
#include "pipeline/stages/filters/fir/fir_methods.cuh"
#include "pipeline/stages/filters/products.cuh"
#include "signal/filters/power_of_two_fft.hpp"

namespace iqd::fir {
namespace {

using gpu::Complex32;
using gpu::FftGroup;

/// Applies taps delay … delay + count - 1 to one block of rows.
struct SegmentsJob {
  const std::byte* x;  // in row 0, the sample that output 0 multiplies by tap 0
  std::byte* y;
  std::int64_t x_pitch;  // bytes
  std::int64_t y_pitch;
  std::int64_t begin;  // the available samples, relative to x
  std::int64_t end;
  std::int64_t outputs;
  std::int64_t delay;
  const float2* taps;
  const Complex32* response;
  const Complex32* factors;
  const Complex32* factors_back;
  int count;
  int each;  // outputs of a segment
  int decimation;
  bool complex_taps;
  bool adds;  // to the result of the previous taps
};

__device__ int within(std::int64_t n, int most) {
  return static_cast<int>(min(max(n, std::int64_t{0}), std::int64_t{most}));
}

/// A segment of one row: point n is x(start + n). Wrap-around spoils those before `count` - 1.
template <class Sample> struct Segment {
  __device__ Segment(const SegmentsJob& job, std::int64_t output, int size)
      : x(reinterpret_cast<const Sample*>(job.x + blockIdx.y * job.x_pitch)),
        y(reinterpret_cast<Sample*>(job.y + blockIdx.y * job.y_pitch) + output),
        outputs(within(job.outputs - output, job.each)) {
    const std::int64_t start = output * job.decimation - job.delay - (job.count - 1);
    x += start;
    begin = within(job.begin - start, size);
    end = within(job.end - start, size);
  }

  __device__ Sample at(int n) const { return n >= begin && n < end ? __ldcg(x + n) : Sample{}; }

  /// The output of point n, or -1.
  template <bool Decimates> __device__ int output_of(const SegmentsJob& job, int n) const {
    const int behind = n - (job.count - 1);
    if (behind < 0) return -1;
    if constexpr (!Decimates) return behind < outputs ? behind : -1;
    const int output = behind / job.decimation;
    return output < outputs && output * job.decimation == behind ? output : -1;
  }

  __device__ void put(const SegmentsJob& job, int output, Sample value) const {
    if (job.adds) dsp::add(y[output], value);
    y[output] = value;
  }

  const Sample* x;
  Sample* y;
  int begin;
  int end;
  int outputs;
};

/// Point n's output by the definition. Rarely needed, so in double precision and not optimised.
template <class Sample>
__device__ __noinline__ Sample sum_of_products(const SegmentsJob& job, Segment<Sample> s, int n) {
  double re = 0, im = 0;
  for (int k = max(0, n - s.end + 1); k < job.count && n - k >= s.begin; ++k) {
    const float2 h = job.taps[k];
    if constexpr (std::is_same_v<Sample, float2>) {
      const double x = s.x[n - k].x, y = s.x[n - k].y;
      re += job.complex_taps ? h.x * x - h.y * y : h.x * x;
      im += job.complex_taps ? h.x * y + h.y * x : h.x * y;
    } else {
      re += static_cast<double>(h.x) * s.x[n - k];
    }
  }
  if constexpr (std::is_same_v<Sample, float2>)
    return {static_cast<float>(re), static_cast<float>(im)};
  else
    return static_cast<float>(re);
}

__device__ bool finite(Complex32 z) {
  return isfinite(z.re) && isfinite(z.im);
}

/// A bad sample spoils all outputs of its transform, so those that are not finite are recomputed by the definition.
template <int N, bool Decimates, class Sample>
__device__ void mend(unsigned spoilt, const SegmentsJob& job, const Segment<Sample>& segment) {
  for (; spoilt != 0; spoilt &= spoilt - 1) {
    const int n = FftGroup<N>::thread() + (__ffs(static_cast<int>(spoilt)) - 1) * gpu::kFftThreads<N>;
    const int output = segment.template output_of<Decimates>(job, n);
    if (output >= 0) segment.put(job, output, sum_of_products(job, segment, n));
  }
}

/// Computes a frame's outputs of a row, without those beyond the row's end.
template <int N, bool Decimates>
__device__ void filter_frame(const SegmentsJob& job, std::int64_t frame, Complex32* shared, float2) {
  const Segment<float2> segment(job, frame * job.each, N);
  unsigned spoilt = 0;
  const auto load = [&](int n) {
    const float2 x = segment.at(n);
    return Complex32{x.x, x.y};
  };
  const auto store = [&](int n, Complex32 z) {
    const int output = segment.template output_of<Decimates>(job, n);
    if (output < 0) return;
    if (!finite(z)) return static_cast<void>(spoilt |= 1u << (n / gpu::kFftThreads<N>));
    segment.put(job, output, float2{z.re, z.im});
  };
  gpu::convolve_frame<N>(job.response, job.factors, job.factors_back, shared, load, store);
  mend<N, Decimates>(spoilt, job, segment);
}

/// Two segments of a real stream at once, as real and imaginary part.
template <int N, bool Decimates>
__device__ void filter_frame(const SegmentsJob& job, std::int64_t frame, Complex32* shared, float) {
  const Segment<float> one(job, 2 * frame * job.each, N);
  const Segment<float> two(job, (2 * frame + 1) * job.each, N);
  unsigned spoilt = 0;
  const auto load = [&](int n) { return Complex32{one.at(n), two.at(n)}; };
  const auto store = [&](int n, Complex32 z) {
    if (!finite(z)) return static_cast<void>(spoilt |= 1u << (n / gpu::kFftThreads<N>));
    const int output = one.template output_of<Decimates>(job, n);
    if (output >= 0) one.put(job, output, z.re);
    if (output >= 0 && output < two.outputs) two.put(job, output, z.im);
  };
  gpu::convolve_frame<N>(job.response, job.factors, job.factors_back, shared, load, store);
  mend<N, Decimates>(spoilt, job, one);
  mend<N, Decimates>(spoilt, job, two);
}

/// A frame of a thread block processes one segment, or two of a real stream.
template <int N, bool Decimates, class Sample>
__global__ void __launch_bounds__(FftGroup<N>::kThreads, FftGroup<N>::kAtOnce) filter_segments(const SegmentsJob job) {
  extern __shared__ Complex32 shared[];
  const std::int64_t frame = static_cast<std::int64_t>(blockIdx.x) * FftGroup<N>::kFrames + FftGroup<N>::frame();
  filter_frame<N, Decimates>(job, frame, shared, Sample{});
}

using Kernel = gpu::FftKernel<SegmentsJob>;

template <class Sample> Kernel kernel_for(std::int64_t size, bool decimates) {
  const auto of = [decimates](auto n) {
    return gpu::fft_kernel<n()>(decimates ? filter_segments<n(), true, Sample> : filter_segments<n(), false, Sample>);
  };
  const Kernel kernel = size == 2048   ? of(std::integral_constant<int, 2048>())
                        : size == 4096 ? of(std::integral_constant<int, 4096>())
                                       : of(std::integral_constant<int, 8192>());
  kernel.allow("shared memory of a filter");
  return kernel;
}

constexpr std::int64_t kSizes[] = {2048, 4096, 8192};

/// How many taps are processed at once, and the size of the transforms. Filters that are too long are cut into pieces.
struct Cut {
  std::int64_t taps;
  std::int64_t size;
};

Cut cut_for(std::int64_t taps) {
  std::int64_t largest = kSizes[0];
  for (const std::int64_t size : kSizes)
    if (gpu::fft_shared_bytes(size) <= gpu::most_shared_bytes()) largest = size;
  if (4 * taps > 3 * largest) return {largest / 2, largest};
  // Steps of a transform per output; each goes through shared memory.
  const auto work = [&](std::int64_t size) {
    const int steps = size > 4096 ? 4 : 3;
    return static_cast<double>(steps * size) / static_cast<double>(size - taps + 1);
  };
  Cut best{taps, largest};
  for (const std::int64_t size : kSizes)
    if (size < largest && 4 * taps <= 3 * size && work(size) < work(best.size)) best.size = size;
  return best;
}

template <class Sample> class OverlapSave final : public StageRun {
 public:
  OverlapSave(std::span<const std::complex<double>> taps, std::int64_t decimation)
      : cut_(cut_for(std::ssize(taps))),
        taps_count_(std::ssize(taps)),
        decimation_(decimation),
        kernel_(kernel_for<Sample>(cut_.size, decimation > 1)),
        factors_(std::span<const Complex32>(gpu::fft_factors(static_cast<int>(cut_.size)))) {
    const CudaTaps rounded(taps);
    complex_taps_ = rounded.any_complex;
    taps_ = gpu::DeviceArray<float2>(rounded.complex);
    std::vector<Complex32> responses;
    for (std::int64_t k = 0; k < taps_count_; k += cut_.taps) {
      const auto count = static_cast<std::size_t>(std::min(cut_.taps, taps_count_ - k));
      append_response(taps.subspan(static_cast<std::size_t>(k), count), responses);
    }
    responses_ = gpu::DeviceArray<Complex32>(responses);
  }

  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo& in = io.in[0];
    const PortIo& out = io.out[0];
    const std::int64_t start = out.first * decimation_ - in.first;
    const SegmentsJob job{.x = in.data + start * static_cast<std::int64_t>(sizeof(Sample)),
                          .y = out.data,
                          .x_pitch = in.pitch,
                          .y_pitch = out.pitch,
                          .begin = -start,
                          .end = in.length - start,
                          .outputs = out.length,
                          .factors = factors_.data(),
                          .factors_back = factors_.data(),
                          .decimation = static_cast<int>(decimation_),
                          .complex_taps = complex_taps_};
    for (std::int64_t piece = 0; piece * cut_.taps < taps_count_; ++piece) put(piece, job, out.rows, stream);
  }

 private:
  /// Includes the factor 1/N that the inverse transform leaves out. A real stream uses the taps' real parts.
  void append_response(std::span<const std::complex<double>> taps, std::vector<Complex32>& to) const {
    std::vector<std::complex<double>> h(static_cast<std::size_t>(cut_.size));
    for (std::size_t k = 0; k < taps.size(); ++k)
      h[k] = (std::is_same_v<Sample, float> ? std::complex<double>(taps[k].real()) : taps[k]) /
             static_cast<double>(cut_.size);
    power_of_two_fft(h);
    for (const std::complex<double> bin : h)
      to.push_back({static_cast<float>(bin.real()), static_cast<float>(bin.imag())});
  }

  void put(std::int64_t piece, SegmentsJob job, std::int64_t rows, StreamView stream) const noexcept {
    job.delay = piece * cut_.taps;
    job.count = static_cast<int>(std::min(cut_.taps, taps_count_ - job.delay));
    job.taps = taps_.data() + job.delay;
    job.adds = piece > 0;
    job.response = responses_.data() + piece * cut_.size;
    job.each = static_cast<int>((cut_.size - job.count) / decimation_ + 1);
    const std::int64_t frame = std::is_same_v<Sample, float> ? 2 * job.each : job.each;
    const std::int64_t frames = (job.outputs + frame - 1) / frame;
    const dim3 grid(gpu::groups_of(frames, kernel_.frames), static_cast<unsigned>(rows));
    if (grid.x > 0 && grid.y > 0) kernel_.launch(grid, gpu::stream_of(stream), job);
  }

  Cut cut_;
  std::int64_t taps_count_;
  std::int64_t decimation_;
  bool complex_taps_ = false;
  Kernel kernel_;
  gpu::DeviceArray<Complex32> factors_;
  gpu::DeviceArray<Complex32> responses_;  // [piece][N]
  gpu::DeviceArray<float2> taps_;
};

}  // namespace

std::unique_ptr<StageRun> make_overlap_save_cuda(std::span<const std::complex<double>> taps, std::int64_t decimation,
                                                 Element element) {
  if (element == Element::f32) return std::make_unique<OverlapSave<float>>(taps, decimation);
  return std::make_unique<OverlapSave<float2>>(taps, decimation);
}

}  // namespace iqd::fir
