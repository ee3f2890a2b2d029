// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/meters/clock_drift.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace iqd {
namespace {

struct Seen {
  double radio_s;
  double delay_s;
};

double median(std::vector<double>& values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double median_slope(const std::vector<Seen>& seen) {
  std::vector<double> slopes;
  slopes.reserve(seen.size() * (seen.size() - 1) / 2);
  for (std::size_t a = 0; a < seen.size(); ++a)
    for (std::size_t b = a + 1; b < seen.size(); ++b)
      slopes.push_back((seen[b].delay_s - seen[a].delay_s) / (seen[b].radio_s - seen[a].radio_s));
  return median(slopes);
}

/// The standard deviation of a slope, from the median distance of the points to the line.
double deviation_of_slope(const std::vector<Seen>& seen, double slope) {
  constexpr double kOfMedian = 1.4826;  // normal: standard deviation over median deviation
  std::vector<double> off;
  for (const Seen& s : seen) off.push_back(s.delay_s - slope * s.radio_s);
  const double level = median(off);
  for (double& o : off) o = std::fabs(o - level);
  double mean = 0, spread = 0;
  for (const Seen& s : seen) mean += s.radio_s / static_cast<double>(seen.size());
  for (const Seen& s : seen) spread += (s.radio_s - mean) * (s.radio_s - mean);
  return kOfMedian * median(off) / std::sqrt(spread);
}

}  // namespace

bool ClockDrift::saw(std::int64_t radio_ns, std::int64_t host_ns) noexcept {
  const std::int64_t delay_ns = host_ns - radio_ns;
  if (!began_ || delay_ns < best_delay_ns_) {
    best_radio_ns_ = radio_ns;
    best_delay_ns_ = delay_ns;
  }
  if (!std::exchange(began_, true)) began_ns_ = host_ns;
  if (host_ns - began_ns_ < kEveryNs) return false;
  began_ = false;
  delay_ns_ = best_delay_ns_;
  const std::uint64_t end = end_.load(std::memory_order_relaxed);
  Point& point = points_[end % kMost];
  point.radio_ns.store(best_radio_ns_, std::memory_order_relaxed);
  point.delay_ns.store(best_delay_ns_, std::memory_order_relaxed);
  end_.store(end + 1, std::memory_order_release);
  return true;
}

void ClockDrift::begin_anew() noexcept {
  began_ = false;
  begin_.store(end_.load(std::memory_order_relaxed), std::memory_order_release);
}

std::optional<ClockDrift::Estimate> ClockDrift::estimate() const {
  const std::uint64_t end = end_.load(std::memory_order_acquire);
  // The oldest point of a full ring may be being overwritten.
  const std::uint64_t begin = std::max(begin_.load(std::memory_order_acquire), end < kMost ? 0 : end - kMost + 1);
  if (end < begin + kLeast) return {};
  const Point& first = points_[begin % kMost];
  std::vector<Seen> seen;
  for (std::uint64_t n = begin; n < end; ++n) {
    const Point& p = points_[n % kMost];
    const Seen s{static_cast<double>(p.radio_ns - first.radio_ns) / 1e9,
                 static_cast<double>(p.delay_ns - first.delay_ns) / 1e9};
    if (seen.empty() || s.radio_s > seen.back().radio_s) seen.push_back(s);
  }
  if (seen.size() < kLeast) return {};
  const double slope = median_slope(seen);
  // The slope is against the radio's time, the drift against the host's.
  return Estimate{-1e6 * slope / (1 + slope), 2e6 * deviation_of_slope(seen, slope), seen.back().radio_s};
}

}  // namespace iqd
