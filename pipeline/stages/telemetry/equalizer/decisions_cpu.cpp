// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/decisions_cpu.hpp"

#include <algorithm>

#include "pipeline/stages/arithmetic.hpp"

// Plain loops, compiled once for each CPU instruction set: the compiler vectorizes them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/telemetry/equalizer/decisions_cpu.cpp"
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

namespace {

using soqpsk::Modulator;
using telemetry::Symbol;

Symbol symbol_of(cf32 y) {
  return {y.real(), y.imag()};
}

}  // namespace

Decisions::Decisions(const Setup& setup, Scratch& scratch)
    : s_(setup),
      pilot_{setup.pilot.data(), static_cast<int>(setup.pilot.size())},
      padded_bits_(scratch.take<std::uint8_t>(setup.format.bits() + Modulator::kBits)),
      phasors_(scratch.take<cf32>(setup.format.bits() / 2)) {}

void Decisions::begin(const cf32* symbols) noexcept {
  loops_[0] = telemetry::measured_loop(pilot_, [symbols](int k) { return symbol_of(symbols[k]); });
  const std::int64_t pilot = pilot_.bits;
  std::uint8_t* const bits = padded_bits_ + Modulator::kPast;
  for (std::int64_t k = 0; k < pilot; ++k) bits[k] = pilot_.a[k] > 0;
  for (std::int64_t k = -Modulator::kPast; k < 0; ++k) bits[k] = bits[k + s_.format.period_bits()];
  std::fill_n(bits + s_.format.bits(), Modulator::kFuture, std::uint8_t{0});
}

void Decisions::follow(const cf32* symbols, std::int64_t k, std::int64_t n) noexcept {
  std::uint8_t* const bits = padded_bits_ + Modulator::kPast;
  for (const std::int64_t end = k + n; k < end; k += telemetry::kTile) {
    const auto load = [&](int, int i) {
      const Symbol phasor = loops_[0].phasor();
      if (i % 2 == 0) phasors_[(k + i) / 2] = {phasor.re, phasor.im};
      return symbol_of(symbols[k + i]);
    };
    const auto store = [&](int, int i, float soft) {
      if (k + i >= pilot_.bits) bits[k + i] = soft >= 0;
    };
    const auto tile = static_cast<int>(std::min<std::int64_t>(telemetry::kTile, end - k));
    track_tile(loops_, pilot_, s_.gains, static_cast<int>(k), tile, load, store);
  }
}

bool Decisions::good() const noexcept {
  const Symbol phasor = loops_[0].phasor();
  return loops_[0].good() && (phasor.re != 0 || phasor.im != 0);
}

void Decisions::turn(cf32* window, std::int64_t k, std::int64_t n) const noexcept {
  const std::int64_t s = s_.format.samples_per_bit;
  HWY_DYNAMIC_DISPATCH(turn_samples)(window + PacketFormat::kGuard + k * s, phasors_ + k / 2, n / 2, 2 * s);
}

void Decisions::turn_guards(cf32* window) const noexcept {
  const cf32* const last = phasors_ + s_.format.bits() / 2 - 1;
  HWY_DYNAMIC_DISPATCH(turn_samples)(window, phasors_, 1, PacketFormat::kGuard);
  HWY_DYNAMIC_DISPATCH(turn_samples)
  (window + PacketFormat::kGuard + s_.format.samples(), last, 1, PacketFormat::kGuard);
}

}  // namespace iqd::equalizer
#endif
