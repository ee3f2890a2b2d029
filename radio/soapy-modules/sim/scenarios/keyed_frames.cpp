// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/keyed_frames.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "radio/soapy-modules/sim/scenarios/reception.hpp"

namespace iqd::sim {

KeyedFrames::KeyedFrames(const Arguments& args, FrameFormat format, double chip_rate, double interval_s,
                         Payload payload)
    : format_(std::move(format)),
      payload_(std::move(payload)),
      chip_rate_(positive(args, "chip_rate", chip_rate, 1e9)),
      interval_s_(positive(args, "interval", interval_s, 1e6)) {
  const double longest = static_cast<double>(format_.chips(format_.most_bytes())) / chip_rate_;
  if (longest < interval_s_) return;
  std::ostringstream wanted;
  wanted << "a frame takes up to " << longest << " s";
  refuse("interval", args.text("interval", std::to_string(interval_s)), wanted.str());
}

std::int64_t KeyedFrames::frame_at(double time_s) const noexcept {
  return std::max<std::int64_t>(-1, static_cast<std::int64_t>(std::floor(time_s / interval_s_)));
}

KeyedFrames::Sent KeyedFrames::sent(std::int64_t frame, double time_s) {
  take(frame);
  const double all = static_cast<double>(chips_.size());
  const double chips = std::clamp((time_s - static_cast<double>(frame) * interval_s_) * chip_rate_, 0.0, all);
  const auto whole = std::min(static_cast<std::size_t>(chips), chips_.size() - 1);
  const double part = chips - static_cast<double>(whole);
  return {chips, ones_before_[whole] + part * chips_[whole]};
}

void KeyedFrames::take(std::int64_t frame) {
  if (frame == frame_) return;
  frame_ = frame;
  chips_ = chips_of(format_, payload_(frame));
  ones_before_.assign(1, 0);
  for (const std::uint8_t chip : chips_) ones_before_.push_back(ones_before_.back() + chip);
}

}  // namespace iqd::sim
