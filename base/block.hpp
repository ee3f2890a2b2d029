// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace iqd {

/// Counts samples of one channel since the start of the stream, including lost ones.
using SampleIndex = std::int64_t;

enum class TimeSource : std::uint8_t { host, radio };

/// A piece of the sample stream and its position. Its window reaches from `first - past` to
/// `first + length + future`; only `length` samples of it are new. In the ring, `first` is at `place()`.
struct SampleBlock {
  std::uint64_t seq = 0;       // counts the blocks given to a lane
  SampleIndex first = 0;       // the first new sample
  SampleIndex skipped = 0;     // missing samples before it, which have no place in the ring
  std::int64_t length = 0;     // new samples
  std::int64_t past = 0;       // valid samples before them; none at the start and after a gap
  std::int64_t future = 0;     // valid samples after them
  std::int64_t gap = 0;        // samples lost just before `first`
  bool fresh = false;          // the stream begins here, or restarts after a gap
  bool warms = false;          // only lets stages settle: it has no results, and counts nowhere
  std::int64_t dropped = 0;    // samples lost since the start of the stream, for any reason
  SampleIndex tuned = -1;      // the radio was retuned from this sample on; -1: no retune
  double retuned_hz = 0;       // offset of the radio's frequency from the plan's, at the end of the block
  double was_retuned_hz = 0;   // the same before `tuned`
  bool calibrated = true;      // the source's calibration, if any, is valid at the end
  bool was_calibrated = true;  // the same before `tuned`
  std::int64_t time_ns = 0;    // of `first`, since the Unix epoch
  TimeSource time = TimeSource::host;
  std::int64_t received_ns = 0;  // steady clock, when the last sample that the block needs arrived

  SampleIndex end() const noexcept { return first + length; }
  SampleIndex place() const noexcept { return first - skipped; }
};

}  // namespace iqd
