// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"
#include "pipeline/stages/telemetry/loop.hpp"
#include "signal/filters/scratch.hpp"
#include "signal/formats/soqpsk.hpp"

/// What the detector would decide on a packet's symbols, on the CPU.
namespace iqd::equalizer {

/// Follows a packet's phase and decides its bits, piece by piece. In a lane's scratch.
class Decisions {
 public:
  Decisions(const Setup& setup, Scratch& scratch);

  /// Takes the amplitude from the pilot's symbols; the phase begins at 0.
  void begin(const cf32* symbols) noexcept;
  /// Decides bits k … k + n - 1, both numbers even, from the symbols of a packet.
  void follow(const cf32* symbols, std::int64_t k, std::int64_t n) noexcept;
  /// False if the amplitude is 0, or if a symbol so far was not finite.
  bool good() const noexcept;

  /// 0 or 1. `Modulator` may read those around the packet: before it the preamble continues, behind it are zeros.
  const std::uint8_t* bits() const noexcept { return padded_bits_ + soqpsk::Modulator::kPast; }
  /// exp(-j theta) of each pair of bits.
  const cf32* phasors() const noexcept { return phasors_; }
  /// Takes the phase off the samples of bits k … k + n - 1, both numbers even, in a window.
  void turn(cf32* window, std::int64_t k, std::int64_t n) const noexcept;
  /// The same around the packet, where the phase is held.
  void turn_guards(cf32* window) const noexcept;

 private:
  const Setup& s_;
  telemetry::Pilot pilot_;
  telemetry::Loop loops_[1];
  std::uint8_t* padded_bits_;  // those around the packet, too
  cf32* phasors_;
};

}  // namespace iqd::equalizer
