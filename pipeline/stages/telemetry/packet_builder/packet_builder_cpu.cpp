// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "pipeline/stages/telemetry/packet_builder/packet_builder.hpp"
#include "signal/filters/scratch.hpp"
#include "signal/formats/ofdm_frame_bits.hpp"

namespace iqd::packet_builder {

/// The parts of the scratch memory.
struct Packets::Pieces {
  const Packets& packets;
  Scratch scratch;
  std::span<std::uint8_t> packet = scratch.take_span<std::uint8_t>(packets.bits());
  std::span<std::uint8_t> for_code =
      scratch.take_span<std::uint8_t>(packets.coded_ ? static_cast<std::int64_t>(packets.coded_->scratch_bytes()) : 0);
};

Packets::Packets(const PacketFormat& format, std::shared_ptr<const PacketPayload> coded, int order)
    : pilot_(format.pilot()), payload_bits_(format.payload_bits), coded_(std::move(coded)), sequence_(order) {}

std::size_t Packets::scratch_bytes() const noexcept {
  return Pieces{*this, Scratch(nullptr)}.scratch.bytes();
}

/// payload(i, to) writes the payload of packet i.
template <class Payload> void Packets::fill(std::span<std::uint8_t> out, std::int64_t out_first, const Pieces& pieces,
                                            Payload payload) const noexcept {
  std::copy(pilot_.begin(), pilot_.end(), pieces.packet.begin());
  for (auto to = out.begin(); to != out.end();) {
    const std::int64_t begin = out_first % bits(), count = std::min(bits() - begin, out.end() - to);
    payload(out_first / bits(), pieces.packet.subspan(pilot_.size()));
    to = std::copy_n(pieces.packet.begin() + begin, count, to);
    out_first += count;
  }
}

void Packets::make(std::span<std::uint8_t> out, std::int64_t out_first, std::byte* scratch) const noexcept {
  const Pieces pieces{*this, Scratch(scratch)};
  fill(out, out_first, pieces, [&](std::int64_t packet, std::span<std::uint8_t> payload) {
    if (coded_) return coded_->make(packet, payload, pieces.for_code);
    take_bits(sequence_, packet % sequence_.period() * payload_bits_, payload);
  });
}

void Packets::build(std::span<const std::uint8_t> bits, std::int64_t first, std::span<std::uint8_t> out,
                    std::int64_t out_first, std::byte* scratch) const noexcept {
  const Pieces pieces{*this, Scratch(scratch)};
  fill(out, out_first, pieces, [&](std::int64_t packet, std::span<std::uint8_t> payload) {
    const auto own =
        bits.subspan(static_cast<std::size_t>(packet * information() - first), static_cast<std::size_t>(information()));
    if (coded_) return coded_->encode(own, payload, pieces.for_code);
    std::transform(own.begin(), own.end(), payload.begin(),
                   [](std::uint8_t bit) { return static_cast<std::uint8_t>(bit & 1); });
  });
}

}  // namespace iqd::packet_builder
