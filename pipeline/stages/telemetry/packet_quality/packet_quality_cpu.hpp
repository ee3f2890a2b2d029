// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "pipeline/stages/telemetry/packet_quality/packet_quality.hpp"
#include "signal/filters/fft_plan.hpp"

/// The quality of packets on the CPU, one at a time. Nothing is kept between packets.
namespace iqd::packet_quality {

/// Null: not there.
struct Packet {
  const float* soft;    // [kind][bit]
  const cf32* channel;  // [tap]
  const float* noise;
  float* bep;       // [kind]
  float* segments;  // [kind][kSegments]
  float* dqm;
};

class Quality {
 public:
  explicit Quality(Setup setup);
  static std::size_t scratch_bytes(const Setup& setup) noexcept;
  void run(const Packet& packet, std::byte* scratch) const noexcept;
  const Setup& setup() const noexcept { return setup_; }

 private:
  Levels own_levels(const Packet& packet, std::byte* scratch) const noexcept;

  Setup setup_;
  FftPlan of_channel_;
  FftPlan of_reference_;
};

/// Writes the frames that the block ends, and the rest of the bits to `rest` and behind it; returns the frames' number.
std::int32_t make_frames(const FrameJob& job, std::uint8_t* frames, Rest& rest, std::uint8_t* rest_bits) noexcept;

}  // namespace iqd::packet_quality
