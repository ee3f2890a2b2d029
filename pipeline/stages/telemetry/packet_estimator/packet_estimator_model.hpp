// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "pipeline/stages/telemetry/packet_estimator/packet_estimator.hpp"
#include "signal/formats/soqpsk.hpp"

/// For the tests: packets to estimate, and the estimates in double precision.
namespace iqd::packet_estimator {

using complex = std::complex<double>;

inline constexpr double kRate = 20.625e6;
inline constexpr std::int64_t kGuard = PacketFormat::kGuard;

/// iNET's pilot with little data: the estimates are the same, and come faster.
inline PacketFormat short_packets() {
  PacketFormat f;
  f.payload_bits = 200;
  return f;
}

struct Results {
  std::vector<cf32> windows, channel;
  std::vector<float> noise, offset, offset_hz, clock, clock_quality;

  void append(const Results& o) {
    windows.insert(windows.end(), o.windows.begin(), o.windows.end());
    channel.insert(channel.end(), o.channel.begin(), o.channel.end());
    noise.insert(noise.end(), o.noise.begin(), o.noise.end());
    offset.insert(offset.end(), o.offset.begin(), o.offset.end());
    offset_hz.insert(offset_hz.end(), o.offset_hz.begin(), o.offset_hz.end());
    clock.insert(clock.end(), o.clock.begin(), o.clock.end());
    clock_quality.insert(clock_quality.end(), o.clock_quality.begin(), o.clock_quality.end());
  }
};

/// Makes windows: packets with random data through a channel, with an offset and noise.
class Signal {
 public:
  explicit Signal(PacketFormat format = short_packets()) : format_(std::move(format)) {}

  std::vector<complex> taps{1};  // h(0) …
  double noise = 0;              // variance
  double clock = 0;              // the transmitter's error: 1e-6 is 1 ppm
  /// Before and behind the pilot, the preamble continues, so that the samples match X; otherwise random data.
  bool ideal = false;

  std::vector<cf32> window(double offset) {
    const std::int64_t guard_bits = kGuard / format_.samples_per_bit;
    const auto preamble = read_bits(format_.preamble).value();
    std::vector<std::uint8_t> bits;
    const auto period = std::ssize(preamble);
    const auto surround = [&](std::int64_t k) {
      const auto at = static_cast<std::size_t>((k % period + period) % period);
      bits.push_back(ideal ? preamble[at] : static_cast<std::uint8_t>(engine_() & 1));
    };
    for (std::int64_t k = -guard_bits; k < 0; ++k) surround(k);
    for (const std::uint8_t bit : format_.pilot()) bits.push_back(bit);
    for (std::int64_t k = 0; k < format_.payload_bits + guard_bits; ++k) surround(k);
    const std::vector<complex> x = skewed(soqpsk::modulate(bits, format_.samples_per_bit));
    std::normal_distribution<double> normal(0, std::sqrt(noise / 2));
    std::vector<cf32> window;
    for (std::int64_t n = 0; n < format_.window(); ++n) {
      complex r(0, 0);
      for (std::int64_t m = 0; m < std::min(n + 1, std::ssize(taps)); ++m)
        r += taps[static_cast<std::size_t>(m)] * x[static_cast<std::size_t>(n - m)];
      r = r * std::polar(1.0, offset * static_cast<double>(n - kGuard) + 0.7);
      if (noise > 0) r += complex(normal(engine_), normal(engine_));
      window.emplace_back(r);
    }
    return window;
  }
  std::vector<cf32> windows(const std::vector<double>& offsets) {
    std::vector<cf32> all;
    for (const double w : offsets) {
      const auto one = window(w);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

 private:
  /// x(n (1 + clock)), n = 0 at the packet's first sample; to 1e-4.
  std::vector<complex> skewed(const std::vector<complex>& x) const {
    constexpr std::int64_t kHalf = 16;
    if (clock == 0) return x;
    std::vector<complex> y;
    for (std::int64_t n = 0; n < std::ssize(x); ++n) {
      const double place = static_cast<double>(n) + clock * static_cast<double>(n - kGuard);
      const auto whole = static_cast<std::int64_t>(std::floor(place));
      complex sum = 0;
      for (std::int64_t m = whole - kHalf + 1; m <= whole + kHalf; ++m) {
        const double t = place - static_cast<double>(m), angle = 3.14159265358979 * t;
        const double weight =
            std::pow(std::cos(angle / (2 * kHalf)), 2) * (std::fabs(t) < 1e-9 ? 1 : std::sin(angle) / angle);
        sum += weight * x[static_cast<std::size_t>(std::clamp<std::int64_t>(m, 0, std::ssize(x) - 1))];
      }
      y.push_back(sum);
    }
    return y;
  }

  PacketFormat format_;
  std::mt19937 engine_{7};
};

/// The definition in double precision, computed the most direct way.
class Model {
 public:
  explicit Model(const PacketFormat& format = short_packets(), double lambda = 1)
      : format_(format), p_(soqpsk::pilot_waveform(format)), rows_(std::ssize(p_) - kTaps + 1) {
    // [X^H X + lambda I | X^H], then Gauss-Jordan elimination.
    const auto columns = static_cast<std::size_t>(kTaps + rows_);
    g_.assign(kTaps, std::vector<complex>(columns));
    for (std::int64_t i = 0; i < kTaps; ++i)
      for (std::int64_t j = 0; j < kTaps + rows_; ++j) {
        complex sum = j == i ? lambda : 0;
        for (std::int64_t n = 0; j < kTaps && n < rows_; ++n) sum += std::conj(x(n, i)) * x(n, j);
        at(i, j) = j < kTaps ? sum : std::conj(x(j - kTaps, i));
      }
    for (std::int64_t i = 0; i < kTaps; ++i) {
      const complex pivot = at(i, i);
      for (std::int64_t j = i; j < kTaps + rows_; ++j) at(i, j) /= pivot;
      for (std::int64_t k = 0; k < kTaps; ++k) {
        const complex factor = at(k, i);
        for (std::int64_t j = i; k != i && j < kTaps + rows_; ++j) at(k, j) -= factor * at(i, j);
      }
    }
  }

  /// |I - X G|^2
  double rho() {
    double sum = 0;
    for (std::int64_t n = 0; n < rows_; ++n)
      for (std::int64_t k = 0; k < rows_; ++k) {
        complex e = n == k ? 1 : 0;
        for (std::int64_t tap = 0; tap < kTaps; ++tap) e -= x(n, tap) * at(tap, kTaps + k);
        sum += std::norm(e);
      }
    return sum;
  }
  complex correlation(const cf32* window) const {
    const std::int64_t lag = format_.period();
    complex s = 0;
    for (std::int64_t n = 2 * lag; n < (format_.repeats - 1) * lag; ++n)
      s += complex(window[kGuard + n]) * std::conj(complex(window[kGuard + n - lag]));
    return s;
  }
  double offset(complex s) const { return std::arg(s) / static_cast<double>(format_.period()); }

  /// Compares packet number `p` of the results with what it must be for this offset.
  void compare(const std::vector<cf32>& windows, const Results& got, std::size_t p, double offset) {
    const auto window = static_cast<std::size_t>(format_.window());
    std::vector<complex> r;
    double largest = 0, worst = 0;
    for (std::size_t i = 0; i < window; ++i) {
      const double n = static_cast<double>(i) - kGuard;
      r.push_back(complex(windows[p * window + i]) * std::polar(1.0, -offset * n));
      largest = std::max(largest, std::abs(r.back()));
      worst = std::max(worst, std::abs(r.back() - complex(got.windows[p * window + i])));
    }
    EXPECT_LE(worst, 5e-7 * largest);
    compare_channel(std::move(r), got, p);
    EXPECT_NEAR(got.offset[p], offset, 5e-9);
    EXPECT_NEAR(got.offset_hz[p], offset * kRate / (2 * 3.14159265358979), 0.05);
  }

  /// Compares channel and noise of packet number `p` with those of its window r, without offset.
  void compare_channel(std::vector<complex> r, const Results& got, std::size_t p) {
    r.erase(r.begin(), r.begin() + kGuard + kTapsBehind);
    std::vector<complex> h(kTaps);
    double size = 0, error = 0;
    for (std::int64_t tap = 0; tap < kTaps; ++tap) {
      complex& v = h[static_cast<std::size_t>(tap)];
      for (std::int64_t n = 0; n < rows_; ++n) v += at(tap, kTaps + n) * r[static_cast<std::size_t>(n)];
      size += std::norm(v);
      error += std::norm(v - complex(got.channel[p * kTaps + static_cast<std::size_t>(tap)]));
    }
    EXPECT_LE(std::sqrt(error / size), 2e-6);
    double energy = 0;
    for (std::int64_t n = 0; n < rows_; ++n) {
      complex e = r[static_cast<std::size_t>(n)];
      for (std::int64_t tap = 0; tap < kTaps; ++tap) e -= x(n, tap) * h[static_cast<std::size_t>(tap)];
      energy += std::norm(e);
    }
    if (rho_ == 0) rho_ = rho();
    EXPECT_NEAR(got.noise[p] * rho_ / energy, 1, 1e-5);
  }

 private:
  complex x(std::int64_t row, std::int64_t tap) const {
    return p_[static_cast<std::size_t>(kTapsBehind + row - (tap - kTapsBefore))];
  }
  complex& at(std::int64_t i, std::int64_t j) { return g_[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]; }

  PacketFormat format_;
  std::vector<complex> p_;
  std::int64_t rows_;
  std::vector<std::vector<complex>> g_;
  double rho_ = 0;
};

}  // namespace iqd::packet_estimator
