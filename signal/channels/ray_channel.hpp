// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// Aeronautical telemetry channels as a few rays, for tests and simulations of SOQPSK-TG.
namespace iqd {

/// One path from transmitter to receiver: its gain and rotation, and a delay of `delay_s`.
struct Ray {
  double gain_db = 0;
  double delay_s = 0;
  double phase_degrees = 0;
};

/// awgn: a single ray. ch1 to ch3: three rays; the second, 50 ns late and only 1.5 dB weaker, arrives at 180, 150 or
/// 120 degrees. ch4: three rays over 900 ns.
enum class RayChannel : std::uint8_t { awgn, ch1, ch2, ch3, ch4 };
inline std::span<const std::string_view> enum_names(RayChannel) {
  static constexpr std::string_view names[] = {"awgn", "ch1", "ch2", "ch3", "ch4"};
  return names;
}
std::span<const Ray> rays_of(RayChannel channel);

/// y(n) = sum of taps[i] x(n + before - i): tap `before` is that of delay 0.
struct ChannelTaps {
  std::vector<std::complex<double>> taps;
  std::int64_t before = 0;
};

/// The rays as a filter at this sample rate. Fractional delays are sincs with a Kaiser window of 24 samples, accurate
/// to 2e-4 up to 0.36 of the rate. Scaled so that SOQPSK-TG of power 1 with this many samples per bit comes out with
/// power 1: the mean of |H(f)|^2 over its spectrum is 1.
ChannelTaps taps_of(std::span<const Ray> rays, double rate_hz, std::int64_t samples_per_bit);

/// The power with which that signal comes out without the scaling.
double power_of(std::span<const Ray> rays, double rate_hz, std::int64_t samples_per_bit);

/// The variance of complex noise per sample, for a signal of power 1.
double noise_variance(double eb_n0_db, std::int64_t samples_per_bit);

}  // namespace iqd
