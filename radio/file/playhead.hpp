// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "radio/file/recording.hpp"

namespace iqd::radio {

/// A position in a recording that is played once or without end: where its next sample is, what is missing before it,
/// and when it was taken. One thread.
class Playhead {
 public:
  /// `recording` must outlive it, and have a segment.
  Playhead(const Recording& recording, bool repeat);

  /// Plays from this sample on, counted as in `at`. If it is missing, or the first after missing ones, these come first,
  /// so that it is known that they are missing. Returns where it plays from.
  SampleIndex seek(SampleIndex at) noexcept;
  /// Counts the next sample from the first one, with those that are missing.
  SampleIndex at() const noexcept { return at_; }
  /// The frequency before the next sample.
  double frequency_hz() const noexcept;
  /// Advances to the segment of the next sample. Returns false if there is none.
  bool find_next() noexcept;
  std::size_t segment() const noexcept { return segment_; }
  /// Samples from here to the end of the segment.
  std::int64_t left() const noexcept { return here().samples - position_; }
  /// Where the next sample is in the data file.
  std::int64_t byte() const noexcept;
  /// The time of the next sample; the next round continues where the one before ends. Meaningless if the recording has
  /// no times.
  std::int64_t time_ns() const noexcept { return time_of(position_); }
  /// That of the segment's first sample, and how many samples before the next one that is.
  std::int64_t segment_ns() const noexcept { return time_of(0); }
  std::int64_t in_segment() const noexcept { return position_; }
  void advance(std::int64_t samples) noexcept { position_ += samples, at_ += samples; }
  /// Samples missing since the last call.
  std::int64_t take_lost() noexcept { return std::exchange(lost_, 0); }

 private:
  const Segment& here() const noexcept { return recording_.segments[segment_]; }
  std::int64_t time_of(std::int64_t position) const noexcept;

  const Recording& recording_;
  bool repeat_;
  long double round_ns_;  // how long a round takes, by the recording's clock
  std::size_t segment_ = 0;
  std::int64_t position_ = 0;  // within the segment
  std::int64_t lost_ = 0;
  SampleIndex at_ = 0;
  std::int64_t rounds_ = 0;  // completed
};

}  // namespace iqd::radio
