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

/// Makes SOQPSK-TG, of one of two things:
///
/// bits     u8   [row][k]  each counts by its lowest bit; out [row][s k + j], s samples a bit
/// samples  cf32 [row][n]  only their positions count: out [row][n] holds packets, the first from sample 0 on
///
/// out      cf32 [row][n]  of constant amplitude; 0 between packets
///
/// Packet i stands at i (samples + gap); its payload are the bits i payload_bits … of a PN sequence, differentially
/// encoded by itself where asked. Without a gap its neighbours' bits turn the phase at its ends; beside a gap, and
/// where a stream of bits begins or ends, the first two bits and the last two go on. An output is a function of its
/// position and of the bits there, to the bit. Keeps nothing between calls.
namespace iqd::soqpsk_modulator {

struct Config {
  double amplitude = 1;
  PacketFormat format;
  std::int64_t gap = 0;
  PnName payload = PnName::pn23;
  bool differential = false;

  void fields(FieldVisitor& visitor);
};

/// The bit k of some, or where k lies beyond them, the one of the two outermost that lies on its axis.
IQD_HOST_DEVICE constexpr std::int64_t within(std::int64_t k, std::int64_t begin, std::int64_t end) noexcept {
  if (k < begin) k = begin + ((k - begin) & 1);
  if (k >= end) k = end - 2 + ((k - end) & 1);
  return k < begin ? begin : k;
}

/// The bits of packets, looked up; for host and device.
struct PacketBitsView {
  const std::uint8_t* pilot;      // [pilot_bits]
  const std::uint32_t* parities;  // of the first n bits of the sequence, n = 0 … period - 1, the first the lowest
  std::uint32_t period;
  std::int32_t pilot_bits;
  std::int32_t payload_bits;
  bool apart;  // there is a gap between packets
  bool differential;

  /// Where in the sequence the payload of a packet begins.
  IQD_HOST_DEVICE std::uint32_t base_of(std::int64_t packet) const noexcept {
    return static_cast<std::uint32_t>(packet * payload_bits % period);
  }
  /// Bit k of the packet with this base, or of the one before or behind it.
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
  /// A differential code is the parity of all bits so far, and of how many places of them are even.
  IQD_HOST_DEVICE std::uint32_t payload_bit(std::uint32_t base, std::uint32_t j) const noexcept {
    if (!differential) return parity(base + j) ^ parity(base + j + 1);
    return parity(base) ^ parity(base + j + 1) ^ ((j / 2 + 1) & 1);
  }
};

/// Packets, and how they lie in time.
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
  /// Samples of a packet, and from one to the next.
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

/// `first` is the absolute number of the bit bits(r, 0), y_first the position of y(r, 0).
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
