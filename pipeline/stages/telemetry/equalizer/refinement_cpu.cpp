// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/refinement_cpu.hpp"

#include "pipeline/stages/arithmetic.hpp"

// Plain loops, compiled once for each CPU instruction set: the compiler vectorizes them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/telemetry/equalizer/refinement_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::equalizer::HWY_NAMESPACE {

using elementwise::Complex;

/// Each of n factors is for `each` samples.
void turn_samples(cf32* x, const cf32* factors, std::int64_t n, std::int64_t each) {
  auto* at = reinterpret_cast<Complex*>(x);
  for (std::int64_t k = 0; k < n; ++k, at += each) {
    const float re = factors[k].real();
    const float im = factors[k].imag();
    for (std::int64_t i = 0; i < each; ++i) at[i] = {at[i].re * re - at[i].im * im, at[i].re * im + at[i].im * re};
  }
}

}  // namespace iqd::equalizer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::equalizer {

HWY_EXPORT(turn_samples);

Refinement::Refinement(const Setup& setup, Scratch& scratch)
    : s_(setup), draft_(scratch.take<cf32>(setup.format.bits())), decisions_(setup, scratch), fit_(setup, scratch) {}

void Refinement::run(cf32* window, cf32* channel) noexcept {
  const std::int64_t bits = s_.format.bits();
  decisions_.begin(draft_);
  decisions_.follow(draft_, 0, bits);
  if (!decisions_.good()) return;
  turn(window);
  const std::int64_t begin = kEndBits * s_.format.samples_per_bit;
  const std::int64_t end = s_.format.samples() - begin;
  fit_.modulate(decisions_.bits(), 0, bits);
  fit_.take(window + PacketFormat::kGuard, begin, end);
  fit_.fit(begin, end, 0, channel);
}

/// Around the packet the phase is held.
void Refinement::turn(cf32* window) const noexcept {
  const std::int64_t pairs = s_.format.bits() / 2;
  cf32* const packet = window + PacketFormat::kGuard;
  const auto run = [&](cf32* x, const cf32* factors, std::int64_t n, std::int64_t each) {
    HWY_DYNAMIC_DISPATCH(turn_samples)(x, factors, n, each);
  };
  run(window, decisions_.phasors(), 1, PacketFormat::kGuard);
  run(packet, decisions_.phasors(), pairs, 2 * s_.format.samples_per_bit);
  run(packet + s_.format.samples(), decisions_.phasors() + pairs - 1, 1, PacketFormat::kGuard);
}

}  // namespace iqd::equalizer
#endif
