// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The scenarios for simple receivers: ook, fsk, fm, qpsk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "tests/support/sim_radio.hpp"

namespace iqd::sim {
namespace {

constexpr double kPi = std::numbers::pi;

/// Turns between samples, in radians.
std::vector<double> steps(const Samples& x) {
  std::vector<double> s;
  for (std::size_t n = 1; n < x.size(); ++n)
    s.push_back(std::arg(std::complex<double>(x[n]) * std::conj(std::complex<double>(x[n - 1]))));
  return s;
}
double at_frequency(const std::vector<double>& x, double cycles_per_sample) {
  std::complex<double> sum = 0;
  for (std::size_t n = 0; n < x.size(); ++n)
    sum += x[n] * std::polar(1.0, -2 * kPi * cycles_per_sample * static_cast<double>(n));
  return 2 * std::abs(sum) / static_cast<double>(x.size());
}

TEST(SimOok, PulsesAreThoseOfTheFrame) {
  // 25 samples a chip, a frame every 0.1 s.
  const Samples x = hear("scenario=ook,level=-6,start=500", 100e3, 10'500 + 32 * 25);
  const double full = std::pow(10, -6.0 / 20);
  EXPECT_EQ(x[499], cf32(0));
  std::string chips;
  for (std::size_t k = 0; k < 32; ++k) {
    const double level = std::abs(x[500 + 25 * k + 12]) / full;
    EXPECT_NEAR(level, level > 0.5 ? 1 : 0, 1e-5) << k;
    chips += level > 0.5 ? '1' : '0';
    EXPECT_EQ(std::abs(x[10'500 + 25 * k + 12]) > full / 2, level > 0.5) << "the next frame begins in the same way";
  }
  EXPECT_EQ(chips, "10101010101010101111000011001100");
  // 90 = 01011010: pulses of one and two chips.
  std::string id;
  for (std::size_t k = 0; k < 24; ++k) id += std::abs(x[500 + 25 * (32 + k) + 12]) > full / 2 ? '1' : '0';
  EXPECT_EQ(id, "100110100110110100110100");
  for (std::size_t n = 500 + 176 * 25; n < 10'500; ++n) ASSERT_EQ(x[n], cf32(0)) << n;
}

TEST(SimOok, ASampleHasTheMeanOfItsTime) {
  const Samples x = hear("scenario=ook,level=0,chip_rate=4096", 100e3, 100);
  EXPECT_NEAR(std::abs(x[24]), 100e3 / 4096 - 24, 1e-4);  // the first chip ends in it
}

TEST(SimFsk, FrequenciesAreTheDeviation) {
  const Samples x = hear("scenario=fsk,level=0,deviation=6000,chip_rate=10000", 200e3, 6000);
  const auto s = steps(x);
  const double turn = 2 * kPi * 6000 / 200e3;
  for (std::size_t k = 0; k < 32; ++k) EXPECT_NEAR(s[20 * k + 9], k % 2 == 0 ? turn : -turn, 1e-4) << k;
  for (std::size_t n = 0; n < 20 * 48; ++n) EXPECT_NEAR(std::abs(x[n]), 1, 1e-5);
  // The text starts with the frame's number, 00000, after preamble, sync word and length.
  std::string character;
  for (std::size_t k = 0; k < 8; ++k) character += s[20 * (48 + 8 + k) + 9] > 0 ? '1' : '0';
  EXPECT_EQ(character, "00110000");
}

TEST(SimFm, PartsOfTheMultiplexAreWhereTheyBelong) {
  constexpr double kRateReceivers = 500e3;
  const auto s = steps(hear("scenario=fm,level=0,left=1000,right=5000,amplitude=0.3", kRateReceivers, 100'001));
  const auto part = [&](double hz) {
    // A step is the mean of the rotation over a sample.
    const double mean = std::sin(kPi * hz / kRateReceivers) / (kPi * hz / kRateReceivers);
    return at_frequency(s, hz / kRateReceivers) / (2 * kPi * 75e3 / kRateReceivers) / mean;
  };
  const auto raised = [](double hz) { return std::hypot(1, 2 * kPi * hz * 50e-6); };
  EXPECT_NEAR(part(19e3), 0.1, 1e-4);
  EXPECT_NEAR(part(1000), 0.9 * 0.3 * raised(1000) / 2, 1e-4);
  EXPECT_NEAR(part(5000), 0.9 * 0.3 * raised(5000) / 2, 1e-4);
  for (const double hz : {1000.0, 5000.0})
    for (const double side : {38e3 - hz, 38e3 + hz}) EXPECT_NEAR(part(side), 0.9 * 0.3 * raised(hz) / 4, 1e-4) << side;
  EXPECT_LT(part(38e3), 1e-4);
  const auto mono = steps(hear("scenario=fm,level=0,stereo=false,emphasis=0", kRateReceivers, 100'001));
  EXPECT_LT(at_frequency(mono, 19e3 / kRateReceivers), 1e-4);
}

/// PN15 by its definition, and its symbols.
std::vector<int> quarters(std::size_t count, bool differential) {
  std::vector<int> b(2 * count, 1), q;
  for (std::size_t n = 15; n < b.size(); ++n) b[n] = b[n - 14] ^ b[n - 15];
  int turned = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const int dibit = 2 * b[2 * k] + b[2 * k + 1];
    const int step[] = {0, 1, 3, 2}, place[] = {0, 3, 1, 2};
    turned = (turned + step[dibit]) % 4;
    q.push_back(differential ? turned : place[dibit]);
  }
  return q;
}

TEST(SimQpsk, SymbolsComeOutOfTheMatchedFilter) {
  constexpr int kA = 8;  // samples per symbol
  for (const bool differential : {true, false}) {
    const std::string args = "scenario=qpsk,level=0,timing=0.25,phase=30,symbol_rate=125000,differential=";
    const Samples x = hear(args + (differential ? "true" : "false"), 1e6, 8 * 700);
    EXPECT_NEAR(power_db(std::span(x).subspan(400)), 0, 0.3);
    const auto expected = quarters(600, differential);
    for (int k = 40; k < 600; ++k) {
      std::complex<double> sum = 0;
      for (int i = -16 * kA; i <= 16 * kA; ++i) {
        const double t = static_cast<double>(i) / kA, a = 0.35;
        double h = 1 - a + 4 * a / kPi;
        if (i != 0) {
          const double below = kPi * t * (1 - 16 * a * a * t * t);
          h = (std::sin(kPi * t * (1 - a)) + 4 * a * t * std::cos(kPi * t * (1 + a))) / below;
        }
        // Symbol k is in the middle of its pulse at (k + timing) symbols.
        sum += h * std::complex<double>(x[static_cast<std::size_t>(k * kA + 2 + i)]) / static_cast<double>(kA);
      }
      const double turn = kPi / 4 + expected[static_cast<std::size_t>(k)] * kPi / 2 + kPi / 6;
      ASSERT_LT(std::abs(sum - std::polar(1.0, turn)), 0.02) << k;
    }
  }
}

TEST(SimQpsk, NoiseIsAsStrongAsEbN0Says) {
  const std::string args = "scenario=qpsk,level=-10,symbol_rate=200000";
  const Samples clean = hear(args, 1e6, 200'000);
  Samples noise = hear(args + ",ebn0=7", 1e6, 200'000);
  for (std::size_t n = 0; n < noise.size(); ++n) noise[n] -= clean[n];
  // Five samples per two bits.
  EXPECT_NEAR(power_db(noise), -10 - 7 + 10 * std::log10(2.5), 0.05);
}

TEST(SimReceivers, AClockThatIsOffIsAheadMoreAndMore) {
  const Samples right = hear("scenario=fm,level=0", 250e3, 100'001);
  const Samples fast = hear("scenario=fm,level=0,ppm=1000", 250e3, 100'000);
  for (std::size_t k = 1; k < 99; ++k) EXPECT_LT(std::abs(fast[1000 * k] - right[1001 * k]), 2e-3) << k;
}

TEST(SimReceivers, SignalDependsOnPositionsAlone) {
  for (const std::string scenario : {"ook", "fsk,snr=10", "fm,offset=1000", "qpsk,ebn0=8"}) {
    const std::string args = "scenario=" + scenario + ",ppm=-31";
    const Samples whole = hear(args, 250e3, 40'000);
    for (const std::size_t piece : {1u, 777u}) {
      const Samples cut = hear(args, 250e3, piece == 1 ? 3000 : 40'000, piece);
      EXPECT_TRUE(std::equal(cut.begin(), cut.end(), whole.begin())) << scenario << " " << piece;
    }
  }
}

TEST(SimReceivers, WhatIsWrongIsRefusedByName) {
  for (const std::string bad : {"ook,coding=morse", "ook,id=256", "ook,interval=0.01", "ook,chip_rate=0",
                                "fsk,interval=-1", "fsk,ppm=1e6", "fm,left=20000", "fm,left=1000/x", "fm,amplitude=2",
                                "qpsk,payload=prbs", "qpsk,symbol_rate=1e6", "qpsk,alpha=2", "qpsk,timing=-1"}) {
    try {
      Radio radio("scenario=" + bad);
      ADD_FAILURE() << bad << " was accepted";
    } catch (const std::exception& e) {
      const std::string key = bad.substr(bad.find(',') + 1);
      EXPECT_THAT(e.what(), ::testing::HasSubstr(key.substr(0, key.find('=')))) << bad;
    }
  }
}

}  // namespace
}  // namespace iqd::sim
