// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/phase.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace iqd {
namespace {

TEST(Phase, WrapsAsPhasesDo) {
  EXPECT_EQ(Phase::of_turns(0.25L).turns, std::uint64_t{1} << 62);
  EXPECT_EQ(Phase::of_turns(-0.25L), Phase::of_turns(3.75L));
  EXPECT_EQ(Phase::of_turns(7).turns, 0u);
  EXPECT_EQ(Phase::of_turns(-1e-30L).turns, 0u);
  EXPECT_EQ((Phase::of_turns(0.75L) + Phase::of_turns(0.5L)), Phase::of_turns(0.25L));
}

TEST(Phase, WhatIsNotFiniteIsZero) {
  EXPECT_EQ(Phase::of_turns(std::numeric_limits<long double>::infinity()).turns, 0u);
  EXPECT_EQ(Phase::per_sample(1, 0).turns, 0u);
  EXPECT_EQ(Phase::per_sample(0, 0).turns, 0u);
}

TEST(Phase, AStepOrMoreIsTheNextWholeNumber) {
  const auto expected = [](std::int64_t frequency, std::int64_t rate) {
    const std::int64_t part = (frequency % rate + rate) % rate;
    // 2^64 part / rate, rounded up, in two halves of 32 bits.
    const auto high = static_cast<std::uint64_t>(part) << 32;
    const auto r = static_cast<std::uint64_t>(rate);
    const std::uint64_t rest = high % r << 32;
    return ((high / r) << 32) + rest / r + (rest % r != 0 ? 1 : 0);
  };
  for (const std::int64_t rate : {1, 2, 3, 7, 1000, 48000, 1'000'003, 20'625'000})
    for (const std::int64_t frequency : {0, 1, -1, 3, 700, -700, 999, 123'456, 10'312'500, -10'312'499, 30'000'000})
      EXPECT_EQ(Phase::per_sample_or_more(static_cast<double>(frequency), static_cast<double>(rate)).turns,
                expected(frequency, rate))
          << frequency << "/" << rate;
  EXPECT_EQ(Phase::of_radians(std::numbers::pi).turns, std::uint64_t{1} << 63);
}

TEST(Phase, IsExactFarOut) {
  const Phase step = Phase::per_sample(1e6, 20.625e6);  // 16/330 of a turn: 33 periods are 680.625 samples
  const std::int64_t n = 1'000'000'000;
  const long double turns = 1e6L / 20.625e6L * static_cast<long double>(n);
  const long double expected = (turns - std::floor(turns)) * 2 * std::numbers::pi_v<long double>;
  const long double off =
      std::remainder(static_cast<long double>((step * n).radians()) - expected, 2 * std::numbers::pi_v<long double>);
  EXPECT_LT(std::fabs(off), 1e-9L);
}

TEST(Phase, PhasorsOfTheQuarters) {
  EXPECT_NEAR(std::abs(Phase::of_turns(0.25L).phasor() - std::complex<double>(0, 1)), 0, 1e-15);
  EXPECT_NEAR(std::abs(Phase::of_radians(std::numbers::pi).phasor() - std::complex<double>(-1, 0)), 0, 1e-15);
  EXPECT_NEAR(std::abs(Phase::of_radians(-std::numbers::pi / 2).phasor() - std::complex<double>(0, -1)), 0, 1e-15);
}

}  // namespace
}  // namespace iqd
