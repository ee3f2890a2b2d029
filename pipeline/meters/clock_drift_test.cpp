// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/meters/clock_drift.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace iqd {
namespace {

/// A radio whose samples arrive every 10 ms, each some time after it was taken.
class Arrivals {
 public:
  Arrivals(ClockDrift& drift, double ppm, std::int64_t radio_ns = 1'700'000'000'000'000'000)
      : drift_(drift), pace_(1 + ppm * 1e-6), radio_ns_(radio_ns) {}

  /// Runs for so long; `held_up`: the share of seconds in which all samples are late.
  void go_on(double seconds, double held_up = 0) {
    std::exponential_distribution<double> late(1 / 2e-3);
    std::uniform_real_distribution<double> chance;
    const double until = true_s_ + seconds;
    double extra = 0;
    for (int n = 0; true_s_ < until; ++n) {
      if (n % 100 == 0) extra = chance(random_) < held_up ? 0.02 + 0.2 * chance(random_) : 0;
      true_s_ += 0.01;
      const double arrives = true_s_ + 0.3e-3 + late(random_) + extra;
      points_ += drift_.saw(radio_ns_ + std::llround(true_s_ * pace_ * 1e9), std::llround(arrives * 1e9));
    }
  }
  void set_clock(std::int64_t by_ns) { radio_ns_ += by_ns; }
  int points() const { return points_; }

 private:
  ClockDrift& drift_;
  double pace_;
  std::int64_t radio_ns_;
  double true_s_ = 1000;
  int points_ = 0;
  std::mt19937 random_{7};
};

TEST(ClockDrift, TellsNothingBeforeItHasSeenEnough) {
  ClockDrift drift;
  Arrivals radio(drift, 10);
  radio.go_on(14);
  EXPECT_FALSE(drift.estimate());
  radio.go_on(6);
  EXPECT_TRUE(drift.estimate());
}

class ClockDriftOf : public ::testing::TestWithParam<double> {};

TEST_P(ClockDriftOf, IsFoundThroughWhatDelaysSamples) {
  ClockDrift drift;
  Arrivals radio(drift, GetParam());
  radio.go_on(120, 0.2);
  const auto found = drift.estimate();
  ASSERT_TRUE(found);
  // The more the clocks drift apart in two seconds, the less exactly the fastest arrival is known.
  EXPECT_NEAR(found->ppm, GetParam(), 0.5 + 5e-4 * std::fabs(GetParam()));
  EXPECT_NEAR(found->over_s, 118, 5);
  EXPECT_LT(found->error_ppm, 1);
  EXPECT_GT(found->error_ppm, 0);
}

INSTANTIATE_TEST_SUITE_P(Ppm, ClockDriftOf, ::testing::Values(-100.0, -2.5, 0.0, 0.1, 20.0, 1000.0));

TEST(ClockDrift, ErrorIsOfTheSizeThatItSays) {
  int within = 0;
  for (int n = 0; n < 40; ++n) {
    ClockDrift drift;
    Arrivals radio(drift, n);
    radio.go_on(40 + n);
    const auto found = drift.estimate();
    ASSERT_TRUE(found);
    within += std::fabs(found->ppm - n) <= found->error_ppm;
  }
  EXPECT_GE(within, 30) << "of 40, at two standard deviations";
}

TEST(ClockDrift, ClockThatWasSetBeginsAnew) {
  ClockDrift drift;
  Arrivals radio(drift, 50);
  radio.go_on(60);
  ASSERT_TRUE(drift.estimate());
  radio.set_clock(3'000'000'000);
  drift.begin_anew();
  EXPECT_FALSE(drift.estimate());
  radio.go_on(30);
  ASSERT_TRUE(drift.estimate());
  EXPECT_NEAR(drift.estimate()->ppm, 50, 5);
}

TEST(ClockDrift, LooksBackFiveMinutes) {
  ClockDrift drift;
  Arrivals(drift, 500).go_on(600);
  Arrivals later(drift, 5, 1'800'000'000'000'000'000);
  drift.begin_anew();
  later.go_on(900);
  ASSERT_TRUE(drift.estimate());
  EXPECT_NEAR(drift.estimate()->ppm, 5, 0.5);
  EXPECT_NEAR(drift.estimate()->over_s, 298, 8);
  EXPECT_NEAR(later.points(), 450, 5);
}

}  // namespace
}  // namespace iqd
