// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/sync/squelch/squelch.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "tests/support/psk_signal.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::squelch {
namespace {

using testing::complex_noise;
using testing::run_stage;
using testing::same_bits;
using testing::StageOutputs;

/// The definition, in double precision: the gate at each sample, and how often it opened.
struct Reference {
  std::vector<double> gate;
  std::int64_t openings = 0;
};
Reference reference(const std::vector<cf32>& x, double threshold_db, std::int64_t window, std::int64_t hold,
                    std::int64_t ramp) {
  const std::int64_t length = std::ssize(x);
  std::vector<bool> loud, open;
  for (std::int64_t n = 0; n < length; ++n) {
    double power = 0, samples = 0;
    for (std::int64_t k = std::max<std::int64_t>(0, n - window + 1); k <= n; ++k, samples += 1)
      power += std::norm(std::complex<double>(x[static_cast<std::size_t>(k)]));
    loud.push_back(power / samples >= std::pow(10, threshold_db / 10));
    bool any = false;
    for (std::int64_t k = std::max<std::int64_t>(0, n - hold); k <= n; ++k)
      any = any || loud[static_cast<std::size_t>(k)];
    open.push_back(any);
  }
  Reference r;
  for (std::int64_t n = 0; n < length; ++n) {
    double count = 0;
    for (std::int64_t k = std::max<std::int64_t>(0, n - ramp + 1); k <= n; ++k)
      count += open[static_cast<std::size_t>(k)] ? 1 : 0;
    r.gate.push_back(count / static_cast<double>(ramp));
    r.openings += open[static_cast<std::size_t>(n)] && (n == 0 || !open[static_cast<std::size_t>(n - 1)]) ? 1 : 0;
  }
  return r;
}

/// Bursts of noise at -4.8 dB, with noise 40 dB lower between them.
std::vector<cf32> bursts() {
  auto x = complex_noise(4000);
  for (std::size_t n = 0; n < x.size(); ++n)
    if (n % 900 >= 400) x[n] *= 0.01f;
  return x;
}

std::int64_t openings(const StageOutputs& out) {
  const auto events = out.of<std::int64_t>("events");
  return std::accumulate(events.begin(), events.end(), std::int64_t{0});
}

TEST(Squelch, IsTheDefinition) {
  const auto x = bursts();
  for (const auto& [window, hold, ramp] : {std::tuple<std::int64_t, std::int64_t, std::int64_t>{1, 0, 1},
                                           {64, 0, 1},
                                           {64, 100, 1},
                                           {32, 50, 40},
                                           {100, 3, 200},
                                           {1, 7, 3}}) {
    const Reference expected = reference(x, -20, window, hold, ramp);
    const StageOutputs out = run_stage(
        entry(), fmt::format("{{threshold: -20, window: {}, hold: {}, ramp: {}}}", window, hold, ramp), x, 333);
    const auto y = out.of<cf32>("out");
    const auto gate = out.of<float>("gate");
    for (std::size_t n = 0; n < x.size(); ++n) {
      ASSERT_NEAR(static_cast<double>(gate[n]), expected.gate[n], 1e-6)
          << window << " " << hold << " " << ramp << " " << n;
      ASSERT_EQ(y[n], x[n] * gate[n]) << n;
    }
    EXPECT_EQ(openings(out), expected.openings) << window << " " << hold << " " << ramp;
  }
}

TEST(Squelch, OpensForEachBurstAndIsShutBetween) {
  const auto x = bursts();
  const StageOutputs out = run_stage(entry(), "{threshold: -20 dB, window: 32, hold: 64, ramp: 16}", x, 1000);
  EXPECT_EQ(openings(out), 5);
  const auto y = out.of<cf32>("out");
  for (std::size_t n = 0; n < x.size(); ++n) {
    if (n % 900 >= 550) {
      EXPECT_EQ(y[n], cf32(0)) << n;
    }
    if (n % 900 >= 60 && n % 900 < 400) {
      EXPECT_EQ(y[n], x[n]) << n;
    }
  }
}

TEST(Squelch, HowTheStreamIsCutDoesNotMatter) {
  const auto x = bursts();
  const char* keys = "{threshold: -5, window: 33, hold: 21, ramp: 17}";
  const StageOutputs whole = run_stage(entry(), keys, x, 0, 2);
  for (const std::int64_t block : {1, 7, 33, 256, 1999}) {
    const StageOutputs cut = run_stage(entry(), keys, x, block, 2);
    EXPECT_TRUE(same_bits(cut.of<cf32>("out"), whole.of<cf32>("out"))) << block;
    EXPECT_TRUE(same_bits(cut.of<float>("gate"), whole.of<float>("gate"))) << block;
    EXPECT_EQ(openings(cut), openings(whole)) << block;
  }
}

TEST(Squelch, WhatIsNotFiniteOpensNothing) {
  std::vector<cf32> x(500, cf32(1e-5f, 0));
  x[100] = {std::numeric_limits<float>::quiet_NaN(), 1};
  x[200] = {std::numeric_limits<float>::infinity(), 0};
  EXPECT_THAT(run_stage(entry(), "{threshold: -40, window: 8}", x).of<cf32>("out"), ::testing::Each(cf32(0)));
}

TEST(Squelch, FullScaleIsZeroDecibels) {
  const std::vector<cf32> x(100, cf32(0.6f, 0.8f));
  EXPECT_EQ(openings(run_stage(entry(), "{threshold: -0.01}", x)), 1);
  EXPECT_EQ(openings(run_stage(entry(), "{threshold: 0.01}", x)), 0);
}

TEST(Squelch, SilenceIsShut) {
  const StageOutputs out = run_stage(entry(), "{threshold: -300}", std::vector<cf32>(100));
  EXPECT_THAT(out.of<float>("gate"), ::testing::Each(0.0f));
}

}  // namespace
}  // namespace iqd::squelch
