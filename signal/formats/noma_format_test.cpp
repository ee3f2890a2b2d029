// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/noma_format.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "signal/formats/pn_sequence.hpp"
#include "tests/support/pn_bits.hpp"

namespace iqd {
namespace {

using complex = std::complex<double>;

/// Five symbols for pilots and data with unused slots, and a longer first prefix.
constexpr NomaFormat kSmall{
    .air = {.fft = 64, .carriers = 20, .prefix = 7, .frame = 7 * 71 + 3, .tx = 1, .pilot_every = 2},
    .users = 3,
    .training = 2,
    .pilots = 33,
    .data = 51};

double sign_of(int order, std::int64_t bit) {
  const PnSequence pn(order);
  return pn.bit(pn.state_at(bit)) != 0 ? -1 : 1;
}
complex known_point(std::int64_t i) {
  return complex(sign_of(23, 2 * i), sign_of(23, 2 * i + 1)) / std::numbers::sqrt2;
}

/// What user u sends on a slot, by the definitions.
complex sent(const NomaFormat& f, std::int64_t symbol, std::int64_t c, std::int64_t u,
             std::span<const std::uint8_t> bits, SymbolMap map) {
  const std::int64_t count = f.air.carriers;
  const std::int64_t frequency = c < count / 2 ? c - count / 2 : c - count / 2 + 1;
  if (symbol == 0) {
    std::int64_t even_below = 0;
    for (std::int64_t k = 0; k < c; ++k) even_below += f.air.frequency_of(k) % 2 == 0 ? 1 : 0;
    return frequency % 2 == 0 ? std::numbers::sqrt2 * sign_of(15, 20000 + even_below) : 0;
  }
  if (symbol == 1) return sign_of(15, 4096 + c);
  if (symbol < 2 + f.training) return known_point(u * f.training * count + (symbol - 2) * count + c);
  const std::int64_t slots = (f.air.symbols() - 2 - f.training) * count;
  const std::int64_t d = (symbol - 2 - f.training) * count + c;
  if (d >= f.data) return known_point((1 << 20) + u * slots + d);
  unsigned number = 0;
  for (int b = 0; b < bits_of(map); ++b)
    number = 2 * number + (bits[static_cast<std::size_t>(d * bits_of(map) + b)] & 1u);
  return complex(point_of(map, number));
}

TEST(NomaFormat, SixUsersOnTwoMegahertz) {
  const NomaFormat f;
  EXPECT_FALSE(f.fault());
  EXPECT_EQ(f.air.symbols(), 34);
  EXPECT_EQ(f.air.first_prefix(), f.air.prefix);
  EXPECT_EQ(f.pilot_slots(), 720);
  EXPECT_EQ(f.data_slots(), 3888);
  EXPECT_EQ(f.user_bits(SymbolMap::qpsk), 7680);
  EXPECT_EQ(f.frame_bits(SymbolMap::qam16), 6 * 3840 * 4);
  EXPECT_EQ(f.pilot_slot(0), (NomaFormat::Slot{2, 0}));
  EXPECT_EQ(f.pilot_slot(684), (NomaFormat::Slot{6, 108}));
  EXPECT_EQ(f.data_slot(0), (NomaFormat::Slot{7, 0}));
  EXPECT_EQ(f.data_slot(3839), (NomaFormat::Slot{33, 95}));
}

TEST(NomaFormat, WhatCannotBeUsedIsToldWithItsKey) {
  const auto key = [](auto change) {
    NomaFormat f;
    change(f);
    return f.fault() ? f.fault()->key : "none";
  };
  EXPECT_EQ(key([](NomaFormat& f) { f.air.fft = 2000; }), "fft");
  EXPECT_EQ(key([](NomaFormat& f) { f.air.carriers = 143; }), "carriers");
  EXPECT_EQ(key([](NomaFormat& f) { f.air.frame = 3 * 2192; }), "frame");
  EXPECT_EQ(key([](NomaFormat& f) { f.users = 0; }), "users");
  EXPECT_EQ(key([](NomaFormat& f) { f.users = 33; }), "users");
  EXPECT_EQ(key([](NomaFormat& f) { f.users = 32; }), "none");
  EXPECT_EQ(key([](NomaFormat& f) { f.training = 0; }), "training");
  EXPECT_EQ(key([](NomaFormat& f) { f.training = 32; }), "training");
  EXPECT_EQ(key([](NomaFormat& f) { f.pilots = 721; }), "pilots");
  EXPECT_EQ(key([](NomaFormat& f) { f.pilots = 720; }), "none");
  EXPECT_EQ(key([](NomaFormat& f) { f.pilots = 0; }), "pilots");
  EXPECT_EQ(key([](NomaFormat& f) { f.data = 3889; }), "data");
  EXPECT_EQ(key([](NomaFormat& f) { f.data = 0; }), "data");
  EXPECT_EQ(key([](NomaFormat& f) { f.training = 31, f.data = 144, f.pilots = 31 * 144; }), "none");
}

TEST(NomaFormat, UsersPilotsAreNearlyOrthogonal) {
  const NomaFormat f;
  for (std::int64_t u = 0; u < f.users; ++u)
    for (std::int64_t v = 0; v < f.users; ++v) {
      const auto a = f.pilot_points(u), b = f.pilot_points(v);
      complex sum = 0;
      for (std::size_t t = 0; t < static_cast<std::size_t>(f.pilots); ++t)
        sum += complex(a[t]) * std::conj(complex(b[t]));
      if (u == v)
        EXPECT_NEAR(std::abs(sum), 685, 1e-3);
      else
        EXPECT_LT(std::abs(sum), 4 * std::sqrt(685));
    }
}

TEST(NomaFrameMaker, SamplesAreTheSumOfCarriers) {
  constexpr double kAmplitude = 0.5;
  std::mt19937 random(1);
  const NomaFormat f = kSmall;
  for (const SymbolMap map :
       {SymbolMap::bpsk, SymbolMap::qpsk, SymbolMap::qam16, SymbolMap::qam64, SymbolMap::qam256}) {
    const NomaFrameMaker maker(f, map);
    std::vector<std::byte> scratch(maker.scratch_bytes());
    std::vector<std::uint8_t> bits(static_cast<std::size_t>(f.user_bits(map)));
    for (auto& bit : bits) bit = static_cast<std::uint8_t>(random() & 0xff);  // only the lowest bit counts
    for (std::int64_t u = 0; u < f.users; ++u) {
      std::vector<cf32> y(static_cast<std::size_t>(f.air.frame));
      maker.make(u, kAmplitude, bits, y.data(), scratch.data());
      for (std::int64_t symbol = 0; symbol < f.air.symbols(); ++symbol)
        for (std::int64_t n = symbol == 0 ? -f.air.first_prefix() : -f.air.prefix; n < f.air.fft; ++n) {
          complex sum = 0;
          for (std::int64_t c = 0; c < f.air.carriers; ++c)
            sum += sent(f, symbol, c, u, bits, map) *
                   std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(f.air.frequency_of(c) * n) /
                                       static_cast<double>(f.air.fft));
          sum *= kAmplitude / std::sqrt(static_cast<double>(f.air.carriers));
          ASSERT_NEAR(std::abs(complex(y[static_cast<std::size_t>(f.air.begin_of(symbol) + n)]) - sum), 0, 1e-6)
              << symbol << ' ' << n;
        }
    }
  }
}

TEST(NomaFrameMaker, EachUserHasItsOwnMap) {
  const NomaFormat f = kSmall;
  const std::vector<SymbolMap> maps{SymbolMap::qam64, SymbolMap::bpsk, SymbolMap::qpsk};
  const NomaFrameMaker mixed(f, maps);
  const std::vector<std::uint8_t> bits = testing::pn_bits(15, 3, f.user_bits(SymbolMap::qam64));
  for (std::int64_t u = 0; u < f.users; ++u) {
    const NomaFrameMaker alike(f, maps[static_cast<std::size_t>(u)]);
    std::vector<std::byte> scratch(mixed.scratch_bytes());
    std::vector<cf32> y(static_cast<std::size_t>(f.air.frame)), expected(y.size());
    mixed.make(u, 1, bits, y.data(), scratch.data());
    alike.make(u, 1, bits, expected.data(), scratch.data());
    for (std::size_t n = 0; n < y.size(); ++n) ASSERT_LT(std::abs(y[n] - expected[n]), 1e-6f) << u << ' ' << n;
  }
}

TEST(NomaFrameMaker, AllSlotsAreFilledWithPowerOne) {
  const NomaFormat f;
  const NomaFrameMaker maker(f, SymbolMap::qam64);
  std::vector<std::byte> scratch(maker.scratch_bytes());
  std::mt19937 random(2);
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(f.user_bits(SymbolMap::qam64)));
  for (auto& bit : bits) bit = random() >> 16 & 1;
  std::vector<cf32> y(static_cast<std::size_t>(f.air.frame));
  maker.make(5, 1, bits, y.data(), scratch.data());
  double power = 0;
  for (const cf32 v : y) power += static_cast<double>(std::norm(v));
  EXPECT_NEAR(power / static_cast<double>(f.air.frame), 1, 0.05);
}

}  // namespace
}  // namespace iqd
