// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/device/pacing.hpp"

#include <SoapySDR/Errors.h>
#include <gtest/gtest.h>

namespace iqd::sim {
namespace {

constexpr double kRate = 1e6;

/// Waits without a time-out for the samples from position `first` on, on a clock that has just started at 0.
int wait(const Pacing& pacing, std::int64_t first, std::int64_t& samples, Stream& rx) {
  SampleClock clock;
  clock.start(kRate, 0);
  rx.next = first;
  return pacing.wait_for_samples(rx, clock, kRate, 0, samples);
}

TEST(SimPacing, WithoutPaceAllSamplesAreAvailable) {
  const Pacing pacing(false, 0.25);
  Stream rx;
  std::int64_t samples = 100;
  EXPECT_EQ(wait(pacing, 1'000'000'000, samples, rx), 0);
  EXPECT_EQ(samples, 100);
  EXPECT_EQ(pacing.transmit_buffer(kRate), 1 << 20);
}

TEST(SimPacing, PacedSamplesOfTheFutureAreATimeOut) {
  Stream rx;
  std::int64_t samples = 100;
  EXPECT_EQ(wait(Pacing(true, 0.25), 1'000'000'000, samples, rx), SOAPY_SDR_TIMEOUT);
  EXPECT_EQ(rx.next, 1'000'000'000);
}

TEST(SimPacing, PacedOnlyPastSamplesAreAvailable) {
  Stream rx;
  std::int64_t few = 100, many = 1'000'000'000;
  EXPECT_EQ(wait(Pacing(true, 100), -5000, few, rx), 0);
  EXPECT_EQ(few, 100);
  EXPECT_EQ(wait(Pacing(true, 100), -5000, many, rx), 0);
  EXPECT_GE(many, 5000);
  EXPECT_LT(many, 1'000'000'000);
}

TEST(SimPacing, AFullBufferIsAnOverflowAndItsSamplesAreLost) {
  Stream rx;
  std::int64_t samples = 100;
  EXPECT_EQ(wait(Pacing(true, 0.25), -300'000, samples, rx), SOAPY_SDR_OVERFLOW);
  EXPECT_GE(rx.next, 0);
}

TEST(SimPacing, PacedAProgramWritesATenthOfASecondAhead) {
  EXPECT_EQ(Pacing(true, 0.25).transmit_buffer(kRate), 100'001);
}

}  // namespace
}  // namespace iqd::sim
