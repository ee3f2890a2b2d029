// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace iqd {

/// Counts samples of one channel since the stream began; samples that were lost count too.
using SampleIndex = std::int64_t;

enum class TimeSource : std::uint8_t { host, radio };

/// A piece of the sample stream, and where it stands. Its window reaches from `first - past` to
/// `first + length + future`; only `length` samples of it are new. In the ring, `first` lies at `place()`.
struct SampleBlock {
  std::uint64_t seq = 0;       // counts the blocks that were given to a lane
  SampleIndex first = 0;       // the first new sample
  SampleIndex skipped = 0;     // samples before it that have no place in the ring, since they are missing
  std::int64_t length = 0;     // new samples
  std::int64_t past = 0;       // valid samples before them: none at the start and after a gap
  std::int64_t future = 0;     // valid samples behind them
  std::int64_t gap = 0;        // samples lost just before `first`
  bool fresh = false;          // the stream begins here, or anew after a gap
  std::int64_t dropped = 0;    // samples lost since the stream began, for whatever reason
  SampleIndex tuned = -1;      // from this one of its samples on the radio is set otherwise; -1: it is as before
  double retuned_hz = 0;       // how far it is tuned from where the plan has it, at the end
  bool calibrated = true;      // the source's calibration holds for how it is set, at the end; where there is one
  bool was_calibrated = true;  // the same before `tuned`
  std::int64_t time_ns = 0;    // of `first`, since the Unix epoch
  TimeSource time = TimeSource::host;
  std::int64_t received_ns = 0;  // steady clock, when the last sample that the block needs had arrived

  SampleIndex end() const noexcept { return first + length; }
  SampleIndex place() const noexcept { return first - skipped; }
};

}  // namespace iqd
