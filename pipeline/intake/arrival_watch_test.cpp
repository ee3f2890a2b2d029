// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/arrival_watch.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace iqd {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(ArrivalWatch, KnowsNothingBeforeTheFirst) {
  ArrivalWatch watch;
  EXPECT_FALSE(watch.knows());
  EXPECT_EQ(watch.early_ns(5, 7), 0);
  watch.saw(100 * kMs, 20 * kMs);
  EXPECT_TRUE(watch.knows());
  watch.forget();
  EXPECT_FALSE(watch.knows());
}

/// Pieces of a millisecond, every tenth of them delayed by up to 90 ms.
TEST(ArrivalWatch, TheQuickestCount) {
  ArrivalWatch watch;
  std::int64_t radio = 0, host = 1000 * kMs;
  for (int i = 0; i < 100; ++i) {
    radio += kMs;
    host += kMs;
    watch.saw(radio, host + i % 10 * 10 * kMs);
  }
  EXPECT_NEAR(static_cast<double>(watch.early_ns(radio, host)), 0, 0.1e6);
  EXPECT_NEAR(static_cast<double>(watch.early_ns(radio, host + 70 * kMs)), -70e6, 0.1e6) << "delayed";
  EXPECT_NEAR(static_cast<double>(watch.early_ns(radio + 300 * kMs, host + 250 * kMs)), 50e6, 0.1e6)
      << "a loss of 300 ms in 250";
}

TEST(ArrivalWatch, FollowsAClockThatWasSet) {
  for (const std::int64_t by : {300 * kMs, -3'600'000 * kMs}) {
    ArrivalWatch watch;
    watch.saw(0, 10 * kMs);
    EXPECT_EQ(watch.early_ns(by, 10 * kMs), by);
    watch.clock_was_set(by);
    EXPECT_EQ(watch.early_ns(by, 10 * kMs), 0);
  }
}

/// An hour of a clock that is slower than the host's, and of one that is faster.
TEST(ArrivalWatch, FollowsClocksThatGoOtherwise) {
  for (const double ppm : {-150.0, -20.0, 20.0, 150.0}) {
    ArrivalWatch watch;
    std::int64_t radio = 0, host = 0;
    for (int s = 0; s < 3600; ++s) {
      host += 1000 * kMs;
      radio += static_cast<std::int64_t>(1e9 * (1 + ppm * 1e-6));
      watch.saw(radio, host);
    }
    EXPECT_NEAR(static_cast<double>(watch.early_ns(radio, host)), 0, 1e6) << ppm;
  }
}

/// If all samples are late for a while, the earlier quickest ones still count.
TEST(ArrivalWatch, RemembersTheQuickestForAWhile) {
  ArrivalWatch watch;
  watch.saw(0, 0);
  for (std::int64_t s = 1; s <= 20; ++s) watch.saw(s * 1000 * kMs, s * 1000 * kMs + 200 * kMs);
  EXPECT_LT(watch.early_ns(21'000 * kMs, 21'000 * kMs), 5 * kMs);
}

TEST(ArrivalWatch, TimesThatCannotBe) {
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t a : {Limits::min(), Limits::max(), std::int64_t{0}})
    for (const std::int64_t b : {Limits::min(), Limits::max(), std::int64_t{0}}) {
      ArrivalWatch watch;
      watch.saw(a, 1000);
      watch.clock_was_set(b);
      EXPECT_EQ(watch.early_ns(b, 1000) > 0, watch.early_ns(b, 2000) > 0);
    }
}

}  // namespace
}  // namespace iqd
