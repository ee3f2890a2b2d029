// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/fields.hpp"
#include "pipeline/stages/code_keys.hpp"
#include "signal/formats/packet_format.hpp"
#include "signal/formats/packet_payload.hpp"

/// Makes telemetry packets from a stream of bits: preamble, sync word and payload, one packet after the other.
///
/// bits  u8 [n]  each counts by its lowest bit: a packet for every payload, with a code for every W k
/// out   u8 [n]  0 or 1; packet i begins at i times the bits of a packet
///
/// An output depends only on its position and on its packet's bits. Keeps nothing between calls: a block that begins or
/// ends within a packet computes the whole packet.
namespace iqd::packet_builder {

struct Config {
  PacketFormat format;
  WordChoice code{};
  FrameChoice frame{};

  void fields(FieldVisitor& visitor);
};

class Packets {
 public:
  /// The format has no faults. `payload`: null without a code.
  Packets(const PacketFormat& format, std::shared_ptr<const PacketPayload> payload);

  std::int64_t bits() const noexcept { return std::ssize(pilot_) + payload_bits_; }
  /// Input bits of a packet.
  std::int64_t information() const noexcept { return coded_ ? coded_->information() : payload_bits_; }
  std::size_t scratch_bytes() const noexcept;

  /// Bits out_first … of the packets. `first` is the number of the first input bit; all bits of the packets in question
  /// are present.
  void build(std::span<const std::uint8_t> bits, std::int64_t first, std::span<std::uint8_t> out,
             std::int64_t out_first, std::byte* scratch) const noexcept;

 private:
  struct Pieces;
  void make(std::span<const std::uint8_t> information, const Pieces& pieces) const noexcept;

  std::vector<std::uint8_t> pilot_;
  std::int64_t payload_bits_;
  std::shared_ptr<const PacketPayload> coded_;
};

}  // namespace iqd::packet_builder
