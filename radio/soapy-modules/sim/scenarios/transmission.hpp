// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "signal/formats/packet_format.hpp"
#include "signal/formats/packet_payload.hpp"
#include "signal/formats/pn_sequence.hpp"
#include "signal/formats/soqpsk.hpp"

namespace iqd::sim {

/// An endless transmission of iNET packets. Packet p begins at sample p (packet's samples + gap); its payload is the
/// bits p 6144, … of a pseudo-random sequence or of bytes that repeat, or words of a code, and it has its own amplitude.
/// The power is 1 before fading, 0 in the gaps. There are packets before position 0, too.
class Transmission {
 public:
  struct Options {
    int order = 15;     // of the sequence
    std::string bytes;  // its bits, each byte's highest first, in place of the sequence; empty: the sequence
    std::int64_t gap = 0;
    double fading_db = 0;  // standard deviation of a packet's gain
    std::uint64_t seed = 1;
    std::int64_t payload_bits = PacketFormat{}.payload_bits;
    std::shared_ptr<const PacketPayload> coded{};  // of as many bits; null: without a code
  };
  explicit Transmission(const Options& options);
  /// Writes samples first, first + 1, ….
  void write(std::int64_t first, std::span<cf32> out);

 private:
  struct CodedPayload {
    std::int64_t packet = std::numeric_limits<std::int64_t>::min();
    std::vector<std::uint8_t> bits;
  };

  void load(std::int64_t packet);
  void append_payload(std::int64_t packet, std::int64_t first, std::int64_t count);
  void write_packet(std::int64_t offset, std::span<cf32> out) const;
  float gain_of(std::int64_t packet) const;
  const std::vector<std::uint8_t>& coded_payload(std::int64_t packet);

  Options options_;
  PacketFormat format_;
  PnSequence sequence_;
  soqpsk::Modulator modulator_;
  std::vector<std::uint8_t> pilot_;
  std::int64_t loaded_;             // the packet that the following members belong to
  std::vector<std::uint8_t> bits_;  // its own, with kPast before and kFuture after
  float gain_ = 1;
  std::array<CodedPayload, 2> coded_;  // of an even and of an odd packet, so that none is encoded twice
  std::vector<std::uint8_t> for_code_;
};

}  // namespace iqd::sim
