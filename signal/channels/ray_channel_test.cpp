// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/channels/ray_channel.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "signal/formats/soqpsk.hpp"

namespace iqd {
namespace {

using complex = std::complex<double>;
constexpr double kRate = 20.625e6;
constexpr RayChannel kAll[] = {RayChannel::awgn, RayChannel::ch1, RayChannel::ch2, RayChannel::ch3, RayChannel::ch4};

/// At f turns per sample.
complex response(const ChannelTaps& channel, double f) {
  complex sum = 0;
  for (std::size_t i = 0; i < channel.taps.size(); ++i)
    sum += channel.taps[i] *
           std::polar(1.0, -2 * std::numbers::pi * f * (static_cast<double>(i) - static_cast<double>(channel.before)));
  return sum;
}
complex exact_response(std::span<const Ray> rays, double f_hz) {
  complex sum = 0;
  for (const Ray& ray : rays)
    sum += std::polar(std::pow(10, ray.gain_db / 20),
                      ray.phase_degrees * std::numbers::pi / 180 - 2 * std::numbers::pi * f_hz * ray.delay_s);
  return sum;
}

TEST(RayChannel, TheResponseIsThatOfTheRaysButForAFactor) {
  for (const RayChannel c : kAll)
    for (const std::int64_t s : {2, 4}) {
      const double rate = kRate * static_cast<double>(s) / 2;
      const ChannelTaps channel = taps_of(rays_of(c), rate, s);
      const double factor = response(channel, 0).real() / exact_response(rays_of(c), 0).real();
      for (double f = -0.36; f <= 0.36; f += 0.02)
        EXPECT_LT(std::abs(response(channel, f) / factor - exact_response(rays_of(c), f * rate)), 2e-4) << f;
    }
}

TEST(RayChannel, ASignalKeepsItsPower) {
  std::mt19937 engine(3);
  std::vector<std::uint8_t> bits(20000);
  for (auto& b : bits) b = engine() & 1;
  const auto x = soqpsk::modulate(bits, 2);
  for (const RayChannel c : kAll) {
    const ChannelTaps channel = taps_of(rays_of(c), kRate, 2);
    const std::size_t length = channel.taps.size();
    double power = 0;
    for (std::size_t n = length; n < x.size(); ++n) {
      complex y = 0;
      for (std::size_t i = 0; i < length; ++i) y += channel.taps[i] * x[n - i];
      power += std::norm(y) / static_cast<double>(x.size() - length);
    }
    EXPECT_NEAR(power, 1, 0.03) << static_cast<int>(c);
  }
}

TEST(RayChannel, ASingleRayIsASingleTap) {
  const ChannelTaps channel = taps_of(rays_of(RayChannel::awgn), kRate, 2);
  for (std::size_t i = 0; i < channel.taps.size(); ++i)
    EXPECT_NEAR(std::abs(channel.taps[i] - (static_cast<std::int64_t>(i) == channel.before ? 1.0 : 0.0)), 0, 1e-12);
}

TEST(RayChannel, RaysMayBeEarlyAndMayBeNone) {
  const Ray rays[] = {{.gain_db = 0, .delay_s = -2.5 / kRate, .phase_degrees = 90}};
  EXPECT_NEAR(std::arg(response(taps_of(rays, kRate, 2), 0.1) * std::polar(1.0, -2 * std::numbers::pi * 0.25)),
              std::numbers::pi / 2, 1e-4);
  for (const complex tap : taps_of({}, kRate, 2).taps) EXPECT_EQ(tap, complex(0));
}

TEST(RayChannel, ThePowerOfARayIsThatOfItsGain) {
  const Ray rays[] = {{}, {.gain_db = -3, .delay_s = 3e-7}};
  EXPECT_NEAR(power_of(std::span(rays).first(1), kRate, 2), 1, 1e-3);
  EXPECT_NEAR(power_of(std::span(rays).subspan(1), kRate, 2), std::pow(10, -0.3), 1e-3);
  EXPECT_EQ(power_of({}, kRate, 2), 0);
}

TEST(RayChannel, NoiseIsThatOfTheEnergyOfABit) {
  EXPECT_DOUBLE_EQ(noise_variance(10, 2), 0.2);
  EXPECT_DOUBLE_EQ(noise_variance(0, 4), 4);
}

}  // namespace
}  // namespace iqd
