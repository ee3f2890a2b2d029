// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "pipeline/stages/dsp/fir/fir.hpp"
#include "signal/fft_plan.hpp"
#include "signal/scratch.hpp"

namespace iqd::fir {
namespace {

struct Transforms {
  cf32* time;
  cf32* frequency;
};

/// Circular convolution by transforms four times as long as the filter: of each, the first taps-1 results are spoilt by
/// the wrap and thrown away. Two pieces of a real stream go through one transform, as real and imaginary part.
class OverlapSave final : public Filter {
 public:
  OverlapSave(std::span<const std::complex<double>> taps, std::int64_t decimation)
      : decimation_(decimation),
        past_(std::ssize(taps) - 1),
        size_(static_cast<std::int64_t>(std::bit_ceil(taps.size() * 4))),
        forward_(size_),
        inverse_(size_, FftPlan::Direction::inverse),
        response_(static_cast<std::size_t>(size_)),
        real_response_(static_cast<std::size_t>(size_)) {
    std::vector<std::byte> memory(scratch_bytes());
    const Transforms work = take(memory.data());
    respond(taps, work, response_, [](std::complex<double> h) { return cf32(h); });
    respond(taps, work, real_response_, [](std::complex<double> h) { return cf32(static_cast<float>(h.real())); });
  }

  std::size_t scratch_bytes() const noexcept override {
    Scratch count(nullptr);
    count.take<cf32>(size_);
    count.take<cf32>(size_);
    return count.bytes();
  }

  void run(View<const cf32, 2> x, std::int64_t x_first, View<cf32, 2> y, std::int64_t y_first,
           std::byte* scratch) const noexcept override {
    const Transforms work = take(scratch);
    const std::int64_t outputs = outputs_per_piece();
    for (std::int64_t row = 0; row < y.extent(0); ++row)
      for (std::int64_t i = 0; i < y.extent(1); i += outputs) {
        load(x.row(row), (y_first + i) * decimation_ - past_ - x_first, work.time, [](cf32& to, cf32 v) { to = v; });
        convolve(work, response_);
        store(work.time, y.row(row), i, [](cf32 v) { return v; });
      }
  }

  void run(View<const float, 2> x, std::int64_t x_first, View<float, 2> y, std::int64_t y_first,
           std::byte* scratch) const noexcept override {
    const Transforms work = take(scratch);
    const std::int64_t outputs = outputs_per_piece();
    for (std::int64_t row = 0; row < y.extent(0); ++row)
      for (std::int64_t i = 0; i < y.extent(1); i += 2 * outputs) {
        const std::int64_t start = (y_first + i) * decimation_ - past_ - x_first;
        load(x.row(row), start, work.time, [](cf32& to, float v) { to = {v, 0}; });
        load(x.row(row), start + outputs * decimation_, work.time, [](cf32& to, float v) { to = {to.real(), v}; });
        convolve(work, real_response_);
        store(work.time, y.row(row), i, [](cf32 v) { return v.real(); });
        store(work.time, y.row(row), i + outputs, [](cf32 v) { return v.imag(); });
      }
  }

 private:
  Transforms take(std::byte* memory) const noexcept {
    Scratch scratch(memory);
    return {scratch.take<cf32>(size_), scratch.take<cf32>(size_)};
  }
  std::int64_t outputs_per_piece() const noexcept { return (size_ - past_ - 1) / decimation_ + 1; }

  /// The transform of the taps, with the 1/size that the way back leaves out.
  template <class Part>
  void respond(std::span<const std::complex<double>> taps, Transforms work, std::vector<cf32>& response, Part part) {
    std::fill_n(work.time, size_, cf32());
    for (std::size_t k = 0; k < taps.size(); ++k) work.time[k] = part(taps[k] / static_cast<double>(size_));
    forward_.run(work.time, work.frequency);
    std::copy_n(work.frequency, size_, response.begin());
  }

  /// A transform's input from x(start) on; zero where x has nothing.
  template <class T, class Put> void load(View<const T, 1> x, std::int64_t start, cf32* time, Put put) const noexcept {
    const std::int64_t begin = std::clamp<std::int64_t>(-start, 0, size_);
    const std::int64_t end = std::clamp(x.extent(0) - start, begin, size_);
    for (std::int64_t i = 0; i < begin; ++i) put(time[i], T());
    for (std::int64_t i = begin; i < end; ++i) put(time[i], x(start + i));
    for (std::int64_t i = end; i < size_; ++i) put(time[i], T());
  }

  void convolve(Transforms work, const std::vector<cf32>& response) const noexcept {
    forward_.run(work.time, work.frequency);
    const auto* h = reinterpret_cast<const float*>(response.data());
    auto* f = reinterpret_cast<float*>(work.frequency);
    // By hand: the standard's product of complex numbers looks for NaN.
    for (std::int64_t k = 0; k < 2 * size_; k += 2) {
      const float re = f[k] * h[k] - f[k + 1] * h[k + 1];
      f[k + 1] = f[k] * h[k + 1] + f[k + 1] * h[k];
      f[k] = re;
    }
    inverse_.run(work.frequency, work.time);
  }

  template <class T, class Part> void store(const cf32* time, View<T, 1> y, std::int64_t at, Part part) const noexcept {
    const std::int64_t n = std::min(outputs_per_piece(), y.extent(0) - at);
    for (std::int64_t i = 0; i < n; ++i) y(at + i) = part(time[past_ + i * decimation_]);
  }

  std::int64_t decimation_;
  std::int64_t past_;
  std::int64_t size_;
  FftPlan forward_;
  FftPlan inverse_;
  std::vector<cf32> response_;
  std::vector<cf32> real_response_;  // of the taps' real parts
};

}  // namespace

std::unique_ptr<Filter> make_overlap_save(std::span<const std::complex<double>> taps, std::int64_t decimation) {
  return std::make_unique<OverlapSave>(taps, decimation);
}

}  // namespace iqd::fir
