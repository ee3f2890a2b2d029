// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
// The plug-in as a Soapy program sees it.
#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <SoapySDR/Device.hpp>
#include <SoapySDR/Modules.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/sim_radio.hpp"

namespace iqd::sim {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// The complex amplitude at one frequency.
std::complex<double> at_frequency(std::span<const cf32> x, double cycles_per_sample) {
  std::complex<double> sum = 0;
  for (std::size_t n = 0; n < x.size(); ++n)
    sum += std::complex<double>(x[n]) *
           std::polar(1.0, -2 * std::numbers::pi * cycles_per_sample * static_cast<double>(n));
  return sum / static_cast<double>(x.size());
}

TEST(Sim, ToneHasItsFrequencyLevelAndPhase) {
  Radio radio("pace=false,level=-6", 1e6, {0, 3});
  radio.start();
  std::vector<Samples> x(2);
  ASSERT_EQ(radio.read_once(x.data(), 8192), 8192);
  const double amplitude = std::pow(10, -6.0 / 20);
  for (const std::size_t c : {0u, 1u})
    for (const std::size_t n : {0u, 1u, 4095u, 4096u, 8191u}) {
      const double phase = 2 * std::numbers::pi * (static_cast<double>(n) / 8 + (c ? 3.0 / 8 : 0));
      EXPECT_LT(std::abs(std::complex<double>(x[c][n]) - std::polar(amplitude, phase)), 1e-5) << c << " " << n;
    }
}

TEST(Sim, ToneDoesNotDriftFarIntoTheStream) {
  // 0.3 cycles per sample is no binary fraction, and the loss moves the stream far ahead at once.
  Radio radio("pace=false,level=0,frequency=300000,lose_every=10,lose=1000000000000");
  radio.start();
  radio.read(10);
  const Samples x = radio.read(5);
  EXPECT_EQ(radio.time - kEpoch, 1'000'000'000'010'000);
  const long double turns = 0.3L * 1'000'000'000'010.0L;
  const auto phase = static_cast<double>((turns - std::floor(turns)) * 2 * std::numbers::pi_v<long double>);
  EXPECT_LT(std::abs(std::complex<double>(x[0]) - std::polar(1.0, phase)), 1e-3);
}

TEST(Sim, SignalDependsOnPositionsAlone) {
  const std::string args = "pace=false,snr=3,text=ab,symbol=10000,seed=7";
  Samples whole;
  {
    Radio radio(args);
    radio.start();
    whole = radio.read(50000, 16384);
  }
  for (const std::size_t piece : {1u, 777u, 4096u, 5000u}) {
    Radio radio(args);
    radio.start();
    const Samples cut = radio.read(piece == 1 ? 5000 : 50000, piece);
    EXPECT_TRUE(std::equal(cut.begin(), cut.end(), whole.begin())) << piece;
  }
  Radio other("pace=false,snr=3,text=ab,symbol=10000,seed=8");
  other.start();
  EXPECT_NE(other.read(100), Samples(whole.begin(), whole.begin() + 100));
}

TEST(Sim, NoiseIsAsStrongAsTheRatioSays) {
  Radio radio("pace=false,level=-30,snr=-10");
  radio.start();
  const Samples x = radio.read(1 << 19);
  EXPECT_NEAR(power_db(x), -30 + 10 * std::log10(1 + 10), 0.05);
  EXPECT_NEAR(20 * std::log10(std::abs(at_frequency(x, 0.125))), -30, 0.1);
}

TEST(Sim, NoiseIsWhiteGaussianAndDiffersByChannel) {
  Radio radio("pace=false,scenario=noise,level=-20", 1e6, {0, 1});
  radio.start();
  std::vector<Samples> x(2), all(2);
  while (all[0].size() < (1 << 19)) {
    const int got = radio.read_once(x.data(), 16384);
    ASSERT_GT(got, 0);
    for (const std::size_t c : {0u, 1u}) all[c].insert(all[c].end(), x[c].begin(), x[c].begin() + got);
  }
  EXPECT_NEAR(power_db(all[0]), -20, 0.05);
  const auto n = static_cast<double>(all[0].size());
  std::complex<double> across = 0, pseudo = 0, lag1 = 0, lag4096 = 0;
  double fourth = 0;
  for (std::size_t i = 4096; i < all[0].size(); ++i) {
    const std::complex<double> a(all[0][i]);
    across += a * std::conj(std::complex<double>(all[1][i]));
    lag1 += a * std::conj(std::complex<double>(all[0][i - 1]));
    lag4096 += a * std::conj(std::complex<double>(all[0][i - 4096]));
    pseudo += a * a;
    fourth += std::norm(a) * std::norm(a);
  }
  // Five standard deviations of a mean of n products of variance 1.
  const double bound = 5 / std::sqrt(n);
  for (const auto sum : {across, lag1, lag4096, pseudo}) EXPECT_LT(std::abs(sum) / n / 0.01, bound);
  EXPECT_NEAR(fourth / n / 1e-4, 2, 0.05);
}

TEST(Sim, TextIsSpeltInTones) {
  const std::string text = "Hi ~";
  Radio radio("pace=false,text=" + text + ",symbol=8192", 20e6);
  radio.start();
  const Samples x = radio.read(8192 * 6);
  for (std::size_t k = 0; k < 6; ++k) {
    const double expected = (text[k % text.size()] - 64) / 1024.0;
    const auto symbol = std::span<const cf32>(x).subspan(k * 8192, 8192);
    EXPECT_NEAR(std::abs(at_frequency(symbol, expected)), 0.1, 1e-4) << k;
    EXPECT_LT(std::abs(at_frequency(symbol, expected + 1 / 1024.0)), 1e-4) << k;
  }
}

TEST(Sim, IntegersAreTheRoundedFloats) {
  Samples floats;
  {
    Radio radio("pace=false,level=2,snr=20");
    radio.start();
    floats = radio.read(16000);
  }
  Radio radio("pace=false,level=2,snr=20", 1e6, {0}, "CS16");
  radio.start();
  std::vector<std::int16_t> x(2 * 16000);
  void* buffer = x.data();
  ASSERT_EQ(radio.device->readStream(radio.rx, &buffer, 16000, radio.flags, radio.time), 16000);
  int saturated = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float part = i % 2 ? floats[i / 2].imag() : floats[i / 2].real();
    const float wanted = std::clamp(part * 32768.0f, -32768.0f, 32767.0f);
    ASSERT_LE(std::abs(static_cast<float>(x[i]) - wanted), 0.5f) << i;
    saturated += x[i] == 32767 || x[i] == -32768;
  }
  EXPECT_GT(saturated, 100);
}

TEST(Sim, LoopbackReturnsWhatWasSentLaterAndScaled) {
  Radio radio("pace=false,scenario=loopback,delay=100,gain=-20");
  radio.start_transmitter();
  Samples sent(5000);
  for (std::size_t n = 0; n < sent.size(); ++n) sent[n] = {static_cast<float>(n), -1.0f};
  const void* buffer = sent.data();
  int flags = 0;
  ASSERT_EQ(radio.device->writeStream(radio.tx, &buffer, 3000, flags), 3000);
  buffer = sent.data() + 3000;
  // A burst that should begin 1000 samples later.
  flags = SOAPY_SDR_HAS_TIME | SOAPY_SDR_END_BURST;
  ASSERT_EQ(radio.device->writeStream(radio.tx, &buffer, 2000, flags, kEpoch + 4'000'000), 2000);
  radio.start();
  const Samples x = radio.read(7000, 999);
  for (std::size_t n = 0; n < x.size(); ++n) {
    const std::size_t p = n - 100;
    cf32 wanted = 0;
    if (n >= 100 && p < 3000) wanted = sent[p] * 0.1f;
    if (p >= 4000 && p < 6000) wanted = sent[p - 1000] * 0.1f;
    ASSERT_LT(std::abs(x[n] - wanted), 1e-3f) << n;
  }
  std::size_t mask = 0;
  ASSERT_EQ(radio.device->readStreamStatus(radio.tx, mask, flags, radio.time, 1000), 0);
  EXPECT_TRUE(flags & SOAPY_SDR_END_BURST);
  EXPECT_EQ(radio.position(), 6000);
}

TEST(Sim, WritingInThePastIsATimeError) {
  Radio radio("pace=false,scenario=loopback");
  radio.start_transmitter();
  radio.start();
  radio.read(1000);
  const Samples sent(100);
  const void* buffer = sent.data();
  int flags = SOAPY_SDR_HAS_TIME;
  EXPECT_EQ(radio.device->writeStream(radio.tx, &buffer, 100, flags, kEpoch + 500'000), SOAPY_SDR_TIME_ERROR);
  std::size_t mask = 0;
  EXPECT_EQ(radio.device->readStreamStatus(radio.tx, mask, flags, radio.time, 1000), SOAPY_SDR_TIME_ERROR);
  EXPECT_EQ(radio.device->readStreamStatus(radio.tx, mask, flags, radio.time, 1000), SOAPY_SDR_TIMEOUT);
}

TEST(Sim, TheTransmitterTakesNoMoreThanItsBufferHolds) {
  Radio radio("pace=false,scenario=loopback");
  radio.start_transmitter();
  radio.start();
  const Samples sent(16384);
  const void* buffer = sent.data();
  int flags = 0, writes = 0, got = 0;
  while ((got = radio.device->writeStream(radio.tx, &buffer, sent.size(), flags, 0, 1000)) > 0 && writes < 1000)
    ++writes;
  EXPECT_EQ(got, SOAPY_SDR_TIMEOUT);
  EXPECT_EQ(writes, (1 << 20) / 16384);
  radio.read(16384);
  EXPECT_EQ(radio.device->writeStream(radio.tx, &buffer, sent.size(), flags, 0, 1000), 16384);
}

TEST(Sim, PacedRunsWithTheHostsClock) {
  Radio radio("");
  radio.start();
  const auto start = Clock::now();
  radio.read(200'000);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  EXPECT_GT(seconds, 0.19);
  EXPECT_LT(seconds, 0.5);
  EXPECT_NEAR(static_cast<double>(radio.device->getHardwareTime("") - kEpoch) * 1e-9, seconds, 0.05);
}

TEST(Sim, AReaderThatIsTooLateGetsOneOverflowAndGoesOnInTime) {
  Radio radio("buffer=0.05");
  radio.start();
  radio.read(1000);
  std::this_thread::sleep_for(150ms);
  std::vector<Samples> x(1);
  EXPECT_EQ(radio.read_once(x.data(), 1000), SOAPY_SDR_OVERFLOW);
  EXPECT_GT(radio.read_once(x.data(), 1000), 0);
  EXPECT_GT(radio.position(), 150'000);
}

TEST(Sim, UnderflowIsReported) {
  Radio radio("");
  radio.start_transmitter();
  const Samples sent(1000);
  const void* buffer = sent.data();
  int flags = 0;
  ASSERT_EQ(radio.device->writeStream(radio.tx, &buffer, 1000, flags), 1000);
  std::this_thread::sleep_for(20ms);
  ASSERT_EQ(radio.device->writeStream(radio.tx, &buffer, 1000, flags), 1000);
  std::size_t mask = 0;
  EXPECT_EQ(radio.device->readStreamStatus(radio.tx, mask, flags, radio.time, 1000), SOAPY_SDR_UNDERFLOW);
}

TEST(Sim, RatesComeFromTheGrid) {
  Radio radio("rate_grid=250000", 1.1e6);
  EXPECT_EQ(radio.device->getSampleRate(SOAPY_SDR_RX, 0), 1e6);
  radio.start();
  EXPECT_THROW(radio.device->setSampleRate(SOAPY_SDR_TX, 0, 2e6), std::runtime_error);
  EXPECT_NO_THROW(radio.device->setSampleRate(SOAPY_SDR_TX, 0, 1e6));
}

TEST(SimFaults, OverflowIsToldAndItsSamplesAreMissing) {
  Radio radio("pace=false,overflow_every=10000,overflow_lost=500");
  radio.start();
  EXPECT_EQ(radio.read(10000).size(), 10000u);
  std::vector<Samples> x(1);
  EXPECT_EQ(radio.read_once(x.data(), 1000), SOAPY_SDR_OVERFLOW);
  EXPECT_EQ(radio.read_once(x.data(), 1000), 1000);
  EXPECT_EQ(radio.position(), 10500);
  radio.read(8500);
  EXPECT_EQ(radio.read_once(x.data(), 1000), SOAPY_SDR_OVERFLOW);
}

TEST(SimFaults, SilentLossShowsInTheTimeStampAlone) {
  Radio radio("pace=false,lose_every=10000,lose=7");
  radio.start();
  radio.read(10000);
  std::vector<Samples> x(1);
  EXPECT_EQ(radio.read_once(x.data(), 16000), 9993);
  EXPECT_EQ(radio.position(), 10007);
}

TEST(SimFaults, StallIsSilenceForAWhileAndOnce) {
  const std::string args = "pace=false,stall_at=0.01,stall_for=0.1";
  {
    Radio radio(args);
    radio.start();
    radio.read(10000);
    std::vector<Samples> x(1);
    const auto start = Clock::now();
    int timeouts = 0, got = 0;
    while ((got = radio.read_once(x.data(), 1000, 20000)) == SOAPY_SDR_TIMEOUT) ++timeouts;
    EXPECT_GE(Clock::now() - start, 95ms);
    EXPECT_GE(timeouts, 2);
    EXPECT_EQ(got, 1000);
    EXPECT_EQ(radio.position(), 10000);
  }
  Radio radio(args);
  radio.start();
  EXPECT_EQ(radio.read(20000).size(), 20000u);
}

TEST(SimFaults, TimeJumpsThoughNothingIsLost) {
  Radio radio("pace=false,level=0,jump_at=0.01,jump_by=-2.5");
  radio.start();
  radio.read(10000);
  const Samples x = radio.read(1000);
  EXPECT_EQ(radio.position(), 10000 - 2'500'000);
  EXPECT_LT(std::abs(x[0] - cf32(1, 0)), 1e-4f) << "position 10000 is a multiple of the tone's period";
}

TEST(SimFaults, DisconnectLastsUntilTheDeviceIsMadeAnew) {
  const std::string args = "pace=false,disconnect_at=0.01,disconnect_for=0.2";
  {
    Radio radio(args);
    radio.start();
    radio.read(10000);
    std::vector<Samples> x(1);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(radio.read_once(x.data(), 1000), SOAPY_SDR_STREAM_ERROR);
  }
  EXPECT_THROW(Radio{args}, std::runtime_error);
  std::this_thread::sleep_for(220ms);
  Radio radio(args);
  radio.start();
  EXPECT_EQ(radio.read(20000).size(), 20000u);
}

TEST(SimFaults, HangNeverReturns) {
  static std::atomic<bool> returned{false};
  std::thread([] {
    auto* radio = new Radio("pace=false,hang_at=0.001");
    radio->start();
    radio->read(2000);
    returned = true;
  }).detach();
  std::this_thread::sleep_for(300ms);
  EXPECT_FALSE(returned);
}

TEST(SimFaults, ShortReadsLoseNothing) {
  Samples whole, cut;
  {
    Radio radio("pace=false,snr=0");
    radio.start();
    whole = radio.read(20000);
  }
  Radio radio("pace=false,snr=0,short_reads=true");
  radio.start();
  std::vector<Samples> x(1);
  int shorter = 0;
  while (cut.size() < whole.size()) {
    const int got = radio.read_once(x.data(), 1000);
    ASSERT_GT(got, 0);
    EXPECT_EQ(radio.position(), static_cast<std::int64_t>(cut.size()));
    shorter += got < 1000;
    cut.insert(cut.end(), x[0].begin(), x[0].begin() + got);
  }
  EXPECT_GT(shorter, 10);
  EXPECT_TRUE(std::equal(whole.begin(), whole.end(), cut.begin()));
}

TEST(SimFaults, WithoutTimeNoStampIsGiven) {
  Radio radio("pace=false,time=false");
  EXPECT_FALSE(radio.device->hasHardwareTime());
  radio.start();
  radio.read(10);
  EXPECT_EQ(radio.flags, 0);
}

TEST(SimArguments, WhatIsWrongIsRefusedByName) {
  for (const std::string bad : {"scenario=nonsense", "snr=loud", "rx=0", "pace=maybe", "symbol=0.5", "text=\xc3\xa4",
                                "stall_at=-1", "rate_grid=0", "buffer=0"}) {
    try {
      Radio radio(bad);
      ADD_FAILURE() << bad << " was accepted";
    } catch (const std::exception& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr(bad.substr(0, bad.find('=')))) << bad;
    }
  }
}

}  // namespace
}  // namespace iqd::sim
