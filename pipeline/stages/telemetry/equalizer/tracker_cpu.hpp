// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "pipeline/stages/telemetry/equalizer/channel_fit_cpu.hpp"
#include "pipeline/stages/telemetry/equalizer/decisions_cpu.hpp"
#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"
#include "pipeline/stages/telemetry/equalizer/scaled_packet_cpu.hpp"
#include "pipeline/stages/telemetry/equalizer/window_filter_cpu.hpp"
#include "signal/filters/scratch.hpp"

/// `track: on` on the CPU.
namespace iqd::equalizer {

/// Follows a packet's channel from segment to segment, then equalizes each segment with a channel of its own. In a
/// lane's scratch.
class Tracker {
 public:
  Tracker(const Setup& setup, Scratch& scratch);

  /// `filter` is of segments. Writes the symbols of all kinds, [kind][bit]. False, and nothing is written, if the
  /// decisions have no amplitude, or something is not finite.
  bool run(const WindowFilter& filter, const ScaledPacket& packet, cf32* symbols) noexcept;

 private:
  void follow(const ScaledPacket& packet) noexcept;
  void learn(std::int64_t begin, std::int64_t end) noexcept;
  void sum_spans() noexcept;
  void transform(const cf32* window, std::int64_t begin, std::int64_t end) noexcept;
  void equalize(Setup::Output output, float noise, std::int64_t bits, cf32* symbols) noexcept;

  const Setup& s_;
  const WindowFilter* filter_ = nullptr;
  cf32* samples_;   // of a segment
  cf32* spectrum_;  // of these,
  cf32* channel_;   // of the channel,
  cf32* response_;  // of the equalizer
  WindowFilter::Buffers buffers_;
  cf32* taps_;                // the present channel
  cf32* draft_;               // [bit] symbols of the first pass
  cf32* turned_;              // the window without its phase
  std::span<LagSums> steps_;  // of each segment of the first pass: the bits decided for sure when it ends
  std::span<LagSums> spans_;  // of each segment of the second
  Decisions decisions_;
  ChannelFit fit_;
};

}  // namespace iqd::equalizer
