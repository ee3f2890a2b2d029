// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/metric.hpp"

namespace iqd::live {

inline constexpr std::size_t kCountBins = 64;
using Counts = std::array<std::uint32_t, kCountBins>;

/// How many values are in each of 64 bins from -extent to extent; those outside are in the outermost bins, NaN is in none.
Counts count_values(std::span<const float> values, double extent) noexcept;

/// How the bins of a histogram of latencies lie: four an octave, over 16 octaves.
class LatencyBins {
 public:
  static constexpr int kPerOctave = 4;

  /// Up to eight times the deadline.
  explicit LatencyBins(double deadline_s) noexcept;
  /// log2 of the lower edge in seconds.
  double first() const noexcept { return first_octave_ns_ - 29.897352853986263; }
  static double octaves() noexcept { return static_cast<double>(kCountBins) / kPerOctave; }
  Counts count(const Histogram::Snapshot& latencies) const noexcept;

 private:
  int first_octave_ns_;
};

/// As the payload of a message.
std::string bytes_of(const Counts& counts);

}  // namespace iqd::live
