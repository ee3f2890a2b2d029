// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "pipeline/stages/sync/costas_loop/costas_loop.hpp"

namespace iqd::costas_loop {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

}  // namespace

Loop::Loop(const Config& config)
    : gains_(dsp::LoopGains::of(config.loop_bandwidth, config.damping)),
      most_(config.max_offset),
      order_(static_cast<double>(config.order)),
      first_(config.order == 4 ? 0.125 : 0) {}

cf32 Loop::step(State& state, cf32 x) const noexcept {
  const std::complex<double> turned = std::complex<double>(x) * std::polar(1.0, -kTurn * state.phase);
  double error = 0;  // cycles
  if (std::isfinite(turned.real()) && std::isfinite(turned.imag()) && turned != 0.0) {
    const double angle = std::arg(turned) / kTurn;
    const double point = std::round((angle - first_) * order_) / order_ + first_;
    error = std::sin(kTurn * (angle - point)) / kTurn;  // Im(y conj d) / |y|, as cycles
  }
  state.frequency = std::clamp(state.frequency + gains_.integral * error, -most_, most_);
  state.phase += state.frequency + gains_.proportional * error;
  state.phase -= std::round(state.phase);
  return cf32(turned);
}

}  // namespace iqd::costas_loop
