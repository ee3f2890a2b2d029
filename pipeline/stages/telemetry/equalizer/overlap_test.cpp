// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/overlap.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <set>
#include <vector>

#include "gpu/fft_radix.hpp"

namespace iqd::equalizer {
namespace {

using cf64 = std::complex<double>;

constexpr int kGuard = static_cast<int>(PacketFormat::kGuard);
constexpr int kCount = static_cast<int>(kTaps);

std::vector<cf64> noise(int n, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<cf64> x;
  for (int i = 0; i < n; ++i) x.push_back({normal(generator), normal(generator)});
  return x;
}

/// A packet's window and its blocks, filtered and correlated cyclically per block, as transforms do.
struct Blocks {
  int samples;
  std::vector<cf64> window = noise(samples + 2 * kGuard, 1);
  std::vector<cf64> taps = noise(kCount, 2);

  cf64 at(int i) const {
    const auto place = static_cast<std::size_t>(i);
    return place < window.size() ? window[place] : cf64();
  }
  cf64 sample(int block, int n) const { return at(block_begin(block) + (n + kBlock) % kBlock); }

  cf64 filtered(int block, int n) const {
    cf64 y;
    for (int i = 0; i < kCount; ++i) y += taps[static_cast<std::size_t>(i)] * sample(block, n - i);
    return y;
  }
  /// Tap i is c(i + kFirst).
  cf64 expected(int m) const {
    cf64 y;
    for (int i = 0; i < kCount; ++i)
      y += taps[static_cast<std::size_t>(i)] * at(kGuard + m - i - static_cast<int>(kFirst));
    return y;
  }
};

TEST(Overlap, BlocksGiveEverySampleOfThePacketOnce) {
  for (const int samples : {2, kNew - 1, kNew, kNew + 1, 3 * kNew + 100}) {
    const Blocks b{samples};
    ASSERT_LT((count_blocks(samples) - 1) * kNew, samples);
    ASSERT_GE(count_blocks(samples) * kNew, samples);
    for (int m = 0; m < samples; m += m % kNew < 2 || m % kNew > kNew - 3 ? 1 : 97)
      EXPECT_LT(std::abs(b.filtered(m / kNew, kOld + m % kNew) - b.expected(m)), 1e-9) << samples << " " << m;
  }
}

TEST(Overlap, CorrelationsOfBlocksAddUpToTheGradient) {
  constexpr int kSamples = kNew + 700;
  const Blocks b{kSamples};
  const std::vector<cf64> z = noise(kSamples, 3);
  for (const int i : {0, 1, 59, 60, 61, kCount - 1}) {
    cf64 got, expected;
    for (int block = 0; block < count_blocks(kSamples); ++block)
      for (int n = kOld; n < kBlock && kNew * block + n - kOld < kSamples; ++n)
        got += z[static_cast<std::size_t>(kNew * block + n - kOld)] * std::conj(b.sample(block, n - i));
    for (int m = 0; m < kSamples; ++m)
      expected += z[static_cast<std::size_t>(m)] * std::conj(b.at(kGuard + m - i - static_cast<int>(kFirst)));
    EXPECT_LT(std::abs(got - expected), 1e-9) << i;
  }
}

TEST(Overlap, BinsLieApart) {
  std::set<int> places;
  for (int k = 0; k < kBlock; ++k) places.insert(bin_place(k));
  EXPECT_EQ(places.size(), static_cast<std::size_t>(kBlock));
  EXPECT_LT(*places.rbegin(), kParts * kPartStride);
  EXPECT_GE(kPartStride, gpu::padded(kPartSize));
  // The kernel adds these constants instead of dividing again.
  for (int t = 0; t < 128; ++t)
    for (int e = 0; e < 16; ++e) EXPECT_EQ(bin_place(t + 128 * e), bin_place(t) + 128 / kParts * e);
}

TEST(Overlap, NeighbouringBinsMeetDifferentBanks) {
  for (int first = 0; first < kBlock; first += 16) {
    std::set<int> banks;
    for (int k = first; k < first + 16; ++k) banks.insert(bin_place(k) % 16);
    EXPECT_EQ(banks.size(), 16u) << first;
  }
}

}  // namespace
}  // namespace iqd::equalizer
