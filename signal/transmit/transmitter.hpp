// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/element.hpp"
#include "signal/channels/white_noise.hpp"

namespace iqd {

/// An impaired transmitter and the receiver that observes it, for simulations:
///
///   w = K1 x + K2 x* + lo         K1 = (1 + g exp(j p)) / 2, K2 = (1 - g exp(-j p)) / 2
///   v = a1 u + a3 |u|^2 u + a5 |u|^4 u,   u = before * w
///   y(n) = (behind * v)(n - delay) + noise
///
/// The gain of the spec amplifier is |a1| = 0.949 for small signals and at most 1.008 (at |u| = 0.49). Its output is
/// largest, 0.679, at |u| = 0.775; beyond that it *folds*: stronger input gives weaker output. So peaks have to stay
/// below.
///
/// A fractional delay is a sinc with a Kaiser window of 64 samples, accurate to 1e-4 up to 0.45 of the rate; it looks
/// up to 32 samples ahead, minus the delay. Values that are not finite spoil the samples that they reach.
///
/// Depends only on position: the same bits however the stream is cut. May be used by many threads.
class Transmitter {
 public:
  struct Options {
    double iq_gain_db = 0;
    double iq_phase_deg = 0;
    std::complex<double> lo = 0;
    std::vector<std::complex<double>> before = {1};  // the amplifier; the newest sample's tap first, up to 64
    std::complex<double> a1 = 1, a3 = 0, a5 = 0;
    std::vector<std::complex<double>> behind = {1};
    double delay = 0;  // samples, at least 0
    double noise = 0;  // rms
    std::uint64_t seed = 1;
  };
  /// Only the spec amplifier.
  static Options memoryless();
  /// The same with I/Q imbalance of 1 dB and 5 degrees, a carrier of 0.008, and short filters before and behind.
  static Options impaired();

  explicit Transmitter(const Options& options);

  /// y(first), y(first + 1) …; x points to x(first) and is readable from `past` samples before it to `future` after the
  /// last. `first` is at least 0; `first` and `stream` choose the noise.
  void run(const cf32* x, std::int64_t first, std::span<cf32> y, std::uint64_t stream = 0) const noexcept;
  std::int64_t past() const noexcept;
  std::int64_t future() const noexcept;

  struct Mixer {
    float re_re, re_im, im_re, im_im, lo_re, lo_im;  // re' = re_re re + re_im im + lo_re, and so on
  };
  struct Amplifier {
    std::complex<float> a1, a3, a5;
  };

 private:
  struct Filter {
    explicit Filter(std::span<const std::complex<double>> taps);
    std::int64_t size() const noexcept { return static_cast<std::int64_t>(re.size()); }
    void run(const cf32* x, cf32* y, std::int64_t n) const noexcept;
    std::vector<float> re, im;
    bool real;
  };
  void run_piece(const cf32* x, std::span<cf32> y) const noexcept;

  Mixer mixer_;
  Amplifier amplifier_;
  Filter before_;
  Filter behind_;
  std::int64_t late_;  // delay of the first tap of `behind_` in samples; negative: early
  float noise_;
  std::shared_ptr<const WhiteNoise> white_;
};

}  // namespace iqd
