// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "signal/formats/packet_format.hpp"
#include "signal/formats/pn_sequence.hpp"
#include "signal/formats/soqpsk.hpp"

/// Generates SOQPSK-TG from one of two inputs:
///
/// bits     u8   [row][k]  each counts by its lowest bit; out [row][s k + j], s samples a bit
/// samples  cf32 [row][n]  only their positions count: out [row][n] holds packets, the first at sample 0
///
/// out      cf32 [row][n]  of constant amplitude; 0 between packets
///
/// Packet i begins at i (samples + gap); its payload is the bits i payload_bits … of a PN sequence, differentially
/// encoded per packet if configured. Without a gap, the neighbours' bits turn the phase at a packet's ends. Next to a
/// gap, and where a stream of bits begins or ends, the first two and the last two bits are repeated. An output depends,
/// to the bit, only on its position and on the bits there. Keeps nothing between calls.
namespace iqd::soqpsk_modulator {

struct Config {
  double amplitude = 1;
  PacketFormat format;
  std::int64_t gap = 0;
  PnName payload = PnName::pn23;
  bool differential = false;

  void fields(FieldVisitor& visitor);
};

/// Index k, if it lies in begin … end - 1; otherwise that of the two outermost bits which is on the same axis.
IQD_HOST_DEVICE constexpr std::int64_t within(std::int64_t k, std::int64_t begin, std::int64_t end) noexcept {
  if (k < begin) k = begin + ((k - begin) & 1);
  if (k >= end) k = end - 2 + ((k - end) & 1);
  return k < begin ? begin : k;
}

/// A table look-up of the packets' bits; for host and device.
struct PacketBitsView {
  const std::uint8_t* pilot;      // [pilot_bits]
  const std::uint32_t* parities;  // parities of the first n bits of the sequence, n = 0 … period - 1, LSB first
  std::uint32_t period;
  std::int32_t pilot_bits;
  std::int32_t payload_bits;
  bool apart;  // there is a gap between packets
  bool differential;

  /// Position in the sequence where the payload of a packet begins.
  IQD_HOST_DEVICE std::uint32_t base_of(std::int64_t packet) const noexcept {
    return static_cast<std::uint32_t>(packet * payload_bits % period);
  }
  /// Bit k of the packet with this base, or of its neighbours.
  IQD_HOST_DEVICE std::uint32_t bit(std::uint32_t base, std::int32_t k) const noexcept {
    const std::int32_t bits = pilot_bits + payload_bits;
    const auto step = static_cast<std::uint32_t>(payload_bits);
    if (apart) {
      k = static_cast<std::int32_t>(within(k, 0, bits));
    } else if (k < 0) {
      k += bits;
      base += period - step % period;
    } else if (k >= bits) {
      k -= bits;
      base += step;
    }
    return k < pilot_bits ? pilot[k] : payload_bit(base, static_cast<std::uint32_t>(k - pilot_bits));
  }

 private:
  IQD_HOST_DEVICE std::uint32_t parity(std::uint32_t bits) const noexcept {
    bits %= period;
    return parities[bits / 32] >> (bits % 32) & 1;
  }
  /// The differential code is the parity of all bits so far plus the number of even positions among them.
  IQD_HOST_DEVICE std::uint32_t payload_bit(std::uint32_t base, std::uint32_t j) const noexcept {
    if (!differential) return parity(base + j) ^ parity(base + j + 1);
    return parity(base) ^ parity(base + j + 1) ^ ((j / 2 + 1) & 1);
  }
};

/// Packets and their positions in time.
class Packets {
 public:
  explicit Packets(const Config& config);

  PacketBitsView bits() const noexcept {
    return {.pilot = pilot_.data(),
            .parities = parities_.data(),
            .period = period_,
            .pilot_bits = static_cast<std::int32_t>(pilot_.size()),
            .payload_bits = static_cast<std::int32_t>(payload_bits_),
            .apart = distance_ > samples_,
            .differential = differential_};
  }
  std::span<const std::uint8_t> pilot() const noexcept { return pilot_; }
  std::span<const std::uint32_t> parities() const noexcept { return parities_; }
  /// Samples of a packet, and the distance of two packets.
  std::int64_t samples() const noexcept { return samples_; }
  std::int64_t distance() const noexcept { return distance_; }

 private:
  std::vector<std::uint8_t> pilot_;
  std::vector<std::uint32_t> parities_;
  std::int64_t samples_;
  std::int64_t distance_;
  std::int64_t payload_bits_;
  std::uint32_t period_;
  bool differential_;
};

/// `first` is the absolute number of bit bits(r, 0), y_first the position of y(r, 0).
void modulate_bits(const soqpsk::Modulator& modulator, View<const std::uint8_t, 2> bits, std::int64_t first,
                   View<cf32, 2> y, std::int64_t y_first) noexcept;
void make_packets(const soqpsk::Modulator& modulator, const Packets& packets, View<cf32, 2> y,
                  std::int64_t y_first) noexcept;

/// The CUDA half.
struct CudaHalf {
  std::unique_ptr<StageRun> (*modulate_bits)(const soqpsk::Modulator& modulator);
  std::unique_ptr<StageRun> (*make_packets)(const soqpsk::Modulator& modulator, const Packets& packets);
};

}  // namespace iqd::soqpsk_modulator
