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

/// Makes the bits of telemetry packets, preamble, sync word and payload, one packet after the other, from one of two
/// inputs:
///
/// bits     u8   [n]  each counts by its lowest bit: a packet for every payload, with a code for every W k
/// samples  cf32 [n]  only their positions count: packets with a pseudo-random payload, a bit for each sample
///
/// out      u8   [n]  0 or 1; packet i begins at i times the bits of a packet
///
/// An output depends only on its position and on its packet's bits. Keeps nothing between calls: a block that begins or
/// ends within a packet computes the whole packet.
namespace iqd::packet_builder {

struct Config {
  PacketFormat format;
  WordChoice code{};
  FrameChoice frame{};
  PnName payload = PnName::pn23;

  void fields(FieldVisitor& visitor);
};

class Packets {
 public:
  /// The format has no faults. `coded`: null without a code; `order`: of the sequence.
  Packets(const PacketFormat& format, std::shared_ptr<const PacketPayload> coded, int order);

  std::int64_t bits() const noexcept { return std::ssize(pilot_) + payload_bits_; }
  /// Input bits of a packet.
  std::int64_t information() const noexcept { return coded_ ? coded_->information() : payload_bits_; }
  std::size_t scratch_bytes() const noexcept;

  /// Bits out_first … of packets with the known payload.
  void make(std::span<std::uint8_t> out, std::int64_t out_first, std::byte* scratch) const noexcept;
  /// The same for information bits. `first` is the number of the first; all bits of the packets in question are present.
  void build(std::span<const std::uint8_t> bits, std::int64_t first, std::span<std::uint8_t> out,
             std::int64_t out_first, std::byte* scratch) const noexcept;

 private:
  struct Pieces;
  template <class Payload>
  void fill(std::span<std::uint8_t> out, std::int64_t out_first, const Pieces& pieces, Payload payload) const noexcept;

  std::vector<std::uint8_t> pilot_;
  std::int64_t payload_bits_;
  std::shared_ptr<const PacketPayload> coded_;
  PnSequence sequence_;
};

}  // namespace iqd::packet_builder
