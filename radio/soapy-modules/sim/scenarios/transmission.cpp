// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/transmission.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/integer.hpp"
#include "base/random.hpp"
#include "radio/soapy-modules/sim/scenarios/scenario.hpp"

namespace iqd::sim {

using soqpsk::Modulator;

Transmission::Transmission(const Options& options)
    : options_(options),
      format_{.payload_bits = options.payload_bits},
      sequence_(options.order),
      modulator_(format_.samples_per_bit),
      pilot_(format_.pilot()),
      loaded_(std::numeric_limits<std::int64_t>::min()) {
  if (options.coded) for_code_.resize(options.coded->scratch_bytes());
}

void Transmission::write(std::int64_t first, std::span<cf32> out) {
  const std::int64_t length = format_.samples();
  const std::int64_t stride = length + options_.gap;
  while (!out.empty()) {
    const std::int64_t packet = floor_div(first, stride);
    const std::int64_t offset = first - packet * stride;
    const bool silent = offset >= length;
    const auto left = static_cast<std::size_t>((silent ? stride : length) - offset);
    const std::span<cf32> part = out.first(std::min(out.size(), left));
    if (silent) {
      std::fill(part.begin(), part.end(), cf32{});
    } else {
      if (packet != loaded_) load(packet);
      write_packet(offset, part);
    }
    first += std::ssize(part);
    out = out.subspan(part.size());
  }
}

void Transmission::load(std::int64_t packet) {
  const std::int64_t payload = format_.payload_bits;
  bits_.clear();
  if (options_.gap == 0) {
    append_payload(packet - 1, payload - Modulator::kPast, Modulator::kPast);
  } else {  // the phase does not turn before the first two bits and after the last two
    for (std::int64_t k = -Modulator::kPast; k < 0; ++k) bits_.push_back(pilot_[static_cast<std::size_t>(k & 1)]);
  }
  bits_.insert(bits_.end(), pilot_.begin(), pilot_.end());
  append_payload(packet, 0, payload);
  for (int i = 0; i < Modulator::kFuture; ++i)
    bits_.push_back(options_.gap == 0 ? pilot_[static_cast<std::size_t>(i)] : bits_[bits_.size() - 2]);
  gain_ = gain_of(packet);
  loaded_ = packet;
}

void Transmission::append_payload(std::int64_t packet, std::int64_t first, std::int64_t count) {
  if (options_.coded) {
    const auto from = coded_payload(packet).begin() + first;
    bits_.insert(bits_.end(), from, from + count);
    return;
  }
  const std::int64_t from = packet * format_.payload_bits + first;
  if (const std::int64_t bits = 8 * std::ssize(options_.bytes); bits > 0) {
    for (std::int64_t i = from; i < from + count; ++i) {
      const std::int64_t k = i - floor_div(i, bits) * bits;
      bits_.push_back(static_cast<std::uint8_t>(options_.bytes[static_cast<std::size_t>(k / 8)] >> (7 - k % 8) & 1));
    }
    return;
  }
  std::uint32_t state = sequence_.state_at(from);
  for (std::int64_t i = 0; i < count; ++i) {
    bits_.push_back(static_cast<std::uint8_t>(sequence_.bit(state)));
    state = sequence_.next(state);
  }
}

const std::vector<std::uint8_t>& Transmission::coded_payload(std::int64_t packet) {
  CodedPayload& payload = coded_[static_cast<std::size_t>(packet & 1)];
  if (payload.packet != packet) {
    payload.bits.resize(static_cast<std::size_t>(options_.coded->bits()));
    options_.coded->make(packet, payload.bits, for_code_);
    payload.packet = packet;
  }
  return payload.bits;
}

void Transmission::write_packet(std::int64_t offset, std::span<cf32> out) const {
  const std::int64_t per_bit = format_.samples_per_bit;
  std::int64_t k = offset / per_bit;
  std::int64_t at = offset % per_bit;
  const std::uint8_t* next = bits_.data() + k;
  std::uint32_t window = 0;
  for (int i = 0; i < Modulator::kBits - 1; ++i) window = window << 1 | *next++;
  for (std::size_t done = 0; done < out.size(); ++k, at = 0) {
    window = window << 1 | *next++;
    const cf32* x = modulator_.samples(k, window);
    for (; at < per_bit && done < out.size(); ++at) out[done++] = gain_ * x[at];
  }
}

float Transmission::gain_of(std::int64_t packet) const {
  if (options_.fading_db == 0) return 1;
  const std::uint64_t key = mix(mix(options_.seed) + 2 * static_cast<std::uint64_t>(packet));
  const double radius = std::sqrt(-2 * std::log(uniform(key)));
  const double normal = radius * std::cos(2 * std::numbers::pi * uniform(mix(key + 1)));
  return static_cast<float>(amplitude_of(options_.fading_db * normal));
}

}  // namespace iqd::sim
