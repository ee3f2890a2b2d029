// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "radio/soapy-modules/sim/scenarios/scenario.hpp"
#include "signal/formats/frame_format.hpp"

namespace iqd::sim {

/// Frames that begin every `interval` of the transmitter's time, with silence between them. The chips are given as the
/// integral over their levels, 0 or 1, so that each sample can be the mean over its duration.
class KeyedFrames {
 public:
  using Payload = std::function<std::vector<std::uint8_t>(std::int64_t frame)>;

  /// Reads `chip_rate` and `interval`; the parameters are their defaults. Refuses an interval that is shorter than a
  /// frame.
  KeyedFrames(const Arguments& arguments, FrameFormat format, double chip_rate, double interval_s, Payload payload);

  struct Sent {
    double chips;
    double ones;
  };
  /// How many chips of a frame were sent up to a time, and how many of them were ones, both with fractions.
  Sent sent(std::int64_t frame, double time_s);
  /// The frame at a time; -1 before the first.
  std::int64_t frame_at(double time_s) const noexcept;
  double chip_rate() const noexcept { return chip_rate_; }

 private:
  void take(std::int64_t frame);

  FrameFormat format_;
  Payload payload_;
  double chip_rate_;
  double interval_s_;
  std::int64_t frame_ = -1;  // the frame that the lists belong to
  std::vector<std::uint8_t> chips_;
  std::vector<std::int32_t> ones_before_;  // for chip k; one more at the end
};

}  // namespace iqd::sim
