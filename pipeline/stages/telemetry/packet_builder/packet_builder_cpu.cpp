// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "pipeline/stages/telemetry/packet_builder/packet_builder.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::packet_builder {

/// The parts of the scratch memory.
struct Packets::Pieces {
  const Packets& packets;
  Scratch scratch;
  std::span<std::uint8_t> packet = scratch.take_span<std::uint8_t>(packets.bits());
  std::span<std::uint8_t> for_code =
      scratch.take_span<std::uint8_t>(packets.coded_ ? static_cast<std::int64_t>(packets.coded_->scratch_bytes()) : 0);
};

Packets::Packets(const PacketFormat& format, std::shared_ptr<const PacketPayload> payload)
    : pilot_(format.pilot()), payload_bits_(format.payload_bits), coded_(std::move(payload)) {}

std::size_t Packets::scratch_bytes() const noexcept {
  return Pieces{*this, Scratch(nullptr)}.scratch.bytes();
}

void Packets::make(std::span<const std::uint8_t> information, const Pieces& pieces) const noexcept {
  const auto payload = pieces.packet.subspan(pilot_.size());
  std::copy(pilot_.begin(), pilot_.end(), pieces.packet.begin());
  if (coded_) return coded_->encode(information, payload, pieces.for_code);
  std::transform(information.begin(), information.end(), payload.begin(),
                 [](std::uint8_t bit) { return static_cast<std::uint8_t>(bit & 1); });
}

void Packets::build(std::span<const std::uint8_t> bits, std::int64_t first, std::span<std::uint8_t> out,
                    std::int64_t out_first, std::byte* scratch) const noexcept {
  const Pieces pieces{*this, Scratch(scratch)};
  const std::int64_t size = this->bits(), each = information();
  for (auto to = out.begin(); to != out.end();) {
    const std::int64_t packet = out_first / size, begin = out_first % size;
    const std::int64_t count = std::min(size - begin, out.end() - to);
    make(bits.subspan(static_cast<std::size_t>(packet * each - first), static_cast<std::size_t>(each)), pieces);
    to = std::copy_n(pieces.packet.begin() + begin, count, to);
    out_first += count;
  }
}

}  // namespace iqd::packet_builder
