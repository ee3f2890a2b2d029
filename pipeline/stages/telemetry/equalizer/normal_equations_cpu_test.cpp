// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/normal_equations_cpu.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace iqd::equalizer {
namespace {

using Number = std::complex<double>;

std::vector<cf32> random_channel() {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<cf32> h(kChannelTaps);
  for (cf32& v : h) v = {normal(engine), normal(engine)};
  return h;
}

/// Equations with memory of their own.
class Equations {
 public:
  explicit Equations(const std::vector<cf32>& h) : equations_(scratch_) { equations_.set_channel(h.data()); }
  double energy() const { return equations_.energy(); }
  std::vector<cf32> solve(double load) {
    std::vector<cf32> taps(kTaps);
    equations_.solve(load, taps.data());
    return taps;
  }

 private:
  static std::size_t bytes() {
    Scratch count(nullptr);
    const NormalEquations equations(count);
    return count.bytes();
  }
  std::vector<std::byte> memory_ = std::vector<std::byte>(bytes());
  Scratch scratch_{memory_.data()};
  NormalEquations equations_;
};

TEST(NormalEquations, TapsFulfilTheirDefinition) {
  const std::vector<cf32> h = random_channel();
  Equations equations(h);
  const double load = 0.1 * equations.energy();
  const std::vector<cf32> c = equations.solve(load);
  const auto channel = [&](std::int64_t n) {
    return n >= kChannelFirst && n < kChannelFirst + kChannelTaps ? Number(h[n - kChannelFirst]) : Number();
  };
  for (std::int64_t i = 0; i < kTaps; ++i) {
    Number sum = load * Number(c[i]);
    for (std::int64_t j = 0; j < kTaps; ++j)
      for (std::int64_t n = kChannelFirst; n < kChannelFirst + kChannelTaps; ++n)
        sum += channel(n) * std::conj(channel(n - (i - j))) * Number(c[j]);
    EXPECT_LT(std::abs(sum - std::conj(channel(-(kFirst + i)))), 1e-4) << i;
  }
}

TEST(NormalEquations, OneRayIsDividedOut) {
  std::vector<cf32> h(kChannelTaps);
  h[-kChannelFirst] = {0, 2};
  Equations equations(h);
  EXPECT_EQ(equations.energy(), 4);
  const std::vector<cf32> c = equations.solve(4);
  for (std::int64_t i = 0; i < kTaps; ++i)
    EXPECT_LT(std::abs(c[i] - (i == -kFirst ? cf32(0, -0.25f) : cf32())), 1e-6f) << i;
}

TEST(NormalEquations, ALoadHasAFloorAndLeavesNothingBehind) {
  Equations equations(random_channel());
  const std::vector<cf32> least = equations.solve(kLeastLoad * equations.energy());
  const std::vector<cf32> loaded = equations.solve(1);
  EXPECT_NE(loaded, least);
  EXPECT_EQ(equations.solve(0), least);
  EXPECT_EQ(equations.solve(1), loaded);
}

}  // namespace
}  // namespace iqd::equalizer
