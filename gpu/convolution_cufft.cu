// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <cufft.h>

#include <algorithm>
#include <bit>
#include <string>

#include "base/error.hpp"
#include "gpu/convolution_methods.hpp"
#include "gpu/runtime.hpp"

namespace iqd::gpu {
namespace {

constexpr unsigned kThreads = 256;
/// Largest total size of a run's buffers.
constexpr std::int64_t kMostBytes = std::int64_t{32} << 30;

/// Copies rows of `taps` samples to rows of `size`, padded with zeros; one thread per sample.
__global__ void __launch_bounds__(kThreads)
    pad_rows(const float2* from, std::int64_t pitch, int samples, int size, std::int64_t all, float2* to) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= all) return;
  const auto n = static_cast<int>(at % size);
  to[at] = n < samples ? from[at / size * pitch + n] : float2{0, 0};
}

/// Copies the outputs from rows of `size`.
__global__ void __launch_bounds__(kThreads)
    crop_rows(const float2* from, int size, int outputs, std::int64_t all, float2* to, std::int64_t pitch) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at < all) to[at / outputs * pitch + at % outputs] = from[at / outputs * size + at % outputs];
}

__device__ float2 fused_product(float2 a, float2 b) {
  return {fmaf(-a.y, b.y, a.x * b.x), fmaf(a.y, b.x, a.x * b.y)};
}

/// x = x h (g) scale, row by row; rows of filters are `pitch` apart, 0 if one serves all; g may be null.
__global__ void __launch_bounds__(kThreads)
    multiply_rows(float2* x, const float2* h, std::int64_t h_pitch, const float2* g, std::int64_t g_pitch, int size,
                  std::int64_t all, float scale) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= all) return;
  const std::int64_t row = at / size, n = at % size;
  float2 z = fused_product(x[at], h[row * h_pitch + n]);
  if (g != nullptr) z = fused_product(z, g[row * g_pitch + n]);
  x[at] = {z.x * scale, z.y * scale};
}

class Plan {
 public:
  /// Throws SetupError.
  Plan(std::int64_t size, std::int64_t rows) {
    const Quiet quiet;
    long long n = size;
    cufftResult result = cufftCreate(&handle_);
    const bool made = result == CUFFT_SUCCESS;
    if (made) result = cufftSetAutoAllocation(handle_, 0);
    if (result == CUFFT_SUCCESS)
      result = cufftMakePlanMany64(handle_, 1, &n, nullptr, 1, n, nullptr, 1, n, CUFFT_C2C, rows, &work_bytes_);
    if (result == CUFFT_SUCCESS) return;
    if (made) cufftDestroy(handle_);
    throw SetupError("cuFFT: no plan for " + std::to_string(rows) + " transforms of " + std::to_string(size) +
                     " samples: error " + std::to_string(static_cast<int>(result)));
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    const Quiet quiet;
    cufftDestroy(handle_);
  }

  std::size_t work_bytes() const noexcept { return work_bytes_; }
  bool run(const float2* in, float2* out, int direction, std::byte* work, cudaStream_t stream) const noexcept {
    // An out-of-place complex transform does not change its input.
    return cufftSetStream(handle_, stream) == CUFFT_SUCCESS &&
           (work_bytes_ == 0 || cufftSetWorkArea(handle_, work) == CUFFT_SUCCESS) &&
           cufftExecC2C(handle_, const_cast<float2*>(in), out, direction) == CUFFT_SUCCESS;
  }

 private:
  cufftHandle handle_ = 0;
  std::size_t work_bytes_ = 0;
};

class Cufft final : public Convolver {
 public:
  Cufft(const ConvolutionShape& shape, std::int64_t size, bool padded)
      : shape_(shape),
        size_(size),
        padded_(padded),
        signals_(size, shape.batch),
        filters_(size, shape.filters()),
        one_filter_(size, 1),
        work_bytes_(round_256(std::max({signals_.work_bytes(), filters_.work_bytes(), one_filter_.work_bytes()}))) {}

  std::size_t scratch_bytes() const noexcept override {
    const std::int64_t second = shape_.second > 0 ? shape_.filters() : 0;
    return work_bytes_ + row_bytes(shape_.batch) + row_bytes(shape_.filters()) + row_bytes(second);
  }
  double flops() const noexcept override {
    const bool two = shape_.second > 0;
    const double more = two ? 6.0 * static_cast<double>(size_ * shape_.batch) : 0.0;
    ConvolutionShape filters = shape_;
    filters.batch = shape_.filters();
    // A second filter costs one more transform and one more product.
    const double transforms = segment_flops(filters, {size_, 0, size_, 0});
    return segment_flops(shape_, {size_, 0, size_, 1}) + more + (two ? transforms : 0.0);
  }
  std::int64_t padded_row() const noexcept override { return padded_ ? size_ : 0; }

  void run(const ConvolutionIo& io, std::byte* scratch, StreamView stream) const noexcept override {
    if (io.x.extent(0) != shape_.batch) return refuse();  // a plan is for one number of rows
    float2* const x = reinterpret_cast<float2*>(scratch + work_bytes_);
    float2* const h = x + row_bytes(shape_.batch) / sizeof(float2);
    float2* const g = h + row_bytes(shape_.filters()) / sizeof(float2);
    const cudaStream_t s = stream_of(stream);
    bool good = transform(io.x, signals_, x, scratch, s) &&
                transform(io.h, io.h.extent(0) == 1 ? one_filter_ : filters_, h, scratch, s);
    const bool two = io.g.extent(1) > 0;
    if (two) good = good && transform(io.g, io.g.extent(0) == 1 ? one_filter_ : filters_, g, scratch, s);
    const auto pitch = [&](const View<const cf32, 2>& rows) { return rows.extent(0) > 1 ? size_ : 0; };
    const std::int64_t all = shape_.batch * size_;
    multiply_rows<<<groups_of(all, kThreads), kThreads, 0, s>>>(x, h, pitch(io.h), two ? g : nullptr, pitch(io.g),
                                                                static_cast<int>(size_), all,
                                                                1.0f / static_cast<float>(size_));
    float2* const y = reinterpret_cast<float2*>(io.y.data());
    good = good && signals_.run(x, padded_ ? y : x, CUFFT_INVERSE, scratch, s);
    if (!padded_) crop(x, y, io.y.stride(0), s);
    if (!good) refuse();
  }

 private:
  std::size_t row_bytes(std::int64_t rows) const noexcept {
    return round_256(static_cast<std::size_t>(rows * size_) * sizeof(float2));
  }

  bool transform(View<const cf32, 2> rows, const Plan& plan, float2* to, std::byte* work,
                 cudaStream_t s) const noexcept {
    const float2* from = reinterpret_cast<const float2*>(rows.data());
    if (!padded_) {
      const std::int64_t all = rows.extent(0) * size_;
      pad_rows<<<groups_of(all, kThreads), kThreads, 0, s>>>(from, rows.stride(0), static_cast<int>(rows.extent(1)),
                                                             static_cast<int>(size_), all, to);
      from = to;
    }
    return plan.run(from, to, CUFFT_FORWARD, work, s);
  }

  void crop(const float2* x, float2* y, std::int64_t pitch, cudaStream_t s) const noexcept {
    const std::int64_t all = shape_.batch * shape_.outputs();
    crop_rows<<<groups_of(all, kThreads), kThreads, 0, s>>>(x, static_cast<int>(size_),
                                                            static_cast<int>(shape_.outputs()), all, y, pitch);
  }

  /// Raises an error that the queue notices.
  static void refuse() noexcept {
    cudaFuncAttributes none;
    static_cast<void>(cudaFuncGetAttributes(&none, nullptr));
  }

  ConvolutionShape shape_;
  std::int64_t size_;
  bool padded_;
  Plan signals_;
  Plan filters_;
  Plan one_filter_;
  std::size_t work_bytes_;
};

}  // namespace

std::vector<std::int64_t> cufft_sizes(const ConvolutionShape& shape) {
  const auto size = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(shape.outputs())));
  const std::int64_t rows = shape.batch + shape.filters() * (shape.second > 0 ? 2 : 1);
  if (size < 2 || rows * size * static_cast<std::int64_t>(sizeof(float2)) > kMostBytes) return {};
  return {size};
}

std::unique_ptr<Convolver> make_cufft(const ConvolutionShape& shape, std::int64_t size) {
  return std::make_unique<Cufft>(shape, size, false);
}
std::unique_ptr<Convolver> make_cufft_padded(const ConvolutionShape& shape, std::int64_t size) {
  return std::make_unique<Cufft>(shape, size, true);
}

}  // namespace iqd::gpu
