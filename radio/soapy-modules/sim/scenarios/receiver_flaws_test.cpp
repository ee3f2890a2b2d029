// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Receivers with faults, and transmitters with another clock.
#include <gtest/gtest.h>

#include <complex>
#include <numbers>
#include <string>

#include "tests/support/sim_radio.hpp"

namespace iqd::sim {
namespace {

using complex = std::complex<double>;

Samples hear_one(const std::string& args, std::size_t samples, double rate_hz = 1e6) {
  Radio radio("pace=false,rx=1," + args, rate_hz, {0});
  radio.start();
  return radio.read(samples, 1000);
}

/// Amplitude of a frequency in cycles a sample.
complex at(const Samples& x, double frequency) {
  complex sum = 0;
  for (std::size_t n = 0; n < x.size(); ++n)
    sum += complex(x[n]) * std::polar(1.0, -2 * std::numbers::pi * frequency * static_cast<double>(n));
  return sum / static_cast<double>(x.size());
}
double db(complex ratio) {
  return 20 * std::log10(std::abs(ratio));
}

TEST(ReceiverFlaws, IAndQDifferAndThereIsDc) {
  const Samples x = hear_one("scenario=tone,level=-20,frequency=125000,iq_gain_db=1,iq_phase=5,dc=-35", 80'000);
  EXPECT_NEAR(db(at(x, -0.125) / at(x, 0.125)), -22.8, 0.1);
  EXPECT_NEAR(db(at(x, 0)), -35, 0.01);
}

TEST(ReceiverFlaws, AnOscillatorHasALineWidth) {
  const Samples x = hear_one("scenario=tone,level=0,frequency=0,phase_noise=100", 1 << 20);
  // The phase's difference over a time t has the variance 2 pi width t.
  double sum = 0;
  constexpr std::size_t kApart = 500;
  for (std::size_t n = 0; n + kApart < x.size(); ++n)
    sum += std::pow(std::arg(complex(x[n + kApart]) * std::conj(complex(x[n]))), 2);
  EXPECT_NEAR(sum / static_cast<double>(x.size() - kApart), 2 * std::numbers::pi * 100 * kApart / 1e6, 0.05);
  EXPECT_NEAR(std::abs(x[12345]), 1, 1e-5);
}

TEST(OtherClock, ShowsLaterSamplesEarlier) {
  const std::string mimo = "scenario=mimo,tx=1,fading=none,level=0";
  const Samples sent = hear_one(mimo, 60'000, 7.68e6), heard = hear_one(mimo + ",ppm=100", 50'000, 7.68e6);
  // Sample 40,000 shows what was sent at 40,004; between samples the difference is that of a shift.
  double far = 0, near = 0, power = 0;
  for (std::size_t n = 39'990; n < 40'010; ++n) {
    near += std::norm(complex(heard[n]) - complex(sent[n + 4]));
    far += std::norm(complex(heard[n]) - complex(sent[n]));
    power += std::norm(complex(sent[n]));
  }
  EXPECT_LT(near / power, 1e-4);
  EXPECT_GT(far / power, 0.1);
}

TEST(OtherClock, DoesNotDependOnHowTheStreamIsRead) {
  const std::string args = "scenario=mimo,tx=1,ppm=-37,phase_noise=10,iq_gain_db=1";
  Samples pieces;
  {
    Radio radio("pace=false,rx=1," + args, 7.68e6, {0});
    radio.start();
    Samples part;
    for (std::size_t length = 1; pieces.size() < 20'000; length = length % 997 + 13) {
      const int got = radio.read_once(&part, length);
      ASSERT_GT(got, 0);
      pieces.insert(pieces.end(), part.begin(), part.begin() + got);
    }
  }
  const Samples whole = hear_one(args, pieces.size(), 7.68e6);
  double worst = 0;
  for (std::size_t n = 0; n < whole.size(); ++n) worst = std::max<double>(worst, std::abs(whole[n] - pieces[n]));
  EXPECT_LT(worst, 1e-5) << "transforms are chosen by trial, so the frames may differ by rounding";
}

TEST(OtherClock, AClockBeyondAllReasonIsRefused) {
  EXPECT_THROW(hear_one("scenario=mimo,ppm=2000,serial=clock", 10, 7.68e6), std::exception);
}

}  // namespace
}  // namespace iqd::sim
