// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cstring>

#include "pipeline/stages/filters/fir/fir.hpp"
#include "signal/filters/filter_kernel.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::fir {
namespace {

/// Floats of input in a tile: they and the taps stay in the L1 cache.
constexpr std::int64_t kTileFloats = 4096;
constexpr std::int64_t kLeastOutputs = 256;

bool any_complex(std::span<const std::complex<double>> taps) {
  return std::any_of(taps.begin(), taps.end(), [](auto h) { return h.imag() != 0; });
}

constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) {
  return (n + to - 1) / to * to;
}

/// The taps split into phases: with k = q D + p, y(m) = sum over p of sum over q of h(q D + p) x((m - q) D - p), so
/// each phase is a filter without decimation over every D-th sample. Tile by tile the phases of the input are copied to
/// scratch, one after the other; phases without taps are left out.
class Direct final : public Filter {
 public:
  Direct(std::span<const std::complex<double>> taps, std::int64_t decimation)
      : decimation_(decimation), phase_count_(std::min(decimation, std::ssize(taps))) {
    const bool complex = any_complex(taps);
    for (std::int64_t p = 0; p < phase_count_; ++p) {
      begin_.push_back(std::ssize(re_));
      for (std::int64_t k = p; k < std::ssize(taps); k += decimation) {
        const std::complex<double> h = taps[static_cast<std::size_t>(k)];
        re_.push_back(static_cast<float>(h.real()));
        if (complex) im_.push_back(static_cast<float>(h.imag()));
      }
    }
    begin_.push_back(std::ssize(re_));
    history_ = round_up(begin_[1] - 1, kFilterMargin) + kFilterMargin;
    outputs_ = std::max(kLeastOutputs, round_up(std::max(kTileFloats / phase_count_, 2 * history_), kFilterMargin));
    stride_ = history_ + outputs_ + kFilterMargin;
  }

  std::size_t scratch_bytes() const noexcept override {
    Scratch count(nullptr);
    count.take<FilterPhase>(phase_count_);
    count.take<cf32>(stride_ * phase_count_);
    return count.bytes();
  }

  void run(View<const cf32, 2> x, std::int64_t x_first, View<cf32, 2> y, std::int64_t y_first,
           std::byte* scratch) const noexcept override {
    run_rows(x, x_first, y, y_first, scratch);
  }
  void run(View<const float, 2> x, std::int64_t x_first, View<float, 2> y, std::int64_t y_first,
           std::byte* scratch) const noexcept override {
    run_rows(x, x_first, y, y_first, scratch);
  }

 private:
  template <class T> void run_rows(View<const T, 2> x, std::int64_t x_first, View<T, 2> y, std::int64_t y_first,
                                   std::byte* memory) const noexcept {
    Scratch scratch(memory);
    const auto phases = scratch.take_span<FilterPhase>(phase_count_);
    T* const inputs = scratch.take<T>(stride_ * phase_count_);
    for (std::int64_t p = 0; p < phase_count_; ++p) phases[static_cast<std::size_t>(p)] = phase(p, inputs);
    for (std::int64_t row = 0; row < y.extent(0); ++row)
      for (std::int64_t i = 0; i < y.extent(1); i += outputs_) {
        const std::int64_t n = std::min(outputs_, y.extent(1) - i);
        for (std::int64_t p = 0; p < phase_count_; ++p) {
          const std::int64_t start = (y_first + i) * decimation_ - p - x_first;
          lay_out(x.row(row), start, begin_[p + 1] - begin_[p] - 1, n, inputs + p * stride_ + history_);
        }
        filter_tile(phases, std::is_same_v<T, cf32>, reinterpret_cast<float*>(&y(row, i)), n);
      }
  }

  template <class T> FilterPhase phase(std::int64_t p, const T* inputs) const noexcept {
    const bool with_im = !im_.empty() && std::is_same_v<T, cf32>;
    return {re_.data() + begin_[p], with_im ? im_.data() + begin_[p] : nullptr, begin_[p + 1] - begin_[p],
            reinterpret_cast<const float*>(inputs + p * stride_ + history_)};
  }

  /// to(i) = x(start + i D), i = -past … n-1, zero before x's beginning.
  template <class T>
  void lay_out(View<const T, 1> x, std::int64_t start, std::int64_t past, std::int64_t n, T* to) const noexcept {
    // The kernel reads this margin only for results that it does not store; arbitrary values could slow it down.
    std::fill(to - past - kFilterMargin, to - past, T());
    std::fill(to + n, to + n + kFilterMargin, T());
    const std::int64_t from_zero = start < 0 ? (-start + decimation_ - 1) / decimation_ : -(start / decimation_);
    const std::int64_t missing = std::clamp(from_zero, -past, n);
    std::fill(to - past, to + missing, T());
    if (missing == n) return;
    assert(start + (n - 1) * decimation_ < x.extent(0));
    const T* from = x.data() + start + missing * decimation_;
    if (decimation_ == 1) return static_cast<void>(std::copy_n(from, n - missing, to + missing));
    for (std::int64_t i = missing; i < n; ++i, from += decimation_) to[i] = *from;
  }

  std::int64_t decimation_;
  std::int64_t phase_count_;
  std::vector<float> re_;
  std::vector<float> im_;            // empty if all taps are real
  std::vector<std::int64_t> begin_;  // of each phase in re_ and im_
  std::int64_t history_ = 0;         // samples before a tile's first
  std::int64_t outputs_ = 0;         // of a tile
  std::int64_t stride_ = 0;          // samples from phase to phase
};

/// Multiplications per input sample above which transforms are faster, for each lane of a vector. Measured with 64 to
/// 1024 taps and decimation 1, 2, 4, 16, cf32: both are equally fast at 190 (AVX-512, 16 lanes) and 75 (AVX2, 8).
constexpr std::int64_t kTransformFrom = 10;

}  // namespace

Method choose_method(std::span<const std::complex<double>> taps, std::int64_t decimation) {
  const std::int64_t products = std::ssize(taps) * (any_complex(taps) ? 2 : 1) / decimation;
  return products > kTransformFrom * filter_lanes() ? Method::fft : Method::direct;
}

std::unique_ptr<Filter> make_filter(std::span<const std::complex<double>> taps, std::int64_t decimation,
                                    Method method) {
  if (method == Method::automatic) method = choose_method(taps, decimation);
  return method == Method::fft ? make_overlap_save(taps, decimation) : make_direct(taps, decimation);
}

std::unique_ptr<Filter> make_direct(std::span<const std::complex<double>> taps, std::int64_t decimation) {
  return std::make_unique<Direct>(taps, decimation);
}

}  // namespace iqd::fir
