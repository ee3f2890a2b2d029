// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/transmit/transmitter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <random>

namespace iqd {
namespace {

using complex = std::complex<double>;
using Options = Transmitter::Options;
using Samples = std::vector<cf32>;

Samples noise(std::size_t n, float amplitude) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> part(-amplitude, amplitude);
  Samples x(n);
  for (cf32& v : x) v = {part(engine), part(engine)};
  return x;
}

/// The output for x, with zeros before and after it, in pieces of these lengths; the last one repeats. Each piece is a
/// copy of exactly the length needed.
Samples sent(const Options& options, const Samples& x, const std::vector<std::int64_t>& lengths = {1 << 30}) {
  const Transmitter transmitter(options);
  Samples padded(static_cast<std::size_t>(transmitter.past()));
  padded.insert(padded.end(), x.begin(), x.end());
  padded.resize(padded.size() + static_cast<std::size_t>(transmitter.future()));
  Samples y(x.size());
  std::size_t turn = 0;
  for (std::int64_t at = 0, n = 0; at < std::ssize(x); at += n) {
    n = std::min(lengths[std::min(turn++, lengths.size() - 1)], std::ssize(x) - at);
    const Samples window(padded.begin() + at, padded.begin() + at + transmitter.past() + n + transmitter.future());
    transmitter.run(window.data() + transmitter.past(), at, std::span(y).subspan(at, n));
  }
  return y;
}

/// The definition, for delays of whole samples.
std::vector<complex> definition(const Options& o, const Samples& x) {
  const complex turned = std::polar(std::pow(10, o.iq_gain_db / 20), o.iq_phase_deg * std::numbers::pi / 180);
  const auto at = [](const auto& values, std::int64_t n) {
    return n < 0 ? complex(0) : complex(values[static_cast<std::size_t>(n)]);
  };
  const auto mixed = [&](std::int64_t n) {
    return (1.0 + turned) / 2.0 * at(x, n) + (1.0 - std::conj(turned)) / 2.0 * std::conj(at(x, n)) + o.lo;
  };
  const auto amplified = [&](std::int64_t n) {
    complex u = 0;
    for (std::size_t k = 0; k < o.before.size(); ++k) u += o.before[k] * mixed(n - static_cast<std::int64_t>(k));
    const double p = std::norm(u);
    return o.a1 * u + o.a3 * p * u + o.a5 * p * p * u;
  };
  std::vector<complex> y;
  for (std::int64_t n = 0; n < std::ssize(x); ++n) {
    y.emplace_back();
    for (std::size_t k = 0; k < o.behind.size(); ++k)
      y.back() += o.behind[k] * amplified(n - static_cast<std::int64_t>(k) - static_cast<std::int64_t>(o.delay));
  }
  return y;
}

TEST(Transmitter, TheAmplifierFoldsWhereItsDescriptionSays) {
  Samples x;
  for (int i = 1; i <= 1000; ++i) x.emplace_back(static_cast<float>(i) * 1e-3f, 0.0f);
  const Samples y = sent(Transmitter::memoryless(), x);
  std::size_t strongest = 0, most = 0;  // output, gain
  const auto gain = [&](std::size_t i) { return std::abs(y[i]) / std::abs(x[i]); };
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (std::abs(y[i]) > std::abs(y[strongest])) strongest = i;
    if (gain(i) > gain(most)) most = i;
  }
  EXPECT_NEAR(gain(0), 0.949, 1e-3);
  EXPECT_NEAR(gain(most), 1.008, 1e-3);
  EXPECT_NEAR(x[most].real(), 0.49, 0.01);
  EXPECT_NEAR(std::abs(y[strongest]), 0.679, 1e-3);
  EXPECT_NEAR(x[strongest].real(), 0.775, 0.002);
}

TEST(Transmitter, DoesWhatItsDefinitionSays) {
  const Samples x = noise(5000, 0.4f);
  Options late = Transmitter::impaired();
  late.delay = 7;
  for (const Options& options : {Options(), Transmitter::memoryless(), Transmitter::impaired(), late}) {
    const Samples y = sent(options, x);
    const auto expected = definition(options, x);
    for (std::size_t n = 0; n < x.size(); ++n) ASSERT_LT(std::abs(complex(y[n]) - expected[n]), 5e-7) << n;
  }
}

TEST(Transmitter, DelaysByPartsOfASample) {
  for (const double delay : {0.5, 3.37, 40.9})
    for (const double frequency : {0.0, 0.1, -0.3, 0.44}) {
      const auto tone = [&](double n) { return std::polar(1.0, 2 * std::numbers::pi * frequency * n); };
      Samples x;
      for (int n = 0; n < 300; ++n) x.emplace_back(tone(n));
      const Samples y = sent({.delay = delay}, x);
      for (std::size_t n = 100; n < 200; ++n)
        ASSERT_LT(std::abs(complex(y[n]) - tone(static_cast<double>(n) - delay)), 1e-4) << delay << " " << frequency;
    }
}

TEST(Transmitter, HowTheStreamIsCutDoesNotMatter) {
  const Samples x = noise(9000, 0.4f);
  Options options = Transmitter::impaired();
  options.delay = 3.37;
  options.noise = 1e-3;
  const Samples whole = sent(options, x);
  for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{1, 2, 3, 4095, 17, 2049}, {64}, {333}}) {
    const Samples y = sent(options, x, lengths);
    EXPECT_EQ(std::memcmp(y.data(), whole.data(), y.size() * sizeof(cf32)), 0);
  }
}

TEST(Transmitter, NoiseIsAsStrongAsItShouldBe) {
  const Samples x(100'000);
  const auto heard = [&](std::uint64_t seed) { return sent({.noise = 0.01, .seed = seed}, x); };
  const Samples y = heard(1), other = heard(2);
  double power = 0, common = 0;
  for (std::size_t n = 0; n < y.size(); ++n) {
    power += std::norm(y[n]);
    common += (y[n] * std::conj(other[n])).real();
  }
  EXPECT_NEAR(power / 1e5, 1e-4, 3e-6);
  EXPECT_LT(std::abs(common) / power, 0.03);
}

TEST(Transmitter, WhatIsNotFiniteStaysWithinItsReach) {
  Samples x(300);
  x[100] = {std::numeric_limits<float>::infinity(), 0};
  Options options = Transmitter::impaired();
  options.delay = 3.37;
  const Transmitter transmitter(options);
  const Samples y = sent(options, x);
  for (std::int64_t n = 0; n < std::ssize(y); ++n)
    EXPECT_EQ(std::isfinite(std::abs(y[static_cast<std::size_t>(n)])),
              n < 100 - transmitter.future() || n > 100 + transmitter.past())
        << n;
}

}  // namespace
}  // namespace iqd
