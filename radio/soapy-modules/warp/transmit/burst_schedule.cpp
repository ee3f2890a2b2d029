// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/transmit/burst_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/clock.hpp"

namespace iqd::warp {

std::int64_t BurstSchedule::ns_of(std::int64_t samples) const noexcept {
  return std::llround(static_cast<double>(samples) * 1e9 / rate_hz_);
}

void BurstSchedule::clear() noexcept {
  stream_ns_.reset();
  begins_ns_.reset();
  window_ns_ = next_ns_ = 0;
}

bool BurstSchedule::continues(std::int64_t time_ns) const noexcept {
  return stream_ns_ && std::llabs(time_ns - *stream_ns_) <= ns_of(1) / 2;
}

BurstSchedule::Start BurstSchedule::next_start(std::uint32_t count) const noexcept {
  if (!stream_ns_) return {};
  const std::int64_t early_ns = every_ns_ > 0 ? window_ns_ - *stream_ns_ : 0;
  const double early = static_cast<double>(early_ns) * rate_hz_ / 1e9;
  const auto skipped = static_cast<std::uint32_t>(std::clamp(std::ceil(early), 0.0, static_cast<double>(count)));
  return {skipped, *stream_ns_ + ns_of(skipped)};
}

std::int64_t BurstSchedule::left_ns() const {
  return begins_ns_ ? *begins_ns_ - wall_ns() : next_ns_ - steady_ns();
}

void BurstSchedule::began(const Shot& shot) noexcept {
  next_ns_ = shot.steady_ns + every_ns_;
  window_ns_ = shot.wall_ns + every_ns_;
  begins_ns_ = shot.wall_ns;
}

}  // namespace iqd::warp
