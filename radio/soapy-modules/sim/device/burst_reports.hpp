// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Constants.h>

#include <cstdint>
#include <deque>
#include <optional>

#include "radio/soapy-modules/sim/device/sample_clock.hpp"

namespace iqd::sim {

/// An event of a transmission: a Soapy error code or 0, flags, and a time stamp.
struct Status {
  int code = 0;
  int flags = 0;
  std::int64_t time_ns = 0;
};

/// Events of transmissions until the program reads them: errors, and the end of the last burst. One thread at a time.
class BurstReports {
 public:
  /// Drops the event if many wait already.
  void add(const Status& status) {
    if (waiting_.size() < kMost) waiting_.push_back(status);
  }
  void burst_ends_at(std::int64_t position) noexcept { burst_end_ = position; }
  void clear() {
    waiting_.clear();
    burst_end_ = kNone;
  }
  /// Errors come first. The end of a burst is reported once it is sent: at its position of the clock if paced, otherwise
  /// at once.
  std::optional<Status> take(const SampleClock& clock, bool paced) {
    if (!waiting_.empty()) {
      const Status status = waiting_.front();
      waiting_.pop_front();
      return status;
    }
    if (burst_end_ < 0 || (paced && clock.position() < burst_end_)) return {};
    const Status status{0, SOAPY_SDR_END_BURST | SOAPY_SDR_HAS_TIME, clock.time_ns(burst_end_)};
    burst_end_ = kNone;
    return status;
  }

 private:
  static constexpr std::size_t kMost = 64;
  static constexpr std::int64_t kNone = -1;
  std::deque<Status> waiting_;
  std::int64_t burst_end_ = kNone;  // position
};

}  // namespace iqd::sim
