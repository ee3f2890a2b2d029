// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/transmit/uplink_waveform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "signal/channels/channel_power.hpp"
#include "signal/filters/fft_plan.hpp"

namespace iqd {
namespace {

using ::testing::HasSubstr;
using Samples = std::vector<cf32>;

constexpr double kPi = std::numbers::pi;

const UplinkWaveform kLte10{};
const UplinkWaveform kTwo{.subcarriers = 180, .bandwidth_hz = 3e6, .frequencies_hz = {-3e6, 7e6}, .rms = 0.24};

double mean_power(const Samples& x) {
  double power = 0;
  for (const cf32 v : x) power += static_cast<double>(std::norm(v));
  return power / static_cast<double>(x.size());
}

/// The spectrum of one period, bin 0 first; its bins add up to the mean power.
std::vector<double> lines_of(const Samples& x) {
  Samples bins(x.size());
  FftPlan(std::ssize(x)).run(x.data(), bins.data());
  std::vector<double> power;
  for (const cf32 b : bins)
    power.push_back(std::norm(b) / static_cast<double>(x.size()) / static_cast<double>(x.size()));
  return power;
}

TEST(UplinkWaveform, HasItsPowerItsPeriodAndItsPeaks) {
  const auto peak_db = [](const Samples& x, double rms) {
    double peak = 0;
    for (const cf32 v : x) peak = std::max<double>(peak, std::abs(v));
    return 20 * std::log10(peak / rms);
  };
  const Samples one = kLte10.make(), two = kTwo.make();
  EXPECT_EQ(one.size(), 245'760u);  // 4 ms
  EXPECT_EQ(two.size(), 245'760u);
  EXPECT_NEAR(std::sqrt(mean_power(one)), 0.27, 1e-6);
  EXPECT_NEAR(std::sqrt(mean_power(two)), 0.24, 1e-6);
  EXPECT_NEAR(peak_db(one, 0.27), 8.1, 0.3);
  EXPECT_NEAR(peak_db(two, 0.24), 9, 0.3);
}

TEST(UplinkWaveform, BesideItsCarriersThereIsNothing) {
  for (const double rate : {61.44e6, 40e6, 61'440'017.0})
    for (UplinkWaveform w : {kLte10, kTwo}) {
      w.rate_hz = rate;
      const auto lines = lines_of(w.make());
      const auto n = static_cast<double>(lines.size());
      double within = 0, beside = 0;
      for (std::size_t k = 0; k < lines.size(); ++k) {
        const double f = (static_cast<double>(k) < n / 2 ? 0 : -rate) + static_cast<double>(k) * rate / n;
        const bool in = std::any_of(w.frequencies_hz.begin(), w.frequencies_hz.end(),
                                    [&](double c) { return std::fabs(f - c) < w.bandwidth_hz / 2 + 100; });
        (in ? within : beside) += lines[k];
      }
      EXPECT_LT(10 * std::log10(beside / within), -110) << rate;
    }
}

TEST(UplinkWaveform, CarriersAreEquallyStrongAndTheirOwn) {
  UplinkWaveform w = kTwo;
  const auto lines = lines_of(w.make());
  const auto at = [&](double hz, std::int64_t k) {
    const auto n = std::ssize(lines);
    return lines[static_cast<std::size_t>((std::llround(hz / 250) + k + n) % n)];
  };
  double low = 0, high = 0, common = 0;
  for (std::int64_t k = -6000; k <= 6000; ++k) {
    low += at(-3e6, k);
    high += at(7e6, k);
    common += std::sqrt(at(-3e6, k) * at(7e6, k));
  }
  EXPECT_NEAR(10 * std::log10(high / low), 0, 0.2);
  EXPECT_LT(common / low, 0.9);
}

/// The points of one symbol, counted from 0, as a synchronised receiver finds them.
Samples points_of(const Samples& period, std::int64_t symbol) {
  std::int64_t at = 0;
  for (std::int64_t s = 0;; ++s) {
    at += s % 7 == 0 ? 80 : 72;
    if (s == symbol) break;
    at += 1024;
  }
  Samples samples(1024), bins(1024), values(600), points(600);
  for (std::int64_t n = 0; n < 1024; ++n)
    samples[static_cast<std::size_t>(n)] = period[static_cast<std::size_t>(at + n)] *
                                           std::polar(1.0f, static_cast<float>(-kPi * static_cast<double>(n) / 1024));
  FftPlan(1024).run(samples.data(), bins.data());
  for (std::size_t k = 0; k < 600; ++k) values[k] = bins[(k + 1024 - 300) % 1024];
  FftPlan(600, FftPlan::Direction::inverse).run(values.data(), points.data());
  const auto scale = static_cast<float>(1 / std::sqrt(mean_power(points)));
  for (cf32& p : points) p *= scale;
  return points;
}

TEST(UplinkWaveform, CarriesSixteenQam) {
  UplinkWaveform w;
  w.rate_hz = 15.36e6;
  const Samples period = w.make();
  for (const std::int64_t symbol : {0, 5, 55}) {
    double error = 0;
    for (const cf32 p : points_of(period, symbol)) {
      const auto off = [](float part) {
        const double level = part * std::sqrt(10.0);
        return level - std::clamp(2 * std::floor(level / 2) + 1, -3.0, 3.0);
      };
      error += (off(p.real()) * off(p.real()) + off(p.imag()) * off(p.imag())) / 10 / 600;
    }
    EXPECT_LT(std::sqrt(error), 0.05) << symbol;
  }
}

TEST(UplinkWaveform, OfAnotherSeedIsAnother) {
  UplinkWaveform w = kTwo;
  w.rate_hz = 20e6;
  const Samples first = w.make();
  EXPECT_LT(std::abs(w.make()[77] - first[77]), 1e-5f);
  w.seed = 5;
  EXPECT_GT(std::abs(w.make()[77] - first[77]), 1e-5f);
}

TEST(UplinkWaveform, SaysWhatIsWrong) {
  UplinkWaveform w;
  EXPECT_EQ(w.fault(), "");
  w.rate_hz = 10e6;
  EXPECT_EQ(w.fault(), "");
  w.frequencies_hz = {0, 1};
  EXPECT_THAT(w.fault(), HasSubstr("at 1 Hz does not fit into a rate of 10000000"));
  w = {.bandwidth_hz = 1e4, .rate_hz = 1e9};
  EXPECT_THAT(w.fault(), HasSubstr("the limit is 16777216"));
}

}  // namespace
}  // namespace iqd
