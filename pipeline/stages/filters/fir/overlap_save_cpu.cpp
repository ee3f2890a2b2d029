// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <type_traits>

#include "pipeline/stages/filters/fir/fir.hpp"
#include "signal/filters/fft_plan.hpp"

// Plain loops, compiled once for each kind of CPU, which the compiler vectorises.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/filters/fir/overlap_save_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::fir::HWY_NAMESPACE {

/// f = f h, complex numbers. (Written out, since std::complex's product checks for NaN.)
void multiply_bins(float* f, const float* h, std::int64_t bins) {
  for (std::int64_t k = 0; k < 2 * bins; k += 2) {
    const float re = f[k] * h[k] - f[k + 1] * h[k + 1];
    f[k + 1] = f[k] * h[k + 1] + f[k + 1] * h[k];
    f[k] = re;
  }
}

bool all_finite(const float* x, std::int64_t n) {
  std::uint32_t largest = 0;  // of the bits after the sign, which grow with the magnitude
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & 0x7fffffffu);
  return largest < 0x7f800000u;
}

}  // namespace iqd::fir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::fir {

HWY_EXPORT(multiply_bins);
HWY_EXPORT(all_finite);

namespace {

/// Circular convolution by transforms of three to six times the filter's length. Wrap-around spoils each transform's
/// first taps-1 results, which are discarded. Two pieces of a real stream share one transform, as real and imaginary
/// part. A bad sample spoils all results of its transform, so those that are not finite are recomputed by the
/// definition.
class OverlapSave final : public Filter {
 public:
  OverlapSave(std::span<const std::complex<double>> taps, std::int64_t decimation)
      : decimation_(decimation),
        past_(std::ssize(taps) - 1),
        size_(static_cast<std::int64_t>(std::bit_ceil(taps.size() * 3))),
        forward_(size_),
        inverse_(size_, FftPlan::Direction::inverse),
        taps_(taps.begin(), taps.end()),
        complex_taps_(std::any_of(taps.begin(), taps.end(), [](auto h) { return h.imag() != 0; })),
        response_(static_cast<std::size_t>(size_)),
        real_response_(static_cast<std::size_t>(size_)) {
    std::vector<std::byte> memory(scratch_bytes());
    const FftRoom work{size_, Scratch(memory.data())};
    respond(taps, work, response_, [](std::complex<double> h) { return cf32(h); });
    respond(taps, work, real_response_, [](std::complex<double> h) { return cf32(static_cast<float>(h.real())); });
  }

  std::size_t scratch_bytes() const noexcept override { return FftRoom{size_, Scratch(nullptr)}.scratch.bytes(); }

  void run(View<const cf32, 2> x, std::int64_t x_first, View<cf32, 2> y, std::int64_t y_first,
           std::byte* scratch) const noexcept override {
    const FftRoom work{size_, Scratch(scratch)};
    const std::int64_t outputs = outputs_per_piece();
    for (std::int64_t row = 0; row < y.extent(0); ++row)
      for (std::int64_t i = 0; i < y.extent(1); i += outputs) {
        const std::int64_t start = (y_first + i) * decimation_ - past_ - x_first;
        load(x.row(row), start, work.time);
        convolve(work, response_);
        store(work.time, y.row(row), i);
        if (!finite(work.time)) mend(x.row(row), start, y.row(row), i);
      }
  }

  void run(View<const float, 2> x, std::int64_t x_first, View<float, 2> y, std::int64_t y_first,
           std::byte* scratch) const noexcept override {
    const FftRoom work{size_, Scratch(scratch)};
    const std::int64_t outputs = outputs_per_piece();
    for (std::int64_t row = 0; row < y.extent(0); ++row)
      for (std::int64_t i = 0; i < y.extent(1); i += 2 * outputs) {
        const std::int64_t start = (y_first + i) * decimation_ - past_ - x_first;
        load(x.row(row), start, work.time, [](cf32& to, float v) { to = {v, 0}; });
        load(x.row(row), start + outputs * decimation_, work.time, [](cf32& to, float v) { to = {to.real(), v}; });
        convolve(work, real_response_);
        store(work.time, y.row(row), i, [](cf32 v) { return v.real(); });
        store(work.time, y.row(row), i + outputs, [](cf32 v) { return v.imag(); });
        if (finite(work.time)) continue;
        mend(x.row(row), start, y.row(row), i);
        mend(x.row(row), start + outputs * decimation_, y.row(row), i + outputs);
      }
  }

 private:
  std::int64_t outputs_per_piece() const noexcept { return (size_ - past_ - 1) / decimation_ + 1; }

  /// The transform of the taps, with the factor 1/size that the inverse transform leaves out.
  template <class Part> void respond(std::span<const std::complex<double>> taps, const FftRoom& work,
                                     std::vector<cf32>& response, Part part) {
    std::fill_n(work.time, size_, cf32());
    for (std::size_t k = 0; k < taps.size(); ++k) work.time[k] = part(taps[k] / static_cast<double>(size_));
    forward_.run(work.time, work.bins);
    std::copy_n(work.bins, size_, response.begin());
  }

  /// A transform's input from x(start) on; zero outside x. Copied at once, as in `store`: one by one these copies took
  /// a quarter of the time of 1205 taps.
  void load(View<const cf32, 1> x, std::int64_t start, cf32* time) const noexcept {
    const std::int64_t begin = std::clamp<std::int64_t>(-start, 0, size_);
    const std::int64_t end = std::clamp(x.extent(0) - start, begin, size_);
    std::fill(time, time + begin, cf32());
    std::copy(x.data() + start + begin, x.data() + start + end, time + begin);
    std::fill(time + end, time + size_, cf32());
  }
  /// The same for real numbers, into the real or the imaginary part.
  template <class T, class Put> void load(View<const T, 1> x, std::int64_t start, cf32* time, Put put) const noexcept {
    const std::int64_t begin = std::clamp<std::int64_t>(-start, 0, size_);
    const std::int64_t end = std::clamp(x.extent(0) - start, begin, size_);
    for (std::int64_t i = 0; i < begin; ++i) put(time[i], T());
    const T* const from = x.data() + start;
    for (std::int64_t i = begin; i < end; ++i) put(time[i], from[i]);
    for (std::int64_t i = end; i < size_; ++i) put(time[i], T());
  }

  void convolve(const FftRoom& work, const std::vector<cf32>& response) const noexcept {
    forward_.run(work.time, work.bins);
    HWY_DYNAMIC_DISPATCH(multiply_bins)
    (reinterpret_cast<float*>(work.bins), reinterpret_cast<const float*>(response.data()), size_);
    inverse_.run(work.bins, work.time);
  }

  void store(const cf32* time, View<cf32, 1> y, std::int64_t at) const noexcept {
    if (decimation_ > 1) return store(time, y, at, [](cf32 v) { return v; });
    std::copy_n(time + past_, std::min(outputs_per_piece(), y.extent(0) - at), y.data() + at);
  }
  template <class T, class Part> void store(const cf32* time, View<T, 1> y, std::int64_t at, Part part) const noexcept {
    const std::int64_t n = std::min(outputs_per_piece(), y.extent(0) - at);
    for (std::int64_t i = 0; i < n; ++i) y(at + i) = part(time[past_ + i * decimation_]);
  }

  /// Whether all of a transform's results are finite.
  bool finite(const cf32* time) const noexcept {
    return HWY_DYNAMIC_DISPATCH(all_finite)(reinterpret_cast<const float*>(time), 2 * size_);
  }

  /// Recomputes the outputs of a piece whose input starts at x(start).
  template <class T> void mend(View<const T, 1> x, std::int64_t start, View<T, 1> y, std::int64_t at) const noexcept {
    const std::int64_t n = std::min(outputs_per_piece(), y.extent(0) - at);
    for (std::int64_t i = 0; i < n; ++i) y(at + i) = sum_of_products(x, start + past_ + i * decimation_);
  }

  /// Rarely needed, so in double precision and not optimised.
  template <class T> T sum_of_products(View<const T, 1> x, std::int64_t newest) const noexcept {
    double re = 0, im = 0;
    const std::int64_t end = std::min(std::ssize(taps_), newest + 1);
    for (std::int64_t k = std::max<std::int64_t>(newest - x.extent(0) + 1, 0); k < end; ++k) {
      const std::complex<double> h = taps_[static_cast<std::size_t>(k)];
      const std::complex<double> v = x(newest - k);
      re += complex_taps_ ? h.real() * v.real() - h.imag() * v.imag() : h.real() * v.real();
      im += complex_taps_ ? h.real() * v.imag() + h.imag() * v.real() : h.real() * v.imag();
    }
    if constexpr (std::is_same_v<T, cf32>)
      return {static_cast<float>(re), static_cast<float>(im)};
    else
      return static_cast<float>(re);
  }

  std::int64_t decimation_;
  std::int64_t past_;
  std::int64_t size_;
  FftPlan forward_;
  FftPlan inverse_;
  std::vector<cf32> taps_;
  bool complex_taps_;
  std::vector<cf32> response_;
  std::vector<cf32> real_response_;  // of the taps' real parts
};

}  // namespace

std::unique_ptr<Filter> make_overlap_save(std::span<const std::complex<double>> taps, std::int64_t decimation) {
  return std::make_unique<OverlapSave>(taps, decimation);
}

}  // namespace iqd::fir
#endif
