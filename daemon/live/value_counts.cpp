// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/value_counts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace iqd::live {
namespace {

/// Adds `records` that lie evenly between two places to the bins there.
void spread(double records, double from, double to, std::span<double> bins) noexcept {
  const auto first = static_cast<std::size_t>(from), last = static_cast<std::size_t>(to);
  if (first == last) {
    bins[first] += records;
    return;
  }
  for (std::size_t k = first; k <= last; ++k) {
    const double width = std::min(to, static_cast<double>(k) + 1) - std::max(from, static_cast<double>(k));
    bins[k] += records * width / (to - from);
  }
}

}  // namespace

Counts count_values(std::span<const float> values, double extent) noexcept {
  constexpr auto kBins = static_cast<double>(kCountBins);
  Counts counts{};
  for (const float value : values) {
    if (std::isnan(value)) continue;
    const double at = std::floor((static_cast<double>(value) / extent + 1) * kBins / 2);
    ++counts[static_cast<std::size_t>(std::clamp(at, 0.0, kBins - 1))];
  }
  return counts;
}

LatencyBins::LatencyBins(double deadline_s) noexcept
    : first_octave_ns_(static_cast<int>(std::ceil(std::log2(std::clamp(deadline_s, 1e-6, 1e3) * 1e9))) + 3 -
                       static_cast<int>(octaves())) {}

/// The histogram's buckets are of equal width within an octave, and these bins are not, so a bucket's records are spread
/// over the bins that it touches. Their sum stays.
Counts LatencyBins::count(const Histogram::Snapshot& latencies) const noexcept {
  std::array<double, kCountBins> shares{};
  const auto place = [this](double ns) {
    return std::clamp((std::log2(std::max(ns, 1.0)) - first_octave_ns_) * kPerOctave, 0.0,
                      static_cast<double>(kCountBins) - 1e-6);
  };
  for (std::size_t b = 0; b < latencies.buckets.size(); ++b) {
    if (latencies.buckets[b] == 0) continue;
    const double from = b == 0 ? 0 : place(Histogram::upper_edge_ns(static_cast<int>(b) - 1));
    spread(static_cast<double>(latencies.buckets[b]), from, place(Histogram::upper_edge_ns(static_cast<int>(b))),
           shares);
  }
  Counts counts{};
  double sum = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const double before = std::round(sum);
    sum += shares[k];
    counts[k] = static_cast<std::uint32_t>(std::round(sum) - before);
  }
  return counts;
}

std::string bytes_of(const Counts& counts) {
  std::string bytes(sizeof counts, '\0');
  std::memcpy(bytes.data(), counts.data(), sizeof counts);
  return bytes;
}

}  // namespace iqd::live
