// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "pipeline/stages/telemetry/soqpsk_modulator/soqpsk_modulator.hpp"
#include "signal/formats/pn_sequence.hpp"

namespace iqd::soqpsk_modulator {
namespace {

using soqpsk::Modulator;

/// Samples begin … end, counted from the first of bit 0. bit(k) returns bit k.
template <class Bit>
void modulate(const Modulator& modulator, Bit bit, std::int64_t begin, std::int64_t end, cf32* y) noexcept {
  if (begin == end) return;
  const std::int64_t s = modulator.samples_per_bit();
  std::uint32_t bits = 0;
  std::int64_t k = begin / s;
  for (int i = -Modulator::kPast; i < Modulator::kFuture; ++i) bits = bits << 1 | bit(k + i);
  for (std::int64_t m = begin; m < end; ++k) {
    bits = bits << 1 | bit(k + Modulator::kFuture);
    const cf32* const samples = modulator.samples(k, bits);
    for (const std::int64_t last = std::min(end, (k + 1) * s); m < last; ++m) *y++ = samples[m - k * s];
  }
}

}  // namespace

Packets::Packets(const Config& config)
    : pilot_(config.format.pilot()),
      samples_(config.format.samples()),
      distance_(samples_ + config.gap),
      payload_bits_(config.format.payload_bits),
      differential_(config.differential) {
  const PnSequence pn(order_of(config.payload));
  period_ = static_cast<std::uint32_t>(pn.period());
  parities_.resize(period_ / 32 + 1);
  std::uint32_t parity = 0;
  std::uint32_t state = pn.state_at(0);
  for (std::uint32_t n = 0; n < period_; ++n, state = pn.next(state)) {
    parities_[n / 32] |= parity << (n % 32);
    parity ^= pn.bit(state);
  }
}

void modulate_bits(const Modulator& modulator, View<const std::uint8_t, 2> bits, std::int64_t first, View<cf32, 2> y,
                   std::int64_t y_first) noexcept {
  const std::int64_t end = first + bits.extent(1);
  for (std::int64_t r = 0; r < y.extent(0); ++r) {
    const auto bit = [&](std::int64_t k) { return bits(r, within(k, first, end) - first) & 1u; };
    modulate(modulator, bit, y_first, y_first + y.extent(1), &y(r, 0));
  }
}

void make_packets(const Modulator& modulator, const Packets& packets, View<cf32, 2> y, std::int64_t y_first) noexcept {
  const PacketBitsView bits = packets.bits();
  for (std::int64_t i = 0; i < y.extent(1);) {
    const std::int64_t packet = (y_first + i) / packets.distance();
    const std::int64_t begin = (y_first + i) % packets.distance();
    const std::int64_t end = std::min(packets.distance(), begin + y.extent(1) - i);
    const std::int64_t silent = std::clamp(packets.samples(), begin, end);
    const std::uint32_t base = bits.base_of(packet);
    const auto bit = [&](std::int64_t k) { return bits.bit(base, static_cast<std::int32_t>(k)); };
    if (begin < silent) modulate(modulator, bit, begin, silent, &y(0, i));
    std::fill_n(&y(0, 0) + i + silent - begin, end - silent, cf32(0));
    i += end - begin;
  }
  for (std::int64_t r = 1; r < y.extent(0); ++r) std::copy_n(&y(0, 0), y.extent(1), &y(r, 0));
}

}  // namespace iqd::soqpsk_modulator
