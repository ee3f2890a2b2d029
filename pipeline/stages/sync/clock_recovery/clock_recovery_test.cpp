// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/sync/clock_recovery/clock_recovery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/psk_signal.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::clock_recovery {
namespace {

using testing::align;
using testing::Alignment;
using ::testing::HasSubstr;
using testing::PskSignal;
using testing::run_stage;
using testing::same_bits;
using testing::StageOutputs;

constexpr const char* kMethods[] = {"{method: gardner}", "{method: mueller_muller}"};

PskSignal coherent(double timing = 0.3, double clock = 100e-6) {
  PskSignal s;
  s.offset = 0;
  s.phase = 0;
  s.timing = timing;
  s.clock = clock;
  s.count = 8000;
  s.snr_db = 20;
  return s;
}

TEST(ClockRecovery, LocksToAnyTimingAndClock) {
  for (const char* keys : kMethods)
    for (const double timing : {-0.4, -0.1, 0.0, 0.2, 0.45})
      for (const double clock : {-1e-3, 0.0, 100e-6}) {
        const PskSignal signal = coherent(timing, clock);
        const auto symbols = run_stage(entry(), keys, signal.samples(), 1000).of<cf32>("out");
        const Alignment a = align(signal, symbols, 1500);
        EXPECT_EQ(a.errors, 0) << keys << timing << " " << clock;
        EXPECT_GT(a.compared, 4900) << keys;
      }
}

TEST(ClockRecovery, GardnerDoesNotMindTheCarrier) {
  PskSignal signal = coherent();
  const auto still = run_stage(entry(), "{}", signal.samples()).of<float>("clock");
  signal.offset = 2e-3;
  signal.phase = 1;
  const auto turning = run_stage(entry(), "{}", signal.samples()).of<float>("clock");
  for (std::size_t i = 2000; i + 10 < std::min(still.size(), turning.size()); ++i)
    ASSERT_NEAR(turning[i], still[i], 1e-3f) << i;
}

TEST(ClockRecovery, FindsTheRate) {
  for (const char* keys : kMethods) {
    const auto rate = run_stage(entry(), keys, coherent(0.3, 1e-3).samples()).of<float>("clock");
    double mean = 0;
    for (std::size_t i = 3000; i < 7000; ++i) mean += static_cast<double>(rate[i]) / 4000;
    EXPECT_NEAR(mean, -1e-3, 1e-4) << keys << "symbols come faster";
  }
}

TEST(ClockRecovery, HowTheStreamIsCutDoesNotMatter) {
  const auto x = coherent().samples();
  for (const char* keys : kMethods) {
    const StageOutputs whole = run_stage(entry(), keys, x);
    for (const std::int64_t block : {1, 7, 500, 4096}) {
      const StageOutputs cut = run_stage(entry(), keys, x, block);
      EXPECT_TRUE(same_bits(cut.of<cf32>("out"), whole.of<cf32>("out"))) << block;
      EXPECT_TRUE(same_bits(cut.of<float>("clock"), whole.of<float>("clock"))) << block;
    }
  }
}

TEST(ClockRecovery, GoesOnBehindWhatIsNotFinite) {
  for (const char* keys : kMethods) {
    const PskSignal signal = coherent();
    auto x = signal.samples();
    x[16000] = {std::numeric_limits<float>::quiet_NaN(), 0};
    x[20000] = {std::numeric_limits<float>::infinity(), 0};
    const auto symbols = run_stage(entry(), keys, x, 1000).of<cf32>("out");
    int spoilt = 0;
    for (const cf32 y : symbols) spoilt += std::isfinite(y.real()) && std::isfinite(y.imag()) ? 0 : 1;
    EXPECT_LE(spoilt, 4) << keys;
    EXPECT_LE(align(signal, symbols, 1500).errors, spoilt) << keys;
  }
}

TEST(ClockRecovery, SilenceComesAtTheNominalRate) {
  const auto symbols = run_stage(entry(), "{samples_per_symbol: 5}", std::vector<cf32>(1000)).of<cf32>("out");
  EXPECT_EQ(symbols.size(), 200u);
  EXPECT_THAT(symbols, ::testing::Each(cf32(0)));
}

TEST(ClockRecovery, NothingMakesItRunAway) {
  for (const char* keys : kMethods) {
    auto x = testing::complex_noise(20000);
    for (std::size_t n = 5000; n < 6000; ++n) x[n] *= 1e15f;
    const auto symbols = run_stage(entry(), keys, x).of<cf32>("out");
    EXPECT_NEAR(static_cast<double>(symbols.size()), 5000, 0.006 * 5000 + 50) << keys;
  }
}

TEST(ClockRecovery, RefusesWhatCannotBe) {
  EXPECT_THAT(run_stage(entry(), "{samples_per_symbol: 1}", {1, 2}).complaints(), HasSubstr("samples_per_symbol"));
  EXPECT_THAT(run_stage(entry(), "{method: early_late}", {1, 2}).complaints(), HasSubstr("method"));
}

}  // namespace
}  // namespace iqd::clock_recovery
