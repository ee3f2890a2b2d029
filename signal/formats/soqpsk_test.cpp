// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/soqpsk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

namespace iqd::soqpsk {
namespace {

using complex = std::complex<double>;
constexpr double kPi = std::numbers::pi;

std::vector<std::uint8_t> random_bits(std::size_t n) {
  std::mt19937 engine(7);
  std::vector<std::uint8_t> bits(n);
  for (auto& b : bits) b = engine() & 1;
  return bits;
}

/// The axis of bit k.
double on_axis(complex v, std::size_t k) {
  return k % 2 == 0 ? v.real() : v.imag();
}

/// The phase by precoder and pulses, without tables: a running sum over all bits before.
std::vector<complex> summed_up(std::span<const std::uint8_t> bits, std::int64_t s) {
  const auto n = std::ssize(bits);
  const auto a = [&](std::int64_t k) {
    if (k < 0) k = k & 1;
    if (k >= n) k = n - 2 + (k - n) % 2;
    return bits[static_cast<std::size_t>(k)] != 0 ? 1 : -1;
  };
  const auto steps = phase_increments(s);
  std::vector<double> step(static_cast<std::size_t>(s * (n + 20)));  // from sample m - 10 s to the next
  for (std::int64_t k = 0; k < n + 5; ++k) {
    const double alpha = (k % 2 == 0 ? -1 : 1) * a(k - 1) * (a(k) - a(k - 2)) / 2.0;
    for (std::int64_t i = 0; i < std::ssize(steps); ++i)
      step[static_cast<std::size_t>(s * (k - 1 - 4 + 10) + i)] += kPi * alpha * steps[static_cast<std::size_t>(i)];
  }
  double phase = std::atan2(a(1), a(0));
  std::vector<complex> x;
  for (std::int64_t m = -10 * s; m < s * n; ++m) {
    if (m >= 0) x.push_back(std::polar(1.0, phase));
    phase += step[static_cast<std::size_t>(m + 10 * s)];
  }
  return x;
}

TEST(Soqpsk, PhaseIncrementsAreThoseOfTheSpecification) {
  constexpr double kHalf[] = {-8.87077443e-05, -1.31631969e-04, -3.96567667e-03, -1.12064381e-02,
                              -5.78895516e-03, 3.13317804e-02,  9.44453998e-02,  1.45404230e-01};
  const auto steps = phase_increments(2);
  ASSERT_EQ(steps.size(), 16u);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(steps[i], kHalf[i], 2e-7);
    EXPECT_NEAR(steps[15 - i], kHalf[i], 2e-7);
  }
}

TEST(Soqpsk, FinerIncrementsAddUpToTheCoarse) {
  const auto coarse = phase_increments(2);
  for (const std::int64_t s : {4, 8}) {
    const auto fine = phase_increments(s);
    ASSERT_EQ(std::ssize(fine), 8 * s);
    for (std::size_t i = 0; i < coarse.size(); ++i) {
      const auto part = fine.begin() + static_cast<std::int64_t>(i) * s / 2;
      EXPECT_NEAR(std::accumulate(part, part + s / 2, 0.0), coarse[i], 1e-9);
    }
  }
}

TEST(Soqpsk, ThePhaseIsThatOfPrecoderAndPulses) {
  const auto bits = random_bits(400);
  for (const std::int64_t s : {2, 4, 8}) {
    const auto x = modulate(bits, s);
    const auto expected = summed_up(bits, s);
    ASSERT_EQ(x.size(), expected.size());
    double worst = 0;
    for (std::size_t m = 0; m < x.size(); ++m) worst = std::max(worst, std::abs(x[m] - expected[m]));
    EXPECT_LT(worst, 1e-11) << s;
  }
}

TEST(Soqpsk, ATableHoldsTheSameSamples) {
  const auto bits = random_bits(300);
  for (const std::int64_t s : {2, 4, 8}) {
    const Modulator modulator(s);
    const auto x = modulate(bits, s);
    for (std::int64_t k = 4; k < 290; ++k) {
      std::uint32_t around = 0;
      for (std::int64_t i = k - Modulator::kPast; i <= k + Modulator::kFuture; ++i)
        around = around << 1 | bits[static_cast<std::size_t>(i)];
      for (std::int64_t j = 0; j < s; ++j)
        ASSERT_EQ(modulator.samples(k, around)[j], cf32(x[static_cast<std::size_t>(k * s + j)])) << k;
    }
  }
}

TEST(Soqpsk, EyeEnvelopeAndBand) {
  const std::size_t n = 16000;
  const auto bits = random_bits(n);
  const auto x = modulate(bits, 2);
  double least = 2, sum = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const double open = (bits[k] != 0 ? 1 : -1) * on_axis(x[2 * k], k);
    least = std::min(least, open);
    sum += open;
    EXPECT_NEAR(std::abs(x[2 * k + 1]), 1, 1e-12);
  }
  EXPECT_NEAR(least, 0.634, 0.001);
  EXPECT_NEAR(sum / static_cast<double>(n), 0.841, 0.003);
}

TEST(Soqpsk, OneBitAndNone) {
  EXPECT_TRUE(modulate({}, 2).empty());
  const std::uint8_t one = 1;
  for (const complex v : modulate({&one, 1}, 4)) EXPECT_LT(std::abs(v - std::polar(1.0, kPi / 4)), 1e-12);
}

TEST(Soqpsk, TheStateIsThePointOfTheLastTwoBits) {
  for (unsigned last = 0; last < 4; ++last) {
    auto bits = random_bits(20);
    const double re = last & 1 ? 1 : -1, im = last & 2 ? 1 : -1;
    for (std::size_t k = 10; k < 20; ++k) bits[k] = static_cast<std::uint8_t>(last >> (k % 2) & 1);
    EXPECT_LT(std::abs(modulate(bits, 2).back() - complex(re, im) / std::sqrt(2.0)), 1e-12);
  }
}

TEST(Soqpsk, ThePilotStandsBetweenPreambles) {
  const PacketFormat format;
  const auto pilot = format.pilot();
  std::vector<std::uint8_t> bits(pilot.begin(), pilot.begin() + 16);
  bits.insert(bits.end(), pilot.begin(), pilot.end());
  bits.insert(bits.end(), pilot.begin(), pilot.begin() + 16);
  const auto around = modulate(bits, 2);
  const auto p = pilot_waveform(format);
  ASSERT_EQ(p.size(), 384u);
  for (std::size_t m = 0; m < p.size(); ++m) EXPECT_LT(std::abs(p[m] - around[m + 32]), 1e-12);

  const auto q = preamble_waveform(format, Template::exact);
  ASSERT_EQ(q.size(), 32u);
  for (std::size_t m = 0; m < 200; ++m) EXPECT_LT(std::abs(p[m] - q[m % 32]), 1e-12);
}

TEST(Soqpsk, TheRoughTemplateLiesOnTheGrid) {
  const PacketFormat format;
  const auto exact = preamble_waveform(format, Template::exact);
  const auto rough = preamble_waveform(format, Template::grid45);
  complex product = 0;
  for (std::size_t m = 0; m < 32; ++m) {
    const double eighths = std::arg(rough[m]) * 4 / kPi;
    EXPECT_NEAR(eighths, std::round(eighths), 1e-12);
    product += exact[m] * std::conj(rough[m]) / 32.0;
  }
  EXPECT_GT(product.real(), 0.99);
}

TEST(Soqpsk, TheDetectionFilterIsSymmetricAndSoIsItsResponse) {
  const auto d = detection_filter();
  ASSERT_EQ(d.size(), 23u);
  EXPECT_EQ(d[11], 0.423924);
  EXPECT_EQ(d[0], -0.003733);
  for (std::size_t i = 0; i < 11; ++i) EXPECT_EQ(d[i], d[22 - i]);

  const auto response = detection_response(64, 2);
  for (std::size_t bin = 0; bin < 64; ++bin) {
    complex sum = 0;
    for (int i = 0; i < 23; ++i)
      sum += d[static_cast<std::size_t>(i)] * std::polar(1.0, -2 * kPi * (i - 11.0) * static_cast<double>(bin) / 64);
    EXPECT_NEAR(response[bin], sum.real(), 1e-12);
    EXPECT_NEAR(sum.imag(), 0, 1e-12);
  }
}

TEST(Soqpsk, ResponsesAreOverTheSameFrequenciesAtOtherRates) {
  const auto d2 = detection_response(64, 2), d8 = detection_response(256, 8);
  const auto p2 = power_spectrum(64, 2), p8 = power_spectrum(256, 8);
  for (std::size_t bin = 0; bin < 32; ++bin) {
    EXPECT_NEAR(d8[bin], d2[bin], 1e-12);
    EXPECT_NEAR(p8[bin] / p8[0], p2[bin] / p2[0], 1e-12);
    EXPECT_NEAR(d8[(256 - bin) % 256], d2[bin], 1e-12);
    EXPECT_EQ(d8[96 + 2 * bin], 0);
    EXPECT_NEAR(p8[96 + 2 * bin] / *std::max_element(p8.begin(), p8.end()), 1e-4, 1e-15);
  }
}

TEST(Soqpsk, ThePowerLiesWhereThatOfASignalDoes) {
  const std::size_t size = 512, lags = 65;
  const auto psi = power_spectrum(size, 2);
  EXPECT_NEAR(std::accumulate(psi.begin(), psi.end(), 0.0), size, 1e-9);
  EXPECT_NEAR(*std::min_element(psi.begin(), psi.end()) / *std::max_element(psi.begin(), psi.end()), 1e-4, 1e-12);

  // The same for a generated signal: its autocorrelation with the same window.
  const auto x = modulate(random_bits(60000), 2);
  std::vector<double> r(lags);
  for (std::size_t lag = 0; lag < lags; ++lag) {
    for (std::size_t m = lag; m < x.size(); ++m) r[lag] += (x[m] * std::conj(x[m - lag])).real();
    const double at = (65.0 + static_cast<double>(lag)) / 130;
    r[lag] *= (0.42 - 0.5 * std::cos(2 * kPi * at) + 0.08 * std::cos(4 * kPi * at)) / static_cast<double>(x.size());
  }
  double inside = 0;  // the 99 % band: 0.391 of the bit rate
  for (std::size_t bin = 0; bin < size; ++bin) {
    double power = r[0];
    for (std::size_t lag = 1; lag < lags; ++lag)
      power += 2 * r[lag] * std::cos(2 * kPi * static_cast<double>(bin * lag) / size);
    EXPECT_NEAR(psi[bin], power, 0.25) << bin;
    if (static_cast<double>(std::min(bin, size - bin)) / size * 2 <= 0.391) inside += psi[bin] / size;
  }
  EXPECT_NEAR(inside, 0.99, 0.004);
}

TEST(Soqpsk, DifferentialCodeIsUndone) {
  const auto bits = random_bits(101);
  auto code = bits;
  encode_differential(code);
  std::uint8_t last = 0;
  for (std::size_t k = 0; k < bits.size(); ++k) {
    EXPECT_EQ(code[k], k % 2 == 0 ? bits[k] ^ (last ^ 1) : bits[k] ^ last);
    last = code[k];
  }
  decode_differential(code);
  EXPECT_EQ(code, bits);
}

/// Rotations by quarter turns; with an odd number of them the receiver also swaps the axes.
TEST(Soqpsk, DifferentialCodeBearsAnyRotation) {
  const auto bits = random_bits(200);
  auto code = bits;
  encode_differential(code);
  const auto x = modulate(code, 2);
  for (std::size_t quarters = 0; quarters < 4; ++quarters) {
    const complex turn = std::polar(1.0, kPi / 2 * static_cast<double>(quarters));
    const std::size_t late = quarters % 2;  // labels of the receiver are one ahead
    std::vector<std::uint8_t> received(late);
    for (std::size_t k = 0; k < code.size(); ++k) received.push_back(on_axis(x[2 * k] * turn, k + late) >= 0 ? 1 : 0);
    decode_differential(received);
    for (std::size_t k = 1; k < bits.size(); ++k) ASSERT_EQ(received[k + late], bits[k]) << quarters << ' ' << k;
  }
}

}  // namespace
}  // namespace iqd::soqpsk
