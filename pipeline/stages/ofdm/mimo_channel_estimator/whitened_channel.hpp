// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/stages/ofdm/mimo_channel_estimator/held_channel.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/limits.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/soft_symbols.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/tracker.hpp"
#include "signal/estimates/covariance.hpp"

namespace iqd::mimo_channel_estimator {

/// Makes the noise of one frame white, and estimates the channel behind that: README.md, "Interference". Has memory for
/// one frame.
class WhitenedChannel {
 public:
  WhitenedChannel(const Design& design, Scratch& scratch);

  void run(const cf32* frame, const Decoded& data, const Estimates& out) noexcept;

 private:
  int stretches() const noexcept { return stretches_of(static_cast<int>(design_.odd.size())); }
  int end_of(int stretch) const noexcept { return stretch_end(stretch, static_cast<int>(design_.odd.size())); }
  int functions() const noexcept { return design_.track == Track::frame ? design_.joint.functions : 1; }
  int most_group() const noexcept { return std::min(e_.group, e_.carriers); }
  bool whitens_groups() const noexcept { return design_.whiten == Whiten::groups && antennas_ > 0; }
  void find_antennas(const cf32* frame) noexcept;
  void judge_stretches(const cf32* frame) noexcept;
  void whiten_band(const cf32* frame) noexcept;
  void whiten_groups() noexcept;
  const cf32* channel_at(int c, int times) noexcept;
  Covariance residuals_of(int group, double& count) noexcept;
  void write_group(int group, const Estimates& out) noexcept;
  void write(const Estimates& out) noexcept;
  void write_covariance(cf32* to) const noexcept;

  const cf32* white(int symbol, int c) const noexcept { return white_ + symbol * std::int64_t{e_.row()} + c * e_.rx; }
  const float* phases() const noexcept { return tracker_ ? tracker_->phases() : held_->phases(); }
  FrameChannel channel() const noexcept { return tracker_ ? tracker_->channel() : held_->channel(); }

  const Design& design_;
  const Extents e_;
  std::optional<HeldChannel> held_;
  std::optional<Tracker> tracker_;
  std::optional<SoftSymbols> soft_;
  const SoftSymbols* known_ = nullptr;  // of this frame
  bool alive_[kMostAntennas] = {};
  double least_[kMostAntennas] = {};  // noise
  int antennas_ = 0;                  // that are not silent
  double level_ = 0;                  // mean noise
  double interference_ = 1;           // what antennas have in common, see common_power
  Covariance band_;                   // of the noise
  Covariance root_;                   // L of band_ = L L^H
  cf32* white_;                       // [symbol][carrier][rx], with those of the tail
  double* power_;                     // [stretch][rx]
  double* strength_;                  // [stretch]: against the usual
  double* sorted_;                    // [stretch or group]
  float* weights_;                    // [carrier]
  bool weighted_ = false;             // not all weights are 1
  Covariance* covariance_;            // [group], of what is left in units of band_
  Covariance* filter_;                // [group]
  cf32* y_;                           // [carrier of a group][rx]: white
  cf32* parts_;                       // [carrier of a group][function][rx][tx]: white
  cf32* moved_;                       // [symbol 1 …][rx][tx]
  double* counts_;                    // [group]: places that covariance_ is from
  cf32* back_;                        // [symbol behind]: takes the phase away
};

}  // namespace iqd::mimo_channel_estimator
