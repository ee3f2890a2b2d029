// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/playhead.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/integer.hpp"

namespace iqd::radio {
namespace {

/// Behind gaps that add up to more, samples still have numbers.
constexpr SampleIndex kMostAt = std::numeric_limits<SampleIndex>::max() / 2;

SampleIndex after_gap(SampleIndex at, std::int64_t lost) {
  return std::min(saturated_add(at, lost), kMostAt);
}

long double duration_ns(const Recording& r) {
  if (r.segments.empty()) return 0;
  const Segment& last = r.segments.back();
  const auto before_last =
      static_cast<long double>(last.time_ns) - static_cast<long double>(r.segments.front().time_ns);
  return before_last + static_cast<long double>(last.samples) * 1e9L / static_cast<long double>(r.rate_hz);
}

}  // namespace

Playhead::Playhead(const Recording& recording, bool repeat)
    : recording_(recording), repeat_(repeat), round_ns_(duration_ns(recording)) {}

SampleIndex Playhead::seek(SampleIndex at) noexcept {
  segment_ = 0;
  lost_ = rounds_ = 0;
  for (SampleIndex first = 0;;) {
    position_ = std::min(at - first, here().samples);
    at_ = first + position_;
    if (position_ < here().samples || segment_ + 1 == recording_.segments.size()) return at_;
    first = after_gap(at_, recording_.segments[++segment_].lost);
    if (at > first) continue;
    position_ = 0;
    lost_ = first - std::exchange(at_, first);
    return first - lost_;
  }
}

double Playhead::frequency_hz() const noexcept {
  for (std::size_t s = segment_ + (position_ > 0); s-- > 0;)
    if (recording_.segments[s].frequency_hz) return *recording_.segments[s].frequency_hz;
  return recording_.info().frequency_hz;
}

bool Playhead::find_next() noexcept {
  const auto& segments = recording_.segments;
  for (bool wrapped = false; position_ >= here().samples;) {
    position_ = 0;
    if (segment_ + 1 < segments.size()) {
      const std::int64_t lost = segments[++segment_].lost;
      lost_ = saturated_add(lost_, lost);
      at_ = after_gap(at_, lost);
      continue;
    }
    if (!repeat_ || wrapped) {
      position_ = here().samples;
      return false;
    }
    wrapped = true;
    segment_ = 0;
    ++rounds_;
  }
  return true;
}

std::int64_t Playhead::byte() const noexcept {
  return here().byte + position_ * recording_.step_bytes();
}

std::int64_t Playhead::time_of(std::int64_t position) const noexcept {
  const auto in_segment = static_cast<long double>(position) * 1e9L / static_cast<long double>(recording_.rate_hz);
  const std::int64_t start = here().time_ns;
  const auto time = static_cast<long double>(start) + in_segment + static_cast<long double>(rounds_) * round_ns_;
  return std::fabs(time) < 9e18L ? std::llround(time) : start;
}

}  // namespace iqd::radio
