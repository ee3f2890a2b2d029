// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "radio/soapy-modules/warp/node/trigger.hpp"

namespace iqd::warp {

/// When bursts begin. With time stamps, which are wall time in ns, a burst begins at the time of its first sample; from
/// an endless stream it takes a burst every `every_ns` and skips the samples in between. Without time stamps, a burst
/// begins as soon as it is ready and `every_ns` have passed. One thread.
class BurstSchedule {
 public:
  BurstSchedule(std::int64_t every_ns, double rate_hz) : every_ns_(every_ns), rate_hz_(rate_hz) {}

  /// How long these samples last.
  std::int64_t ns_of(std::int64_t samples) const noexcept;
  /// Forgets the stream and earlier bursts.
  void clear() noexcept;

  /// Whether a sample with this time follows the samples so far without a gap.
  bool continues(std::int64_t time_ns) const noexcept;
  /// The next sample has this time.
  void set_time(std::int64_t time_ns) noexcept { stream_ns_ = time_ns; }
  /// These samples were skipped or gathered.
  void pass(std::int64_t samples) noexcept {
    if (stream_ns_) *stream_ns_ += ns_of(samples);
  }
  /// The next sample has no time.
  void end_stream() noexcept { stream_ns_.reset(); }

  /// Where a burst begins among the next samples.
  struct Start {
    std::uint32_t skipped = 0;            // samples before it
    std::optional<std::int64_t> time_ns;  // of its first sample, if samples have times
  };
  /// Finds the next burst's start within `count` samples; all are skipped if it is after them.
  Start next_start(std::uint32_t count) const noexcept;
  /// The burst being gathered begins then, or as soon as possible.
  void begin_at(std::optional<std::int64_t> time_ns) noexcept { begins_ns_ = time_ns; }
  /// When it must begin.
  std::optional<std::int64_t> begins_ns() const noexcept { return begins_ns_; }
  /// How long until it must begin, or may; negative if that was in the past.
  std::int64_t left_ns() const;
  /// It has begun.
  void began(const Shot& shot) noexcept;

 private:
  std::int64_t every_ns_;
  double rate_hz_;
  std::optional<std::int64_t> stream_ns_;  // time of the next sample, if samples have times
  std::optional<std::int64_t> begins_ns_;  // start of the burst
  std::int64_t window_ns_ = 0;             // earliest start of the next burst, with times
  std::int64_t next_ns_ = 0;               // the same without times (steady)
};

}  // namespace iqd::warp
