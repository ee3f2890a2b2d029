// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stages/telemetry/equalizer/channel_fit_cpu.hpp"
#include "pipeline/stages/telemetry/equalizer/decisions_cpu.hpp"
#include "pipeline/stages/telemetry/equalizer/equalizer.hpp"
#include "signal/filters/scratch.hpp"

/// `track: refine` on the CPU.
namespace iqd::equalizer {

/// A second channel of a packet, from the decisions on its symbols. In a lane's scratch.
class Refinement {
 public:
  Refinement(const Setup& setup, Scratch& scratch);

  /// The symbols to decide on, [bit].
  cf32* draft() const noexcept { return draft_; }
  /// Takes the phase of the draft off the window and replaces the channel. Leaves both if the draft has no amplitude,
  /// or is not finite; the channel alone if that would not be finite.
  void run(cf32* window, cf32* channel) noexcept;

 private:
  const Setup& s_;
  cf32* draft_;
  Decisions decisions_;
  ChannelFit fit_;
};

}  // namespace iqd::equalizer
