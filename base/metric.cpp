// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/metric.hpp"

#include <algorithm>
#include <cmath>

namespace iqd {

Histogram::Snapshot Histogram::snapshot() const noexcept {
  Snapshot s;
  for (std::size_t b = 0; b < s.buckets.size(); ++b) {
    s.buckets[b] = buckets_[b].load(std::memory_order_relaxed);
    s.count += s.buckets[b];
  }
  s.sum_ns = sum_.load(std::memory_order_relaxed);
  s.worst_ns = worst_.load(std::memory_order_relaxed);
  return s;
}

double Histogram::Snapshot::quantile_ns(double q) const noexcept {
  if (count == 0) return 0;
  const auto wanted = static_cast<std::uint64_t>(std::max(1.0, std::ceil(q * static_cast<double>(count))));
  std::uint64_t below = 0;
  for (int b = 0; b < kBuckets; ++b) {
    below += buckets[static_cast<std::size_t>(b)];
    if (below >= wanted) return std::min(upper_edge_ns(b), static_cast<double>(worst_ns));
  }
  return static_cast<double>(worst_ns);
}

Histogram::Snapshot Histogram::Snapshot::since(const Snapshot& earlier) const noexcept {
  Snapshot s = *this;
  for (std::size_t b = 0; b < s.buckets.size(); ++b) s.buckets[b] -= earlier.buckets[b];
  s.count -= earlier.count;
  s.sum_ns -= earlier.sum_ns;
  return s;
}

}  // namespace iqd
