// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "signal/filters/fft_plan.hpp"

/// Splits a stream into K adjacent channels of equal width. Channel k is the band around k rate / K, shifted to 0 Hz,
/// filtered and decimated by D = K / oversample, as by K chains of `rotate` and a decimating `fir`:
///   y(k, m) = sum over l of h(l) v(m D - l),   v(n) = x(n) exp(-j 2 pi k n / K)
/// n counts from the start of the stream. Channels above K/2 are those of negative frequencies, k - K.
///
/// x  [n] cf32, positions x_first …; zero before    y  [channel][m] cf32, positions y_first …
///
/// A polyphase filter bank: products with the same factor exp are summed first, then one transform gives all channels.
/// Within 1e-6 of y's rms of the formula, however the stream is cut. A NaN or infinity makes all channels NaN in the
/// outputs whose sum includes it. Keeps nothing between calls.
namespace iqd::channelizer {

struct Config {
  std::int64_t channels = 0;
  std::int64_t oversample = 1;
  std::vector<double> taps;
  std::int64_t taps_per_channel = 12;
  double attenuation_db = 80;
  std::vector<std::int64_t> select;

  void fields(FieldVisitor& visitor);
};

/// `taps`, or by default a low pass whose response is one half at half the channel spacing, with a sum of 1.
std::vector<double> prototype(const Config& config);
/// `select`, or by default all channels.
std::vector<std::int64_t> selected(const Config& config);

/// Many threads may use it at once, each with its own scratch.
class Channelizer {
 public:
  explicit Channelizer(const Config& config);
  std::size_t scratch_bytes() const noexcept;
  void run(View<const cf32, 1> x, std::int64_t x_first, View<cf32, 2> y, std::int64_t y_first,
           std::byte* scratch) const noexcept;

 private:
  struct Memory;
  Memory take(std::byte* scratch) const noexcept;
  const cf32* inputs_of(View<const cf32, 1> x, std::int64_t newest, cf32* window) const noexcept;
  void fold(const cf32* x, std::int64_t newest, cf32* sums, cf32* time) const noexcept;
  void transform(const Memory& memory, std::int64_t begin, std::int64_t end) const noexcept;

  std::int64_t channels_;
  std::int64_t decimation_;
  std::int64_t taps_;
  std::int64_t turns_;          // of K taps
  std::int64_t batch_;          // frames of a transform
  std::int64_t stride_;         // from frame to frame
  std::vector<float> factors_;  // [turn][K][2]: taps in the order of inputs, from the oldest of a turn on
  std::vector<std::int64_t> select_;
  FftPlan plan_;
};

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(std::int64_t channels, std::int64_t decimation, std::span<const double> taps,
                                           std::span<const std::int64_t> select);

}  // namespace iqd::channelizer
