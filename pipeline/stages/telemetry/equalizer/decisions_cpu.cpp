// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/decisions_cpu.hpp"

#include <algorithm>

namespace iqd::equalizer {
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
      bits_(scratch.take<std::uint8_t>(setup.format.bits() + Modulator::kBits) + Modulator::kPast),
      phasors_(scratch.take<cf32>(setup.format.bits() / 2)) {}

void Decisions::begin(const cf32* symbols) noexcept {
  loops_[0] = telemetry::measured_loop(pilot_, [symbols](int k) { return symbol_of(symbols[k]); });
  const std::int64_t pilot = pilot_.bits;
  for (std::int64_t k = 0; k < pilot; ++k) bits_[k] = pilot_.a[k] > 0;
  for (std::int64_t k = -Modulator::kPast; k < 0; ++k) bits_[k] = bits_[k + s_.format.period_bits()];
  std::fill_n(bits_ + s_.format.bits(), Modulator::kFuture, std::uint8_t{0});
}

void Decisions::follow(const cf32* symbols, std::int64_t k, std::int64_t n) noexcept {
  for (const std::int64_t end = k + n; k < end; k += telemetry::kTile) {
    const auto load = [&](int, int i) {
      const Symbol phasor = loops_[0].phasor();
      if (i % 2 == 0) phasors_[(k + i) / 2] = {phasor.re, phasor.im};
      return symbol_of(symbols[k + i]);
    };
    const auto store = [&](int, int i, float soft) {
      if (k + i >= pilot_.bits) bits_[k + i] = soft >= 0;
    };
    const auto tile = static_cast<int>(std::min<std::int64_t>(telemetry::kTile, end - k));
    track_tile(loops_, pilot_, s_.gains, static_cast<int>(k), tile, load, store);
  }
}

bool Decisions::good() const noexcept {
  const Symbol phasor = loops_[0].phasor();
  return loops_[0].good() && (phasor.re != 0 || phasor.im != 0);
}

}  // namespace iqd::equalizer
