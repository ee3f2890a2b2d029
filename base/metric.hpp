// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>

namespace iqd {

/// A number that only grows; any thread may add to it.
class Counter {
 public:
  void add(std::uint64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_release); }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// The latest value of a number; NaN if there is none.
class Gauge {
 public:
  void set(double value) noexcept { value_.store(value, std::memory_order_release); }
  double value() const noexcept { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<double> value_{std::numeric_limits<double>::quiet_NaN()};
};

/// Durations in nanoseconds: eight buckets an octave, so a percentile is right to 12.5 %. Recording is one atomic add.
class Histogram {
 public:
  static constexpr int kPerOctave = 8;
  static constexpr int kBuckets = 60 * kPerOctave;

  void record(std::int64_t ns) noexcept {
    const auto v = static_cast<std::uint64_t>(ns < 0 ? 0 : ns);
    buckets_[static_cast<std::size_t>(bucket_of(v))].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(v, std::memory_order_relaxed);
    std::uint64_t worst = worst_.load(std::memory_order_relaxed);
    while (v > worst && !worst_.compare_exchange_weak(worst, v, std::memory_order_relaxed)) {
    }
    count_.fetch_add(1, std::memory_order_release);
  }

  struct Snapshot {
    std::array<std::uint64_t, kBuckets> buckets{};
    std::uint64_t count = 0;
    std::uint64_t sum_ns = 0;
    std::uint64_t worst_ns = 0;

    /// The smallest duration that a fraction `q` of the records does not exceed, rounded up to its bucket's edge.
    double quantile_ns(double q) const noexcept;
    /// What was recorded since `earlier`; `worst_ns` remains that of the whole time.
    Snapshot since(const Snapshot& earlier) const noexcept;
  };
  Snapshot snapshot() const noexcept;

  /// Values up to 8 have a bucket each, then eight to each power of two.
  static constexpr int bucket_of(std::uint64_t v) noexcept {
    if (v < kPerOctave) return static_cast<int>(v);
    const int octave = static_cast<int>(std::bit_width(v)) - 4;  // v >> octave is in 8..15
    const int bucket = (octave + 1) * kPerOctave + static_cast<int>((v >> octave) - kPerOctave);
    return bucket < kBuckets ? bucket : kBuckets - 1;
  }
  /// The largest value that falls into a bucket.
  static constexpr double upper_edge_ns(int bucket) noexcept {
    if (bucket < kPerOctave) return bucket;
    const int octave = bucket / kPerOctave - 1;
    const auto mantissa = static_cast<double>(kPerOctave + bucket % kPerOctave + 1);
    double edge = mantissa;
    for (int i = 0; i < octave; ++i) edge *= 2;
    return edge - 1;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kBuckets> buckets_{};
  std::atomic<std::uint64_t> count_{0};
  std::atomic<std::uint64_t> sum_{0};
  std::atomic<std::uint64_t> worst_{0};
};

}  // namespace iqd
