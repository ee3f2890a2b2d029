// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"
#include "signal/filters/scratch.hpp"

/// A packet's units on the CPU.
namespace iqd::equalizer {

struct Packet {
  const cf32* window;   // [window]
  const cf32* channel;  // [38]
  float noise;
  cf32* symbols;  // [kind][bit]
  cf32* taps;     // null: not wanted
};

/// A power of two that brings the channel's largest part to 1 … 2; 0 if there is no channel; NaN if something is not
/// finite.
float unit_of(const Packet& packet, std::int64_t window) noexcept;

/// A packet's inputs times its unit, in a lane's scratch.
class ScaledPacket {
 public:
  ScaledPacket(const Setup& setup, Scratch& scratch);
  /// `unit`: from unit_of, above 0.
  void load(const Packet& packet, float unit) noexcept;

  const cf32* samples() const noexcept { return samples_; }  // [N]: the window, then zeros
  const cf32* channel() const noexcept { return channel_; }  // [38]
  cf32* samples() noexcept { return samples_; }
  cf32* channel() noexcept { return channel_; }
  float noise() const noexcept { return noise_; }
  /// Writes the taps of a filter for this packet as they are for the inputs.
  void unscale_taps(const cf32* taps, cf32* to) const noexcept;

 private:
  std::int64_t window_;
  std::int64_t size_;
  cf32* samples_;
  cf32* channel_;
  float unit_ = 1;
  float noise_ = 0;
};

}  // namespace iqd::equalizer
