// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/channels/ray_channel.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "signal/filters/windows.hpp"
#include "signal/formats/soqpsk.hpp"

namespace iqd {
namespace {

using complex = std::complex<double>;
constexpr double kPi = std::numbers::pi;
constexpr std::int64_t kHalfWidth = 12;
constexpr double kBeta = 8;

constexpr Ray kAwgn[] = {{}};
constexpr Ray kChannel1[] = {{}, {-1.5, 50e-9, 180}, {-20, 155e-9, 90}};
constexpr Ray kChannel2[] = {{}, {-1.5, 50e-9, 150}, {-20, 155e-9, 90}};
constexpr Ray kChannel3[] = {{}, {-1.5, 50e-9, 120}, {-20, 155e-9, 90}};
constexpr Ray kChannel4[] = {{}, {-3, 300e-9, 60}, {-14, 900e-9, -120}};

/// A fractional delay, t samples from its centre.
double delayed(double t) {
  const double place = t / kHalfWidth;
  if (std::fabs(place) >= 1) return 0;
  const double window = bessel_i0(kBeta * std::sqrt(1 - place * place)) / bessel_i0(kBeta);
  return window * (t == 0 ? 1 : std::sin(kPi * t) / (kPi * t));
}

/// The output power of the filter for SOQPSK-TG of power 1.
double power_through(std::span<const complex> taps, std::int64_t samples_per_bit) {
  const auto size = std::max<std::int64_t>(1024, std::ssize(taps));
  const auto spectrum = soqpsk::power_spectrum(size, samples_per_bit);
  double power = 0;
  for (std::int64_t bin = 0; bin < size; ++bin) {
    const complex turn = std::polar(1.0, -2 * kPi * static_cast<double>(bin) / static_cast<double>(size));
    complex response = 0;
    for (auto tap = taps.rbegin(); tap != taps.rend(); ++tap) response = response * turn + *tap;
    power += std::norm(response) * spectrum[static_cast<std::size_t>(bin)];
  }
  return power / static_cast<double>(size);
}

ChannelTaps unscaled_taps(std::span<const Ray> rays, double rate_hz) {
  double first = 0, last = 0;
  for (const Ray& ray : rays) {
    first = std::min(first, ray.delay_s * rate_hz);
    last = std::max(last, ray.delay_s * rate_hz);
  }
  ChannelTaps channel;
  channel.before = kHalfWidth - static_cast<std::int64_t>(std::floor(first));
  const std::int64_t size = channel.before + static_cast<std::int64_t>(std::ceil(last)) + kHalfWidth + 1;
  channel.taps.resize(static_cast<std::size_t>(size));
  for (const Ray& ray : rays)
    for (std::int64_t i = 0; i < size; ++i)
      channel.taps[static_cast<std::size_t>(i)] +=
          std::polar(std::pow(10, ray.gain_db / 20), ray.phase_degrees * kPi / 180) *
          delayed(static_cast<double>(i - channel.before) - ray.delay_s * rate_hz);
  return channel;
}

}  // namespace

std::span<const Ray> rays_of(RayChannel channel) {
  switch (channel) {
    case RayChannel::awgn: return kAwgn;
    case RayChannel::ch1: return kChannel1;
    case RayChannel::ch2: return kChannel2;
    case RayChannel::ch3: return kChannel3;
    case RayChannel::ch4: break;
  }
  return kChannel4;
}

ChannelTaps taps_of(std::span<const Ray> rays, double rate_hz, std::int64_t samples_per_bit) {
  ChannelTaps channel = unscaled_taps(rays, rate_hz);
  const double power = power_through(channel.taps, samples_per_bit);
  if (power > 0)
    for (complex& tap : channel.taps) tap /= std::sqrt(power);
  return channel;
}

double power_of(std::span<const Ray> rays, double rate_hz, std::int64_t samples_per_bit) {
  return power_through(unscaled_taps(rays, rate_hz).taps, samples_per_bit);
}

double noise_variance(double eb_n0_db, std::int64_t samples_per_bit) {
  return static_cast<double>(samples_per_bit) / std::pow(10, eb_n0_db / 10);
}

}  // namespace iqd
