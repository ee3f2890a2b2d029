// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/measure/evm_meter/evm_meter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <tuple>

#include "pipeline/stages/stages.hpp"
#include "tests/support/psk_signal.hpp"

namespace iqd::evm_meter {
namespace {

using testing::run_stage;

std::vector<cf32> symbols_of(SymbolMap map, double gain, double evm, int n = 20000) {
  std::mt19937 engine(5);
  std::normal_distribution<double> part(0, evm / std::sqrt(2.0));
  std::vector<cf32> all;
  for (int i = 0; i < n; ++i) {
    const std::complex<double> point(point_of(map, static_cast<unsigned>(engine() % (1u << bits_of(map)))));
    all.emplace_back(gain * (point + std::complex<double>(part(engine), part(engine))));
  }
  return all;
}

TEST(EvmMeter, SaysWhatNoiseThereIs) {
  for (const auto& [name, map, evm] : {std::tuple{"bpsk", SymbolMap::bpsk, 0.1},
                                       {"qpsk", SymbolMap::qpsk, 0.15},
                                       {"16qam", SymbolMap::qam16, 0.05},
                                       {"64qam", SymbolMap::qam64, 0.02}})
    for (const double gain : {1.0, 1e-3, 700.0}) {
      const auto levels =
          run_stage(entry(), std::string("{modulation: ") + name + "}", symbols_of(map, gain, evm)).of<float>("levels");
      ASSERT_EQ(levels.size(), kLevels.size());
      EXPECT_NEAR(static_cast<double>(levels[0]), evm, 0.02 * evm) << name << gain;
      EXPECT_NEAR(static_cast<double>(levels[1]), 20 * std::log10(evm), 0.2) << name << gain;
      EXPECT_NEAR(static_cast<double>(levels[2]) / gain, 1, 0.01) << name << gain;
      EXPECT_EQ(levels[3], 20000.0f);
    }
}

TEST(EvmMeter, WithoutNoiseThereIsNone) {
  const auto levels = run_stage(entry(), "{modulation: qpsk}", symbols_of(SymbolMap::qpsk, 2, 0)).of<float>("levels");
  EXPECT_LT(levels[0], 1e-6f);
  EXPECT_NEAR(levels[2], 2, 1e-5f);
}

TEST(EvmMeter, OneMessageForEachBlockWithSymbols) {
  auto x = symbols_of(SymbolMap::qpsk, 1, 0.1, 400);
  std::fill(x.begin() + 100, x.begin() + 200, cf32(0));
  EXPECT_EQ(run_stage(entry(), "{}", x, 100).of<float>("levels").size(), 3 * kLevels.size());
}

TEST(EvmMeter, WhatIsNotFiniteIsLeftOut) {
  auto x = symbols_of(SymbolMap::qpsk, 1, 0.1, 1000);
  x[7] = {std::numeric_limits<float>::infinity(), 0};
  x[8] = {0, std::numeric_limits<float>::quiet_NaN()};
  const auto levels = run_stage(entry(), "{}", x).of<float>("levels");
  EXPECT_NEAR(levels[0], 0.1f, 0.01f);
  EXPECT_EQ(levels[3], 998.0f);
}

}  // namespace
}  // namespace iqd::evm_meter
