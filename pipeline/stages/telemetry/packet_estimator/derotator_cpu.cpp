// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/packet_estimator/derotator_cpu.hpp"

#include <algorithm>

#include "pipeline/stages/arithmetic.hpp"
#include "pipeline/stages/telemetry/packet_estimator/packet_estimator.hpp"

// Plain loops, compiled once for each CPU instruction set: the compiler vectorizes them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/telemetry/packet_estimator/derotator_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::packet_estimator::HWY_NAMESPACE {

using elementwise::Complex;
using elementwise::product;

/// y = x · (factor · fine); `fine_j` is j times that.
void turn_run(const cf32* x, cf32 factor, const cf32* fine, const cf32* fine_j, cf32* y, std::int64_t n) {
  const float re = factor.real();
  const float im = factor.imag();
  const float minus_im = -im;
  const auto* const from = reinterpret_cast<const Complex*>(x);
  const auto* const t = reinterpret_cast<const Complex*>(fine);
  const auto* const tj = reinterpret_cast<const Complex*>(fine_j);
  auto* const to = reinterpret_cast<Complex*>(y);
  for (std::int64_t i = 0; i < n; ++i)
    to[i] = product(from[i].re, from[i].im, product(re, im, t[i], tj[i]), product(re, minus_im, tj[i], t[i]));
}

}  // namespace iqd::packet_estimator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::packet_estimator {

HWY_EXPORT(turn_run);

Derotator::Derotator(std::int64_t window, Scratch& scratch)
    : window_(window), fine_(scratch.take<cf32>(kRun)), fine_j_(scratch.take<cf32>(kRun)) {}

void Derotator::set(double offset) noexcept {
  const Phase turn = turn_against(offset);
  if (turn == turn_ && ready_) return;
  ready_ = true;
  turn_ = turn;
  for (std::int64_t i = 0; i < kRun; ++i) {
    fine_[i] = cf32((turn * i).phasor());
    fine_j_[i] = {-fine_[i].imag(), fine_[i].real()};
  }
}

std::int64_t Derotator::run(const cf32* window, std::int64_t at, cf32* to) const noexcept {
  const std::int64_t length = std::min<std::int64_t>(kRun, window_ - at);
  const cf32 factor((turn_ * (at - PacketFormat::kGuard)).phasor());
  HWY_DYNAMIC_DISPATCH(turn_run)(window + at, factor, fine_, fine_j_, to, length);
  return length;
}

}  // namespace iqd::packet_estimator
#endif
