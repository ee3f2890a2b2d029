// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/fold.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "daemon/live/bin_axis.hpp"
#include "daemon/live/sample_spectrum.hpp"
#include "daemon/live/symbol_density.hpp"
#include "daemon/live/value_counts.hpp"

namespace iqd::live {
namespace {

TEST(Fold, EveryValueIsInOneGroup) {
  for (const std::size_t values : {1, 2, 3, 7, 1024, 1025, 1500, 4096, 32768}) {
    const std::size_t groups = std::min<std::size_t>(values, 1024);
    std::vector<float> folded(groups);
    std::set<std::size_t> seen;
    for (std::size_t k = 0; k<values; k += values> 5000 ? 97 : 1) {
      std::vector<float> in(values, -100);
      in[k] = 5;
      fold_largest(in, folded);
      EXPECT_EQ(std::count(folded.begin(), folded.end(), 5.0F), 1) << k << " of " << values;
      const auto group = static_cast<std::size_t>(std::ranges::find(folded, 5.0F) - folded.begin());
      EXPECT_EQ(group, ((k + 1) * groups - 1) / values) << k << " of " << values;
      seen.insert(group);
    }
    if (values <= 5000) {
      EXPECT_EQ(seen.size(), groups);
    }
  }
}

TEST(Fold, TheMeanIsThatOfThePowers) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> any(-120, 0);
  std::vector<float> db(5000);
  for (float& x : db) x = any(random);
  std::vector<float> folded(1024);
  fold_mean_db(db, folded);
  for (std::size_t i = 0; i < folded.size(); ++i) {
    double power = 0, count = 0;
    for (std::size_t k = i * 5000 / 1024; k < (i + 1) * 5000 / 1024; ++k, ++count)
      power += std::pow(10.0, static_cast<double>(db[k]) / 10);
    EXPECT_NEAR(folded[i], 10 * std::log10(power / count), 1e-3);
  }
}

TEST(Fold, OfNanAndInfinity) {
  const std::vector<float> in{NAN, 3, NAN, NAN, -INFINITY, -INFINITY, INFINITY, 1};
  std::vector<float> folded(4);
  fold_largest(in, folded);
  EXPECT_EQ(folded[0], 3);
  EXPECT_TRUE(std::isnan(folded[1]));
  EXPECT_EQ(folded[2], -INFINITY);
  EXPECT_EQ(folded[3], INFINITY);
  fold_mean_db(in, folded);
  EXPECT_NEAR(folded[0], 3, 1e-5);
  EXPECT_TRUE(std::isnan(folded[1]));
  EXPECT_EQ(folded[2], -INFINITY);
}

TEST(SampleSpectrum, AToneOfAmplitude1IsZeroDecibels) {
  for (const bool mirrored : {false, true})
    for (const int bin : {-512, -3, 0, 1, 300, 511}) {
      SampleSpectrum spectrum(1024);
      std::vector<cf32> x(1024);
      for (std::size_t n = 0; n < x.size(); ++n)
        x[n] = std::polar(1.0F, static_cast<float>(2 * M_PI * bin * static_cast<double>(n) / 1024));
      const std::span<const float> powers = spectrum.powers(x, mirrored);
      const auto most = std::ranges::max_element(powers) - powers.begin();
      EXPECT_EQ(most, mirrored ? 1023 - (bin + 512) : bin + 512);
      EXPECT_NEAR(*std::ranges::max_element(powers), 1, 1e-4);
      EXPECT_LT(powers[static_cast<std::size_t>((most + 100) % 1024)], 1e-9F) << "Blackman-Harris: 92 dB";
    }
}

TEST(SampleSpectrum, OfOneSampleAndOfSilence) {
  SampleSpectrum one(1);
  EXPECT_NEAR(one.powers(std::vector<cf32>{{0, 2}}, false)[0], 4, 1e-6);
  SampleSpectrum spectrum(64);
  for (const float power : spectrum.powers(std::vector<cf32>(64), false)) EXPECT_EQ(power, 0);
}

TEST(SampleSpectrum, Sc16HasAFullScaleOf32768) {
  const std::vector<sc16> in{{32767, -32768}, {0, 16384}};
  std::vector<cf32> into;
  const auto x = as_cf32(Element::sc16, reinterpret_cast<const std::byte*>(in.data()), 2, into);
  EXPECT_NEAR(x[0].real(), 0.99997, 1e-5);
  EXPECT_EQ(x[0].imag(), -1);
  EXPECT_EQ(x[1], cf32(0, 0.5F));
}

TEST(BinAxis, HasEdgesHalfABinOutside) {
  const BinAxis axis({"bin", 4, {}, {.first_hz = -200, .step_hz = 100}});
  EXPECT_TRUE(axis.is_hz());
  EXPECT_DOUBLE_EQ(axis.first(), -250);
  EXPECT_DOUBLE_EQ(axis.span(), 400);
  std::vector<float> into;
  const std::vector<float> values{0, 1, 2, 3};
  EXPECT_EQ(axis.sorted(values, into).data(), values.data()) << "needs no copy";
}

TEST(BinAxis, BringsBinsIntoTheOrderOfTheirFrequencies) {
  const std::vector<float> values{0, 1, 2, 3};
  std::vector<float> into;
  const auto order = [&](const Frequencies& of) {
    const BinAxis axis({"bin", 4, {}, of});
    EXPECT_DOUBLE_EQ(axis.span(), 40);
    const auto sorted = axis.sorted(values, into);
    return std::vector<float>(sorted.begin(), sorted.end());
  };
  EXPECT_EQ(order({.first_hz = 15, .step_hz = -10}), (std::vector<float>{3, 2, 1, 0}));
  EXPECT_EQ(order({.first_hz = 0, .step_hz = 10, .wrap = 2}), (std::vector<float>{2, 3, 0, 1}));
  EXPECT_EQ(order({.values_hz = {0, 10, -20, -10}}), (std::vector<float>{2, 3, 0, 1}));
}

TEST(BinAxis, WithoutFrequenciesCountsBins) {
  const BinAxis axis({"bin", 7, {}, {}});
  EXPECT_FALSE(axis.is_hz());
  EXPECT_EQ(axis.first(), 0);
  EXPECT_EQ(axis.span(), 7);
}

TEST(SymbolDensity, CountsByImaginaryPartTopFirst) {
  const std::vector<cf32> symbols{{-0.99F, 0.99F}, {0.99F, -0.99F}, {0.99F, -0.99F}, {5, -5}, {NAN, 0}, {0, INFINITY}};
  const std::string codes = SymbolDensity(symbols, 1).codes();
  ASSERT_EQ(codes.size(), 4096u);
  const auto code = [&](int row, int column) {
    return static_cast<int>(static_cast<unsigned char>(codes[static_cast<std::size_t>(row * 64 + column)]));
  };
  EXPECT_EQ(code(0, 0), std::lround(1 + 254 * std::log2(2.0) / std::log2(4.0)));
  EXPECT_EQ(code(63, 63), 255) << "with what lies outside";
  EXPECT_EQ(std::count(codes.begin(), codes.end(), '\1'), 4094);
  const std::string empty = SymbolDensity({}, 1).codes();
  EXPECT_EQ(std::count(empty.begin(), empty.end(), '\1'), 4096);
}

TEST(Extent, IsRoundedUpAndDoesNotFlicker) {
  for (const auto& [x, up] : {std::pair{1.0, 1.0},
                              {1.01, 2.0},
                              {2.0, 2.0},
                              {3.0, 5.0},
                              {5.1, 10.0},
                              {0.1, 0.1},
                              {0.11, 0.2},
                              {0.0, 1.0},
                              {-1.0, 1.0},
                              {1e-9, 1e-9}})
    EXPECT_NEAR(round_up(x), up, 1e-9 * up) << x;
  EXPECT_EQ(round_up(INFINITY), 1);
  Extent extent;
  EXPECT_EQ(extent.fit(1, 1.5), 2);
  EXPECT_EQ(extent.fit(0.5, 1.5), 2) << "0.75 still fills a third of it";
  EXPECT_EQ(extent.fit(0.4, 1.5), 1);
  EXPECT_EQ(extent.fit(0, 1.5), 1);
  EXPECT_EQ(extent.fit(1, 1.5), 2);
}

TEST(ValueCounts, EveryValueIsCountedOnce) {
  const std::vector<float> values{-1, -0.999F, 0, 0.999F, 1, 50, -50, INFINITY, -INFINITY, NAN};
  const Counts counts = count_values(values, 1);
  EXPECT_EQ(counts[0], 4u);
  EXPECT_EQ(counts[32], 1u);
  EXPECT_EQ(counts[63], 4u);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0U), 9u);
}

TEST(LatencyBins, KeepTheSumAndThePlace) {
  const LatencyBins bins(0.0328);
  EXPECT_LE(std::exp2(bins.first()), 0.0328 / 1000);
  EXPECT_GE(std::exp2(bins.first() + LatencyBins::octaves()), 0.0328 * 4);
  Histogram histogram;
  for (int i = 0; i < 1000; ++i) histogram.record(1'000'000 + 100 * i);
  histogram.record(0);
  histogram.record(std::int64_t{1} << 50);
  const Counts counts = bins.count(histogram.snapshot());
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0U), 1002u);
  EXPECT_EQ(counts[0], 1u);
  EXPECT_EQ(counts[63], 1u);
  const double place = (std::log2(1.05e-3) - bins.first()) * LatencyBins::kPerOctave;
  const auto near = static_cast<std::size_t>(place);
  EXPECT_GT(counts[near - 1] + counts[near] + counts[near + 1], 990u);
}

}  // namespace
}  // namespace iqd::live
