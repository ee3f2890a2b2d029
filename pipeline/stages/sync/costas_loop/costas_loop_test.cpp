// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/sync/costas_loop/costas_loop.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/psk_signal.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::costas_loop {
namespace {

using testing::align;
using ::testing::HasSubstr;
using testing::PskSignal;
using testing::run_stage;
using testing::same_bits;
using testing::StageOutputs;

PskSignal signal_of(int order) {
  PskSignal s;
  s.order = order;
  s.first_turns = order == 4 ? 0.125 : 0;
  s.count = 8000;
  return s;
}
std::vector<cf32> symbols_of(const PskSignal& signal, double offset, double snr_db = 20) {
  std::mt19937 engine(7);
  std::normal_distribution<double> part(0, std::sqrt(std::pow(10, -snr_db / 10) / 2));
  std::vector<cf32> x;
  for (const int p : signal.points())
    x.emplace_back(signal.at(p) * std::polar(1.0, 2 * std::numbers::pi * offset * static_cast<double>(x.size()) + 0.5) +
                   std::complex<double>(part(engine), part(engine)));
  return x;
}

TEST(CostasLoop, LocksToOffsets) {
  for (const int order : {2, 4, 8})
    for (const double offset : {-2e-3, 0.0, 1e-3}) {
      const PskSignal signal = signal_of(order);
      const auto y =
          run_stage(entry(), fmt::format("{{order: {}}}", order), symbols_of(signal, offset), 1000).of<cf32>("out");
      EXPECT_EQ(align(signal, y, 2000, 0).errors, 0) << order << " " << offset;
    }
}

TEST(CostasLoop, FindsTheFrequency) {
  const auto f = run_stage(entry(), "{}", symbols_of(signal_of(4), 1e-3)).of<float>("frequency");
  double mean = 0;
  for (std::size_t n = 4000; n < 8000; ++n) mean += static_cast<double>(f[n]) / 4000;
  EXPECT_NEAR(mean, 1e-3, 2e-5);
}

/// The variance of a locked loop's phase is its noise bandwidth over the SNR: here 0.01 / 100.
TEST(CostasLoop, HasTheBandwidthThatItSays) {
  const PskSignal signal = signal_of(2);
  auto x = symbols_of(signal, 0, 20);
  const auto y = run_stage(entry(), "{order: 2, loop_bandwidth: 0.01, damping: 1}", x).of<cf32>("out");
  double squares = 0, mean = 0, n = 0;
  for (std::size_t i = 1000; i < x.size(); ++i, n += 1) {  // each sample's rotation, without the initial phase
    double turned = std::arg(std::complex<double>(y[i]) * std::conj(std::complex<double>(x[i]))) + 0.5;
    turned -= std::numbers::pi * std::round(turned / std::numbers::pi);
    mean += turned;
    squares += turned * turned;
  }
  mean /= n;
  EXPECT_NEAR(squares / n - mean * mean, 0.01 / 100, 0.4e-4);
}

TEST(CostasLoop, HowTheStreamIsCutDoesNotMatter) {
  const auto x = symbols_of(signal_of(4), 1e-3);
  for (const Axis axis : {Axis::stream, Axis::counted}) {
    const StageOutputs whole = run_stage(entry(), "{}", x, 0, axis == Axis::stream ? 2 : 1, axis);
    for (const std::int64_t block : {1, 7, 500}) {
      const StageOutputs cut = run_stage(entry(), "{}", x, block, axis == Axis::stream ? 2 : 1, axis);
      EXPECT_TRUE(same_bits(cut.of<cf32>("out"), whole.of<cf32>("out"))) << block;
      EXPECT_TRUE(same_bits(cut.of<float>("frequency"), whole.of<float>("frequency"))) << block;
    }
  }
}

TEST(CostasLoop, GoesOnBehindWhatIsNotFinite) {
  const PskSignal signal = signal_of(4);
  auto x = symbols_of(signal, 1e-3);
  const auto clean = run_stage(entry(), "{}", x).of<cf32>("out");
  for (std::size_t n = 5000; n < 5010; ++n) x[n] = {std::numeric_limits<float>::quiet_NaN(), 0};
  x[5010] = {std::numeric_limits<float>::infinity(), 0};
  const auto y = run_stage(entry(), "{}", x, 700).of<cf32>("out");
  for (std::size_t n = 0; n < x.size(); ++n) {
    if (n >= 5000 && n <= 5010) continue;
    EXPECT_LT(std::abs(y[n] - clean[n]), 0.25f) << n;
  }
}

TEST(CostasLoop, SilenceStaysSilent) {
  EXPECT_THAT(run_stage(entry(), "{}", std::vector<cf32>(100)).of<cf32>("out"), ::testing::Each(cf32(0)));
}

TEST(CostasLoop, RefusesWhatCannotBe) {
  EXPECT_THAT(run_stage(entry(), "{order: 3}", {1, 2}).complaints(), HasSubstr("order: has to be 2, 4 or 8"));
  EXPECT_THAT(run_stage(entry(), "{loop_bandwidth: 0}", {1, 2}).complaints(), HasSubstr("loop_bandwidth"));
}

}  // namespace
}  // namespace iqd::costas_loop
