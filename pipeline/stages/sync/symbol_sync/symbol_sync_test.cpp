// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/sync/symbol_sync/symbol_sync.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/psk_signal.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::symbol_sync {
namespace {

using testing::align;
using testing::Alignment;
using ::testing::HasSubstr;
using testing::PskSignal;
using testing::run_stage;
using testing::same_bits;
using testing::StageOutputs;

constexpr const char* kKeys = "{samples_per_symbol: 4}";

/// Without a frequency offset, so that symbols can be decided directly.
PskSignal coherent() {
  PskSignal s;
  s.offset = 0;
  s.phase = 0;
  return s;
}

double evm(const PskSignal& signal, const std::vector<cf32>& symbols, std::size_t skip = 200) {
  double error = 0;
  for (std::size_t i = skip; i + skip < symbols.size(); ++i)
    error += std::norm(std::complex<double>(symbols[i]) - signal.at(signal.decide(symbols[i])));
  return std::sqrt(error / static_cast<double>(symbols.size() - 2 * skip));
}

TEST(SymbolSync, FindsSymbolsAtAnyTiming) {
  for (const double timing : {-0.5, -0.31, -0.1, 0.0, 0.2, 0.45}) {
    PskSignal signal = coherent();
    signal.timing = timing;
    signal.clock = 0;
    signal.snr_db = 60;
    const auto symbols = run_stage(entry(), kKeys, signal.samples()).of<cf32>("out");
    EXPECT_EQ(align(signal, symbols).errors, 0) << timing;
    EXPECT_LT(evm(signal, symbols), 0.03) << timing;
  }
}

TEST(SymbolSync, AClockThatIsAwayLosesAndDoublesNothing) {
  for (const double clock : {100e-6, -100e-6, 1e-3, -1e-3}) {
    PskSignal signal = coherent();
    signal.clock = clock;
    signal.count = 60000;  // off by 6 symbols at the end, or 60
    signal.snr_db = 25;
    const auto symbols = run_stage(entry(), kKeys, signal.samples(), 4096).of<cf32>("out");
    const Alignment a = align(signal, symbols);
    EXPECT_EQ(a.errors, 0) << clock;
    EXPECT_GT(a.compared, 59000) << clock;
    EXPECT_NEAR(static_cast<double>(symbols.size()), static_cast<double>(signal.count), 2) << clock;
  }
}

TEST(SymbolSync, NoiseCostsNoMoreThanItMust) {
  PskSignal signal = coherent();
  signal.count = 20000;
  const double evm_db = 20 * std::log10(evm(signal, run_stage(entry(), kKeys, signal.samples()).of<cf32>("out")));
  EXPECT_NEAR(evm_db, -15, 0.3);
}

TEST(SymbolSync, SamplesPerSymbolNeedNotBeWhole) {
  for (const double rate : {3.0, 3.7, 6.2831853, 17.0}) {
    PskSignal signal = coherent();
    signal.samples_per_symbol = rate;
    const auto symbols =
        run_stage(entry(), "{samples_per_symbol: " + std::to_string(rate) + "}", signal.samples(), 1000)
            .of<cf32>("out");
    EXPECT_EQ(align(signal, symbols).errors, 0) << rate;
    EXPECT_NEAR(20 * std::log10(evm(signal, symbols)), -15, 0.5) << rate;
  }
}

/// The variance of the timing is above the modified Cramér-Rao bound by this estimator's known loss: with a rolloff of
/// 1 a few dB at 10 dB.
TEST(SymbolSync, TimingIsNearTheBound) {
  PskSignal signal = coherent();
  signal.clock = 0;
  signal.rolloff = 1;
  signal.snr_db = 10;
  signal.count = 40000;
  const auto estimates = run_stage(entry(), kKeys, signal.samples()).of<float>("estimates");
  double sum = 0, squares = 0, n = 0;
  for (std::size_t i = 30; i + 30 < estimates.size(); i += 3) {
    sum += static_cast<double>(estimates[i]);
    squares += static_cast<double>(estimates[i]) * static_cast<double>(estimates[i]);
    n += 1;
  }
  const double pi = std::numbers::pi, variance = squares / n - sum / n * (sum / n);
  const double bandwidth = 1.0 / 12 + 0.25 - 2 / (pi * pi);  // mean square, in symbol rates, of this pulse
  const double bound = 1 / (8 * pi * pi * bandwidth * 128 * std::pow(10, signal.snr_db / 10));
  EXPECT_GT(variance, bound);
  EXPECT_LT(variance, 4 * bound);
  EXPECT_NEAR(sum / n, -signal.timing, 5 * std::sqrt(variance / n) + 1e-3) << "the clock is past an instant by this";
}

TEST(SymbolSync, HowTheStreamIsCutDoesNotMatter) {
  PskSignal signal = coherent();
  signal.clock = 2e-3;
  const auto x = signal.samples();
  const StageOutputs whole = run_stage(entry(), kKeys, x);
  for (const std::int64_t block : {1, 7, 255, 256, 257, 5000}) {
    const StageOutputs cut = run_stage(entry(), kKeys, x, block);
    EXPECT_TRUE(same_bits(cut.of<cf32>("out"), whole.of<cf32>("out"))) << block;
    EXPECT_TRUE(same_bits(cut.of<float>("estimates"), whole.of<float>("estimates"))) << block;
  }
}

TEST(SymbolSync, SaysHowFastTheClockIs) {
  PskSignal signal = coherent();
  signal.clock = 1e-3;
  signal.snr_db = 40;
  const auto estimates = run_stage(entry(), kKeys, signal.samples()).of<float>("estimates");
  double clock = 0;
  for (std::size_t i = 10; i < 50; ++i) clock += static_cast<double>(estimates[3 * i + 1]) / 40;
  EXPECT_NEAR(clock, 1e-3, 2e-4);
}

TEST(SymbolSync, SilenceHasSymbolsOfNothing) {
  const auto symbols = run_stage(entry(), kKeys, std::vector<cf32>(4000)).of<cf32>("out");
  EXPECT_NEAR(static_cast<double>(symbols.size()), 1000, 1);
  EXPECT_THAT(symbols, ::testing::Each(cf32(0)));
}

TEST(SymbolSync, AConstantIsOne) {
  const auto symbols =
      run_stage(entry(), "{samples_per_symbol: 3.3}", std::vector<cf32>(4000, cf32(0.5f, -2))).of<cf32>("out");
  ASSERT_GT(symbols.size(), 1200u);
  for (std::size_t i = 3; i + 3 < symbols.size(); ++i) EXPECT_LT(std::abs(symbols[i] - cf32(0.5f, -2)), 1e-5f) << i;
}

TEST(SymbolSync, NanSpoilsItsNeighboursOnly) {
  const PskSignal signal = coherent();
  auto x = signal.samples();
  const auto clean = run_stage(entry(), kKeys, x).of<cf32>("out");
  x[5000] = {std::numeric_limits<float>::quiet_NaN(), 0};
  x[9000] = {0, std::numeric_limits<float>::infinity()};
  const auto symbols = run_stage(entry(), kKeys, x, 1000).of<cf32>("out");
  ASSERT_EQ(symbols.size(), clean.size());
  int spoilt = 0;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (!std::isfinite(symbols[i].real()) || !std::isfinite(symbols[i].imag()))
      ++spoilt;
    else
      EXPECT_LT(std::abs(symbols[i] - clean[i]), 0.05f) << i;
  }
  EXPECT_GE(spoilt, 2);
  EXPECT_LE(spoilt, 5);  // of 8 samples each, 2 symbols
}

TEST(SymbolSync, ShortStreams) {
  for (const std::int64_t n : {0, 1, 3, 40, 255, 256, 300}) {
    const auto x = testing::complex_noise(n);
    const auto symbols = run_stage(entry(), kKeys, x).of<cf32>("out");
    EXPECT_NEAR(static_cast<double>(symbols.size()), static_cast<double>(n) / 4, 1) << n;
  }
}

TEST(SymbolSync, RefusesWhatCannotBe) {
  EXPECT_THAT(run_stage(entry(), "{samples_per_symbol: 2}", {1, 2}).complaints(), HasSubstr("samples_per_symbol"));
  EXPECT_THAT(run_stage(entry(), "{window: 4}", {1, 2}).complaints(), HasSubstr("window"));
  EXPECT_THAT(run_stage(entry(), kKeys, std::vector<cf32>(20), 0, 2).complaints(), HasSubstr("one channel"));
}

}  // namespace
}  // namespace iqd::symbol_sync
