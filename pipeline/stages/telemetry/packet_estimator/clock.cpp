// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/packet_estimator/clock.hpp"

#include <algorithm>

#include "pipeline/stages/telemetry/packet_estimator/packet_estimator.hpp"
#include "signal/filters/fractional_delay.hpp"

namespace iqd::packet_estimator {
namespace {

using std::numbers::pi;

constexpr double kWarpBeta = 6;

std::int64_t whole_segments(const PacketFormat& format, std::int64_t first, std::int64_t segment) {
  const std::int64_t whole = std::min<std::int64_t>(kMostSegments, (format.samples() - first) / segment);
  return whole < kFewestSegments ? 0 : whole;
}

}  // namespace

ClockDesign make_clock(const PacketFormat& format, Clock over) {
  ClockDesign design;
  if (over == Clock::off) return design;
  const std::int64_t s = format.samples_per_bit;
  const auto samples = static_cast<double>(s);
  design.over = over;
  design.first = 96 * s;
  design.segment = kSegmentBits * s;
  design.segments = whole_segments(format, design.first, design.segment);
  design.line = 2 * s;
  design.middle = (kTapsBehind + static_cast<double>(format.pilot_bits() * s - 1 - kTapsBefore)) / 2;
  for (std::int64_t m = 0; m <= 5 * s; ++m) {
    // Between the lines' places, the cosine is 0: exactly, so that these taps can be left out.
    const double wave = m % (2 * s) == s ? 0 : std::cos(pi * static_cast<double>(m) / (2 * samples));
    const double at = pi * static_cast<double>(m) / (5 * samples);
    design.band_pass.push_back(static_cast<float>(0.4 / samples * std::sqrt(pi) * wave * std::exp(-at * at)));
  }
  for (std::int64_t n = 0; n < design.line; ++n) {
    const double angle = pi * static_cast<double>(n) / samples;
    design.turns.push_back({std::cos(angle), std::sin(angle)});
  }
  for (int k = -kCoarse; k <= kCoarse; ++k) {
    const double angle = pi * half_turns(k * kFinePerCoarse);
    design.coarse_re.push_back(std::cos(angle));
    design.coarse_im.push_back(std::sin(angle));
  }
  design.coarse_re.resize(kCoarsePoints + kWidest);
  design.coarse_im.resize(kCoarsePoints + kWidest);
  for (std::int64_t phase = 0; phase <= kPhases; ++phase) {
    auto taps = fractional_delay(static_cast<double>(phase) / kPhases, kWarpTaps, kWarpBeta);
    std::ranges::reverse(taps);
    design.warp.insert(design.warp.end(), taps.begin(), taps.end());
  }
  return design;
}

}  // namespace iqd::packet_estimator
