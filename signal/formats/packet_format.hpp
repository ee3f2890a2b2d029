// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "signal/formats/bit_pattern.hpp"

namespace iqd {

/// Structure of a telemetry packet: a short preamble repeated several times, a sync word, then data. The defaults are
/// iNET's.
struct PacketFormat {
  /// Samples that a packet's window includes on each side of the packet.
  static constexpr std::int64_t kGuard = 256;

  std::string preamble = "CD98";  // as `read_bits` takes it, one period
  std::int64_t repeats = 8;
  std::string sync_word = "034776C7272895B0";
  std::int64_t payload_bits = 6144;
  std::int64_t samples_per_bit = 2;

  std::int64_t period_bits() const noexcept { return bit_count(preamble); }
  std::int64_t preamble_bits() const noexcept { return repeats * period_bits(); }
  std::int64_t sync_bits() const noexcept { return bit_count(sync_word); }
  /// The known bits: preamble and sync word.
  std::int64_t pilot_bits() const noexcept { return preamble_bits() + sync_bits(); }
  std::int64_t bits() const noexcept { return pilot_bits() + payload_bits; }
  /// In samples:
  std::int64_t period() const noexcept { return samples_per_bit * period_bits(); }
  std::int64_t samples() const noexcept { return samples_per_bit * bits(); }
  std::int64_t window() const noexcept { return samples() + 2 * kGuard; }

  /// The pilot bits, 0 or 1.
  std::vector<std::uint8_t> pilot() const;
  /// What is wrong with the format, and with which key; empty if nothing is.
  struct Fault {
    std::string key;
    std::string what;
  };
  std::optional<Fault> fault() const;

  friend bool operator==(const PacketFormat&, const PacketFormat&) = default;
};

}  // namespace iqd
