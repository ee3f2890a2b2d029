// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "pipeline/stages/sync/clock_recovery/clock_recovery.hpp"

namespace iqd::clock_recovery {
namespace {

/// The detectors' slopes per symbol, for QPSK with a rolloff of 0.35: simulated without noise, at 0.02 symbols to both
/// sides.
constexpr double kSlopes[] = {1.30, 1.77};
/// A step is never shorter than half a symbol, nor longer than one and a half.
constexpr double kMostStep = 0.5;

/// The cubic through the samples around whole + part; beyond the ends they are 0.
cf32 value_at(const Input& in, std::int64_t whole, double part) noexcept {
  const auto x = [&](std::int64_t n) { return n >= in.first && n < in.end ? in.x[n - in.first] : cf32(0); };
  const auto m = static_cast<float>(part);
  if (m == 0) return x(whole);
  const float a = -m * (m - 1) * (m - 2) / 6, b = (m + 1) * (m - 1) * (m - 2) / 2, c = -(m + 1) * m * (m - 2) / 2,
              d = (m + 1) * m * (m - 1) / 6;
  return a * x(whole - 1) + b * x(whole) + c * x(whole + 1) + d * x(whole + 2);
}

std::complex<double> decide(cf32 y) noexcept {
  const auto sign = [](float v) { return v < 0 ? -std::sqrt(0.5) : std::sqrt(0.5); };
  return {sign(y.real()), sign(y.imag())};
}

}  // namespace

Loop::Loop(const Config& config)
    : period_(config.samples_per_symbol),
      method_(config.method),
      gains_(dsp::LoopGains::of(config.loop_bandwidth, config.damping)),
      most_(config.max_deviation) {}

std::int64_t Loop::past() const noexcept {
  return static_cast<std::int64_t>(std::ceil(period_ / 2)) + 2;
}

std::int64_t Loop::most_symbols(std::int64_t samples) const noexcept {
  return static_cast<std::int64_t>(static_cast<double>(samples) / (kMostStep * period_)) + 2;
}

/// In symbols, positive if t is too early.
double Loop::error(cf32 y, cf32 before, cf32 middle) const noexcept {
  const std::complex<double> now(y), then(before);
  double e = 0, scale = 0;
  if (method_ == Method::gardner) {
    e = std::real((then - now) * std::conj(std::complex<double>(middle)));
    scale = (std::norm(now) + std::norm(then)) / 2;
  } else {
    e = std::real(now * std::conj(decide(before)) - then * std::conj(decide(y)));
    scale = (std::abs(now) + std::abs(then)) / 2;
  }
  e /= scale * kSlopes[static_cast<int>(method_)];
  return std::isfinite(e) ? std::clamp(e, -1.0, 1.0) : 0;
}

cf32 Loop::step(State& state, const Input& in) const noexcept {
  const cf32 y = value_at(in, state.whole, state.part);
  const double half = state.part - period_ / 2, floor = std::floor(half);
  const cf32 middle = value_at(in, state.whole + static_cast<std::int64_t>(floor), half - floor);
  const double e = error(y, state.before, middle);
  state.before = y;
  state.rate = std::clamp(state.rate + gains_.integral * e, -most_, most_);
  const double step = std::clamp(state.rate + gains_.proportional * e, -kMostStep, kMostStep);
  const double next = state.part + period_ * (1 + step), whole = std::floor(next);
  state.whole += static_cast<std::int64_t>(whole);
  state.part = next - whole;
  return y;
}

}  // namespace iqd::clock_recovery
