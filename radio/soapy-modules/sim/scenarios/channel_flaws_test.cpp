// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Channels that differ: the output of each against a computed tone.
#include <gtest/gtest.h>

#include <numbers>
#include <stdexcept>

#include "tests/support/sim_radio.hpp"

namespace iqd::sim {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

/// Four channels, read in pieces.
std::vector<Samples> hear(const std::string& args, std::size_t samples, std::size_t piece = 1000) {
  Radio radio("pace=false,rx=4," + args, 1e6, {0, 1, 2, 3});
  radio.start();
  std::vector<Samples> all(4), part(4);
  while (all[0].size() < samples) {
    const int got = radio.read_once(part.data(), std::min(piece, samples - all[0].size()));
    if (got <= 0) break;
    for (std::size_t c = 0; c < 4; ++c) all[c].insert(all[c].end(), part[c].begin(), part[c].begin() + got);
  }
  EXPECT_EQ(all[0].size(), samples);
  return all;
}

TEST(ChannelFlaws, AreThoseThatWereAskedFor) {
  const double frequency = 0.23, gains[] = {0, -6, 2, 0}, phases[] = {0, 45, -170, 0}, delays[] = {0, 0.25, -3.5, 7};
  const auto x = hear(
      "scenario=tone,level=-20,frequency=230000,common=true,channel_gains=0/-6/2/0,channel_phases=0/45/-170/0,"
      "channel_delays=0/0.25/-3.5/7",
      3000);
  for (std::size_t c = 0; c < 4; ++c)
    for (std::size_t n = 0; n < x[c].size(); ++n) {
      const double at = 16384 + static_cast<double>(n) - delays[c];
      const auto due = std::polar(0.1 * std::pow(10, gains[c] / 20), kTurn * (frequency * at + phases[c] / 360));
      ASSERT_LT(std::abs(std::complex<double>(x[c][n]) - due), 5e-5) << c << " " << n;
    }
}

TEST(ChannelFlaws, AllChannelsHearTheSameAndHaveNoiseOfTheirOwn) {
  const auto x = hear("scenario=noise,level=-10,common=true,channel_noise=-30", 100'000);
  EXPECT_NEAR(power_db(x[0]), 10 * std::log10(0.1 + 0.001), 0.1);
  for (std::size_t c = 1; c < 4; ++c) {
    Samples difference;
    for (std::size_t n = 0; n < x[c].size(); ++n) difference.push_back(x[c][n] - x[0][n]);
    EXPECT_NEAR(power_db(difference), -27, 0.1) << "twice the noise of one";
  }
}

TEST(ChannelFlaws, DoNotDependOnHowTheStreamIsRead) {
  const std::string args = "scenario=noise,channel_delays=0/0.3/12.7/-1";
  EXPECT_EQ(hear(args, 5000, 5000), hear(args, 5000, 17));
}

TEST(ChannelFlaws, WhatIsWrongIsRefused) {
  for (const char* args :
       {"channel_gains=1/2", "channel_delays=0/0/0/20000", "scenario=loopback,channel_delays=0/1/0/0"})
    EXPECT_THROW(SoapySDR::Device::make(std::string("driver=iqdsim,rx=4,serial=flaws,") + args), std::exception)
        << args;
}

}  // namespace
}  // namespace iqd::sim
