// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/channels/channel_match.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "signal/filters/fractional_delay.hpp"

namespace iqd {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

/// A signal of power 1 that can be read at any time: white noise, interpolated between its samples; or a tone.
class Signal {
 public:
  static constexpr std::int64_t kMargin = 512;

  static Signal white() {
    std::mt19937 random(7);
    std::normal_distribution<float> any(0, static_cast<float>(1 / std::numbers::sqrt2));
    Signal s;
    for (std::int64_t n = 0; n < kMatchLeast + 2 * kMargin; ++n) s.samples_.emplace_back(any(random), any(random));
    return s;
  }
  static Signal tone(double frequency) {
    Signal s;
    s.frequency_ = frequency;
    return s;
  }
  std::vector<std::complex<double>> delayed(double delay) const {
    constexpr std::int64_t kTaps = 128;
    const auto whole = static_cast<std::int64_t>(std::floor(-delay));
    const std::vector<float> h = fractional_delay(-delay - static_cast<double>(whole), kTaps);
    std::vector<std::complex<double>> x(kMatchLeast);
    for (std::int64_t n = 0; n < kMatchLeast; ++n) {
      auto& sum = x[static_cast<std::size_t>(n)];
      if (samples_.empty()) sum = std::polar(1.0, kTurn * frequency_ * (static_cast<double>(n) - delay));
      for (std::int64_t q = 0; q < kTaps && !samples_.empty(); ++q)
        sum += static_cast<double>(h[static_cast<std::size_t>(q)]) *
               std::complex<double>(samples_[static_cast<std::size_t>(kMargin + n + whole + kTaps / 2 - q)]);
    }
    return x;
  }

 private:
  std::vector<cf32> samples_;
  double frequency_ = 0;
};

struct Errors {
  double gain_db = 0, phase_deg = 0, delay = 0;
};

/// A channel that receives the signal of power 1 with these errors, plus its own noise of `noise_db`.
std::vector<cf32> hear(const Signal& signal, const Errors& e, double noise_db, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, std::pow(10, noise_db / 20) / std::numbers::sqrt2);
  const auto factor = std::polar(std::pow(10, e.gain_db / 20), e.phase_deg * kTurn / 360);
  std::vector<cf32> x;
  for (const auto& v : signal.delayed(e.delay)) x.emplace_back(factor * v + std::complex(noise(random), noise(random)));
  return x;
}

TEST(ChannelMatch, FindsWhatChannelsDifferBy) {
  const Signal wide = Signal::white();
  const auto reference = hear(wide, {}, -40, 1);
  for (const Errors& e : {Errors{}, Errors{-0.5, 31, 0.25}, Errors{6, 179.5, -3.7}, Errors{-12, -90, 40.5},
                          Errors{1, 10, -230}, Errors{0, 0, 240.3}}) {
    const ChannelMatch m = match_channel(reference, hear(wide, e, -40 + e.gain_db, 2));
    EXPECT_NEAR(m.gain_db, e.gain_db, 0.01);
    EXPECT_NEAR(std::remainder(m.phase_deg - e.phase_deg, 360), 0, 0.1);
    ASSERT_TRUE(m.has_delay);
    EXPECT_NEAR(m.delay, e.delay, 0.002);
    EXPECT_GT(m.coherence, 0.99);
    EXPECT_LT(m.drift_deg, 1);
  }
}

/// The reported errors are correct: over many draws of noise, results scatter by as much.
TEST(ChannelMatch, SaysHowSureItIs) {
  const Signal wide = Signal::white();
  const Errors e{0, 20, 0.4};
  double gain = 0, phase = 0, delay = 0;  // mean squares, in units of the reported errors
  constexpr int kDraws = 12;
  for (unsigned i = 0; i < kDraws; ++i) {
    const ChannelMatch m = match_channel(hear(wide, {}, -10, 100 + i), hear(wide, e, -10, 200 + i));
    gain += std::pow((m.gain_db - e.gain_db) / m.gain_error_db, 2) / kDraws;
    phase += std::pow((m.phase_deg - e.phase_deg) / m.phase_error_deg, 2) / kDraws;
    delay += std::pow((m.delay - e.delay) / m.delay_error, 2) / kDraws;
  }
  for (const double ratio : {gain, phase, delay}) {
    EXPECT_LT(ratio, 4);
    EXPECT_GT(ratio, 0.1);
  }
}

TEST(ChannelMatch, AToneHasNoDelay) {
  const Signal tone = Signal::tone(0.1);
  const ChannelMatch m = match_channel(hear(tone, {}, -30, 1), hear(tone, {2, 45, 0}, -30, 2));
  EXPECT_FALSE(m.has_delay);
  EXPECT_EQ(m.delay, 0);
  EXPECT_NEAR(m.gain_db, 2, 0.01);
  EXPECT_NEAR(m.phase_deg, 45, 0.1);
}

TEST(ChannelMatch, WithoutACommonSignalThereIsNoCoherence) {
  const Signal silence = Signal::tone(0.1);
  const auto alone = [&](unsigned seed) { return hear(silence, {-200, 0, 0}, 0, seed); };
  EXPECT_LT(match_channel(alone(1), alone(2)).coherence, 0.5);
  const std::vector<cf32> nothing(kMatchLeast);
  EXPECT_EQ(match_channel(nothing, nothing).coherence, 0);
}

/// Leaking carriers, one per channel, are coherent but carry no information on the signal.
TEST(ChannelMatch, TheMiddleOfTheBandIsLeftOut) {
  const Signal wide = Signal::white();
  auto reference = hear(wide, {}, -40, 1), x = hear(wide, {0, 60, 0}, -40, 2);
  for (cf32& v : reference) v += cf32(3, 0);
  for (cf32& v : x) v += cf32(0, -3);
  EXPECT_NEAR(match_channel(reference, x).phase_deg, 60, 0.1);
}

TEST(ChannelMatch, OscillatorsOfTheirOwnDrift) {
  const Signal wide = Signal::white();
  auto x = hear(wide, {}, -40, 2);
  for (std::size_t n = 0; n < x.size(); ++n)
    x[n] *= cf32(std::polar(1.0, kTurn * 0.2 * static_cast<double>(n) / kMatchLeast));
  EXPECT_GT(match_channel(hear(wide, {}, -40, 1), x).drift_deg, 15);
}

}  // namespace
}  // namespace iqd
