// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/metric.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

namespace iqd {
namespace {

/// The widest bucket compared with its lowest value: one eighth.
constexpr double kWidest = 1.0 / Histogram::kPerOctave;

TEST(Histogram, EdgesGrowAndAreTheLastOfTheirBucket) {
  for (int b = 0; b < Histogram::kBuckets; ++b) {
    const double edge = Histogram::upper_edge_ns(b);
    ASSERT_GT(edge, b > 0 ? Histogram::upper_edge_ns(b - 1) : -1) << b;
    if (edge > 9e15) continue;  // a double no longer tells neighbours apart
    const auto last = static_cast<std::uint64_t>(edge);
    ASSERT_EQ(Histogram::bucket_of(last), b);
    ASSERT_EQ(Histogram::bucket_of(last + 1), std::min(b + 1, Histogram::kBuckets - 1));
  }
}

TEST(Histogram, EveryValueHasABucketNotFarAboveIt) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t v = random() >> (2 + random() % 60);
    const double edge = Histogram::upper_edge_ns(Histogram::bucket_of(v));
    ASSERT_GE(edge, static_cast<double>(v) * (1 - 1e-15));
    ASSERT_LE(edge, static_cast<double>(v) * (1 + kWidest));
  }
  EXPECT_EQ(Histogram::bucket_of(~std::uint64_t{0}), Histogram::kBuckets - 1);
}

TEST(Histogram, QuantilesAreNearTheExactOnes) {
  std::mt19937 random(2);
  for (const double spread : {0.0, 0.1, 1.0, 3.0}) {
    std::lognormal_distribution<double> draw(10, spread);
    Histogram histogram;
    std::vector<double> all;
    for (int i = 0; i < 20'000; ++i) {
      const auto ns = static_cast<std::int64_t>(draw(random));
      histogram.record(ns);
      all.push_back(static_cast<double>(ns));
    }
    std::sort(all.begin(), all.end());
    const Histogram::Snapshot s = histogram.snapshot();
    for (const double q : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const double rank = std::max(1.0, std::ceil(q * static_cast<double>(all.size())));
      const double exact = all[static_cast<std::size_t>(rank) - 1];
      EXPECT_GE(s.quantile_ns(q), exact) << q;
      EXPECT_LE(s.quantile_ns(q), exact * (1 + kWidest)) << q;
    }
    EXPECT_EQ(s.quantile_ns(1), all.back());
    EXPECT_EQ(static_cast<double>(s.worst_ns), all.back());
  }
}

TEST(Histogram, EmptyAndNegativeAreZero) {
  Histogram histogram;
  EXPECT_EQ(histogram.snapshot().quantile_ns(0.5), 0);
  histogram.record(-5);
  EXPECT_EQ(histogram.snapshot().count, 1u);
  EXPECT_EQ(histogram.snapshot().quantile_ns(0.5), 0);
}

TEST(Histogram, SinceLeavesTheRest) {
  Histogram histogram;
  for (int i = 0; i < 100; ++i) histogram.record(1'000'000);
  const Histogram::Snapshot before = histogram.snapshot();
  for (int i = 0; i < 10; ++i) histogram.record(100);
  const Histogram::Snapshot s = histogram.snapshot().since(before);
  EXPECT_EQ(s.count, 10u);
  EXPECT_EQ(s.sum_ns, 1000u);
  EXPECT_LE(s.quantile_ns(1), 113);
}

TEST(Metric, CountsFromManyThreads) {
  Histogram histogram;
  Counter counter;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10'000; ++i) {
        histogram.record(1000 * t + i);
        counter.add(2);
      }
    });
  }
  for (auto& t : threads) t.join();
  const Histogram::Snapshot s = histogram.snapshot();
  EXPECT_EQ(s.count, 40'000u);
  EXPECT_EQ(s.worst_ns, 12'999u);
  EXPECT_EQ(s.sum_ns, 4u * 49'995'000u + 10'000u * 6000u);
  EXPECT_EQ(counter.value(), 80'000u);
}

}  // namespace
}  // namespace iqd
