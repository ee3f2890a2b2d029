// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/ofdm_format.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "signal/formats/pn_sequence.hpp"

namespace iqd {
namespace {

using complex = std::complex<double>;

constexpr OfdmFormat kTwenty{.fft = 2048, .carriers = 1200, .prefix = 144, .frame = 30720, .tx = 4};
constexpr OfdmFormat kSmallOfdm{.fft = 64, .carriers = 42, .prefix = 7, .frame = 777, .tx = 3, .pilot_every = 10};

double sign_of(std::int64_t bit) {
  const PnSequence pn(15);
  return pn.bit(pn.state_at(bit)) != 0 ? -1 : 1;
}
complex turn(double part) {
  return std::polar(1.0, 2 * std::numbers::pi * part);
}

/// A data point, from its bits by the formulas of TS 38.211.
complex mapped(std::span<const std::uint8_t> bits) {
  const auto axis = [&](std::size_t first) {
    double value = 1;
    for (std::size_t b = bits.size() - 2 + first, half = 1; b > first; b -= 2, half *= 2)
      value = static_cast<double>(2 * half) - (1 - 2 * (bits[b] & 1)) * value;
    return (1 - 2 * (bits[first] & 1)) * value;
  };
  const double levels = std::exp2(static_cast<double>(bits.size()) / 2);
  return complex(axis(0), axis(1)) / std::sqrt(2 * (levels * levels - 1) / 3);
}

/// All values that antenna a sends on a symbol, by carrier, computed from the definitions in the header.
std::vector<complex> sent(const OfdmFormat& f, std::int64_t symbol, std::int64_t a, std::span<const std::uint8_t> bits,
                          int count) {
  std::vector<complex> values;
  std::int64_t even = 0, pilot = 0, data = 0;
  for (std::int64_t c = 0; c < f.carriers; ++c) {
    const std::int64_t frequency = c < f.carriers / 2 ? c - f.carriers / 2 : c - f.carriers / 2 + 1;
    std::int64_t d = symbol - 1 - f.tx;
    const std::int64_t behind = f.symbols() - 1 - f.tx;
    std::int64_t comb = -1, midambles_before = 0;
    for (std::int64_t j = 0; j < f.midambles; ++j) {
      const auto at = static_cast<std::int64_t>(
          std::floor(static_cast<double>((j + 1) * behind) / static_cast<double>(f.midambles) + 0.5));
      if (d == at - 1) comb = j;
      midambles_before += d > at - 1;
    }
    d -= midambles_before;
    complex value = 0;
    if (symbol == 0) {
      if (frequency % 2 == 0) {
        if (even % f.tx == a) value = std::sqrt(2.0 * static_cast<double>(f.tx)) * sign_of(20000 + even);
        ++even;
      }
    } else if (d < 0) {
      value = sign_of(4096 + c) * turn(-static_cast<double>(a * (symbol - 1)) / static_cast<double>(f.tx));
    } else if (comb >= 0) {
      if (c % f.tx == a) value = std::sqrt(static_cast<double>(f.tx)) * sign_of(8192 + comb * f.carriers + c);
    } else if (f.is_pilot(c)) {
      value = sign_of(16384 + (d * f.pilots() + pilot++) * f.tx + a);
    } else {
      const std::int64_t at = ((data++ * f.data_symbols() + d) * f.tx + a) * count;
      value = mapped(bits.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count)));
    }
    values.push_back(value);
  }
  return values;
}

std::vector<std::uint8_t> random_bits(std::int64_t n) {
  std::mt19937 random(1);
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(n));
  for (auto& bit : bits) bit = static_cast<std::uint8_t>(random() & 0xff);  // only the lowest bit counts
  return bits;
}

struct Made {
  Made(const OfdmFormat& f, Modulation modulation, double amplitude = 1) : bits(random_bits(f.bits(modulation))) {
    const OfdmFrameMaker maker(f, modulation, amplitude);
    std::vector<std::byte> scratch(maker.scratch_bytes());
    rows.assign(static_cast<std::size_t>(f.tx), std::vector<cf32>(static_cast<std::size_t>(f.frame)));
    std::vector<cf32*> at;
    for (auto& row : rows) at.push_back(row.data());
    maker.make(bits, at, scratch.data());
  }
  std::vector<std::uint8_t> bits;
  std::vector<std::vector<cf32>> rows;
};

TEST(OfdmFormat, FiveAndTwentyMegahertz) {
  const OfdmFormat five;
  EXPECT_FALSE(five.fault());
  EXPECT_EQ(five.symbols(), 14);
  EXPECT_EQ(five.data_symbols(), 11);
  EXPECT_EQ(five.pilots(), 12);
  EXPECT_EQ(five.data_carriers(), 288);
  EXPECT_EQ(five.first_prefix(), 44);
  EXPECT_EQ(five.begin_of(13) + five.fft, five.frame);
  EXPECT_EQ(five.bits(Modulation::qam16), 288 * 11 * 2 * 4);
  EXPECT_FALSE(kTwenty.fault());
  EXPECT_EQ(kTwenty.data_symbols(), 9);
  EXPECT_EQ(kTwenty.data_carriers(), 1152);
  EXPECT_EQ(kTwenty.first_prefix(), 176);
}

TEST(OfdmFormat, MidamblesEndEqualParts) {
  const auto at = [](std::int64_t tx, std::int64_t midambles) {
    const OfdmFormat f{.tx = tx, .midambles = midambles};
    EXPECT_FALSE(f.fault());
    std::vector<std::int32_t> all;
    for (std::int32_t j = 0; j < f.comb().count; ++j) all.push_back(f.comb().at(j));
    return all;
  };
  using Numbers = std::vector<std::int32_t>;
  EXPECT_EQ(at(2, 0), Numbers{});
  EXPECT_EQ(at(2, 1), Numbers{10});
  EXPECT_EQ(at(2, 2), (Numbers{5, 10}));
  EXPECT_EQ(at(2, 4), (Numbers{2, 5, 7, 10}));
  EXPECT_EQ(at(4, 2), (Numbers{4, 8}));
  const Midambles four{.symbols = 11, .count = 4};
  Numbers data, before;
  for (std::int32_t d = 0; d < 7; ++d) {
    data.push_back(four.data(d));
    before.push_back(four.data_before(four.data(d)));
    EXPECT_EQ(four.in(four.data(d)), -1);
  }
  EXPECT_EQ(data, (Numbers{0, 1, 3, 4, 6, 8, 9}));
  EXPECT_EQ(before, (Numbers{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(four.in(7), 2);
  const OfdmFormat f{.midambles = 4};
  EXPECT_EQ(f.data_symbols(), 7);
  EXPECT_EQ(f.bits(Modulation::qam16), 288 * 7 * 2 * 4);
}

TEST(OfdmFormat, ATailEndsWithTheNextTraining) {
  const OfdmFormat f{.tail = true};
  EXPECT_EQ(f.tail_symbols(), 3);
  EXPECT_EQ(f.tail_samples(), 44 + 2 * 548 + 512);
  EXPECT_DOUBLE_EQ(f.tail_position(2), 16 + 8.0 / 548);
  EXPECT_EQ(OfdmFormat{}.tail_samples(), 0);
}

TEST(OfdmFormat, CarriersLieAroundTheMiddleWhichIsNotSent) {
  const OfdmFormat f;
  std::int64_t last = -f.carriers / 2 - 1, pilots = 0;
  for (std::int64_t c = 0; c < f.carriers; ++c) {
    const std::int64_t frequency = f.frequency_of(c);
    EXPECT_EQ(frequency, last == -1 ? 1 : last + 1);
    EXPECT_EQ(f.bin_of(c), frequency < 0 ? frequency + f.fft : frequency);
    last = frequency;
    pilots += f.is_pilot(c) ? 1 : 0;
  }
  EXPECT_EQ(pilots, f.pilots());
  EXPECT_TRUE(f.is_pilot(12));
}

TEST(OfdmFormat, WhatCannotBeUsedIsToldWithItsKey) {
  const auto key = [](const OfdmFormat& f) { return f.fault() ? f.fault()->key : "none"; };
  EXPECT_EQ(key({}), "none");
  EXPECT_EQ(key(kSmallOfdm), "none");
  EXPECT_EQ(key({.fft = 500}), "fft");
  EXPECT_EQ(key({.fft = 0}), "fft");
  EXPECT_EQ(key({.fft = 16384}), "fft");
  EXPECT_EQ(key({.carriers = 301}), "carriers");
  EXPECT_EQ(key({.carriers = 510}), "none");
  EXPECT_EQ(key({.carriers = 512}), "carriers");
  EXPECT_EQ(key({.carriers = 14, .pilot_every = 7}), "carriers");
  EXPECT_EQ(key({.prefix = 0}), "prefix");
  EXPECT_EQ(key({.prefix = 256}), "none");
  EXPECT_EQ(key({.prefix = 257}), "prefix");
  EXPECT_EQ(key({.tx = 0}), "tx");
  EXPECT_EQ(key({.tx = 9}), "tx");
  EXPECT_EQ(key({.pilot_every = 1}), "pilot_every");
  EXPECT_EQ(key({.pilot_every = 301}), "pilot_every");
  EXPECT_EQ(key({.pilot_every = 300}), "none");
  EXPECT_EQ(key({.frame = 4 * 548 - 1}), "frame");
  EXPECT_EQ(key({.frame = 4 * 548}), "none");
  EXPECT_EQ(key({.frame = std::int64_t{1} << 40}), "frame");
  EXPECT_EQ(key({.midambles = 5}), "midambles");
  EXPECT_EQ(key({.midambles = -1}), "midambles");
  EXPECT_EQ(key({.frame = 5 * 548, .midambles = 1}), "none");
  EXPECT_EQ(key({.frame = 5 * 548, .midambles = 2}), "frame");
}

TEST(OfdmReference, AntennasShareTheSyncSymbolAndHaveDataPower) {
  for (const OfdmFormat& f : {OfdmFormat{}, kTwenty}) {
    const OfdmReference reference(f);
    std::vector<double> power(static_cast<std::size_t>(f.tx));
    for (std::int64_t c = 0; c < f.carriers; ++c) {
      const double value = static_cast<double>(reference.sync()[static_cast<std::size_t>(c)]);
      const int a = reference.sync_antenna(c);
      EXPECT_EQ(a < 0, value == 0);
      if (a >= 0) power[static_cast<std::size_t>(a)] += value * value;
    }
    const double pairs = static_cast<double>(2 * f.tx);  // the even carriers need not divide evenly over the antennas
    for (const double p : power) EXPECT_NEAR(p, static_cast<double>(f.carriers), pairs);
  }
}

TEST(OfdmReference, CoversAreOrthogonal) {
  for (const std::int64_t tx : {1, 2, 3, 4, 8}) {
    OfdmFormat f{.tx = tx};
    const OfdmReference reference(f);
    for (std::int64_t a = 0; a < tx; ++a)
      for (std::int64_t b = 0; b < tx; ++b) {
        complex sum = 0;
        for (std::int64_t t = 0; t < tx; ++t)
          sum += complex(reference.cover(a, t)) * std::conj(complex(reference.cover(b, t)));
        EXPECT_NEAR(std::abs(sum - static_cast<double>(a == b ? tx : 0)), 0, 1e-5);
      }
  }
}

TEST(OfdmFrameMaker, SamplesAreTheSumOfCarriers) {
  constexpr double kAmplitude = 0.5;
  for (const Modulation modulation : {Modulation::qpsk, Modulation::qam16, Modulation::qam64, Modulation::qam256}) {
    OfdmFormat f = kSmallOfdm;
    f.midambles = modulation == Modulation::qam256 ? 0 : bits_of(modulation) / 2;
    const Made made(f, modulation, kAmplitude);
    for (std::int64_t a = 0; a < f.tx; ++a)
      for (std::int64_t symbol = 0; symbol < f.symbols(); ++symbol) {
        const auto values = sent(f, symbol, a, made.bits, bits_of(modulation));
        for (std::int64_t n = symbol == 0 ? -f.first_prefix() : -f.prefix; n < f.fft; ++n) {
          complex sum = 0;
          for (std::int64_t c = 0; c < f.carriers; ++c)
            sum += values[static_cast<std::size_t>(c)] *
                   turn(static_cast<double>(f.frequency_of(c) * n) / static_cast<double>(f.fft));
          sum *= kAmplitude / std::sqrt(static_cast<double>(f.carriers));
          const cf32 y = made.rows[static_cast<std::size_t>(a)][static_cast<std::size_t>(f.begin_of(symbol) + n)];
          ASSERT_NEAR(std::abs(complex(y) - sum), 0, 1e-6) << symbol << ' ' << n;
        }
      }
  }
}

TEST(OfdmFrameMaker, KnownSymbolsHaveLowerPeaksThanData) {
  for (const OfdmFormat& f : {OfdmFormat{}, kTwenty})
    for (const auto& row : Made(f, Modulation::qpsk).rows)
      for (std::int64_t n = 0; n < f.begin_of(1 + f.tx); ++n)
        ASSERT_LT(std::norm(row[static_cast<std::size_t>(n)]), 10.0f) << n;
}

TEST(OfdmFrameMaker, TheSyncSymbolHasTwoEqualHalvesAndPowerIsOne) {
  const OfdmFormat f;
  const Made made(f, Modulation::qam64);
  for (const auto& row : made.rows) {
    double power = 0;
    for (const cf32 y : row) power += static_cast<double>(std::norm(y));
    EXPECT_NEAR(power / static_cast<double>(f.frame), 1, 0.05);
    for (std::int64_t n = 0; n < f.fft / 2; ++n) {
      const auto at = static_cast<std::size_t>(f.begin_of(0) + n);
      EXPECT_NEAR(static_cast<double>(std::abs(row[at] - row[at + static_cast<std::size_t>(f.fft / 2)])), 0, 1e-5);
    }
  }
}

}  // namespace
}  // namespace iqd
