// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "pipeline/stages/sync/hops.hpp"
#include "pipeline/stages/sync/power.hpp"
#include "pipeline/stages/sync/symbol_sync/symbol_sync.hpp"
#include "signal/filters/scratch.hpp"
#include "signal/filters/windows.hpp"

namespace iqd::symbol_sync {
namespace {

constexpr std::int64_t kLanes = 8;  // parallel sums, so that the compiler vectorises them

/// A Kaiser-windowed sinc. The taps of each step add up to 1, so a constant keeps its value; if the instant is exactly
/// at a sample, the result is that sample.
std::vector<float> make_taps() {
  constexpr double kBeta = 6, kReach = Timing::kTaps / 2.0;
  std::vector<float> taps;
  for (int step = 0; step <= Timing::kSteps; ++step) {
    double values[Timing::kTaps], sum = 0;
    for (int tap = 0; tap < Timing::kTaps; ++tap) {
      const double t = tap - Timing::kBefore - static_cast<double>(step) / Timing::kSteps, edge = t / kReach;
      const double sinc = t == 0 ? 1 : std::sin(std::numbers::pi * t) / (std::numbers::pi * t);
      values[tap] = step % Timing::kSteps == 0 ? std::round(sinc)
                                               : sinc * bessel_i0(kBeta * std::sqrt(std::max(0.0, 1 - edge * edge)));
      sum += values[tap];
    }
    for (const double v : values) taps.push_back(static_cast<float>(v / sum));
  }
  return taps;
}

struct Room {
  std::int64_t windows;
  Scratch scratch;
  Sums* sums = scratch.take<Sums>(windows + 1);           // from the hop before the first one on
  Estimate* estimates = scratch.take<Estimate>(windows);  // from the first hop on
};

/// The signal between two samples.
cf32 value_at(const Input& in, const std::vector<float>& taps, std::int64_t hop_first, double offset) noexcept {
  const double whole = std::floor(offset), step = (offset - whole) * Timing::kSteps;
  const auto row = static_cast<std::int64_t>(step);
  const auto part = static_cast<float>(step - static_cast<double>(row));
  const float* const now = taps.data() + row * Timing::kTaps;
  const float* const next = now + Timing::kTaps;
  const std::int64_t n = hop_first + static_cast<std::int64_t>(whole) - Timing::kBefore;
  float re = 0, im = 0;
  for (int tap = 0; tap < Timing::kTaps; ++tap) {
    if (n + tap < in.first || n + tap >= in.end) continue;
    const cf32 x = in.x[n + tap - in.first];
    const float weight = now[tap] + part * (next[tap] - now[tap]);
    if (weight == 0) continue;
    re += weight * x.real();
    im += weight * x.imag();
  }
  return {re, im};
}

}  // namespace

Synchronizer::Synchronizer(const Config& config)
    : timing_(config.samples_per_symbol, config.window), taps_(make_taps()) {
  for (std::int64_t i = 0; i < timing_.hop; ++i) {
    const double turns = static_cast<double>(i) / config.samples_per_symbol;
    const double angle = -2 * std::numbers::pi * (turns - std::floor(turns));
    line_.push_back({std::cos(angle), std::sin(angle)});
  }
}

std::size_t Synchronizer::scratch_bytes(std::int64_t most_new) const noexcept {
  return Room{timing_.most_windows(most_new), Scratch(nullptr)}.scratch.bytes();
}

Sums Synchronizer::measure(const Input& in, std::int64_t hop) const noexcept {
  const std::int64_t place = hop * timing_.hop;
  const std::int64_t begin = std::max(place, in.first), end = std::min(place + timing_.hop, in.end);
  double re[kLanes] = {}, im[kLanes] = {}, energy[kLanes] = {};
  const auto add = [&](std::int64_t n, std::int64_t lane) {
    const cf32 x = in.x[n - in.first];
    const double p = dsp::power_of(x.real(), x.imag());
    const Complex64 line = line_[static_cast<std::size_t>(n - place)];
    re[lane] += p * line.re;
    im[lane] += p * line.im;
    energy[lane] += p;
  };
  std::int64_t n = begin;
  for (; n + kLanes <= end; n += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) add(n + lane, lane);
  for (; n < end; ++n) add(n, 0);
  Sums sums;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    sums.line.re += re[lane];
    sums.line.im += im[lane];
    sums.energy += energy[lane];
  }
  return sums;
}

Count Synchronizer::run(const Input& in, const Output& out, std::byte* scratch) const noexcept {
  const dsp::Hops hops(timing_.hop, in.first, in.end, in.first_new, in.end_new);
  const Room room{timing_.most_windows(in.end_new - in.first_new), Scratch(scratch)};
  if (hops.last == hops.begin) return {};
  for (std::int64_t g = hops.begin - 1; g <= hops.last; ++g) room.sums[g - hops.begin + 1] = measure(in, g);
  for (std::int64_t g = hops.begin; g <= hops.last; ++g) {
    const std::int64_t source = hops.source(g);
    const Sums* const sums = room.sums + (source - hops.begin);
    room.estimates[g - hops.begin] = timing_.later(timing_.estimate(sums[0], sums[1]), static_cast<int>(g - source));
  }
  Count count;
  for (std::int64_t g = hops.begin; g < hops.last; ++g) {
    const Estimate* const e = room.estimates + (g - hops.begin);
    const Clock clock = timing_.between(e[0], e[1]);
    const std::int64_t place = g * timing_.hop;
    if (place >= in.first_new && out.estimates)
      timing_.write(clock, e->strength, out.estimates + count.windows * std::ssize(kValues));
    count.windows += place >= in.first_new ? 1 : 0;
    const std::int64_t end = clock.symbols_before(in.end_new - place);
    for (std::int64_t i = clock.symbols_before(in.first_new - place); i < end; ++i)
      out.symbols[count.symbols++] = value_at(in, taps_, place, clock.offset(i));
  }
  return count;
}

}  // namespace iqd::symbol_sync
