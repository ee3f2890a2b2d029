// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/driver.hpp"
#include "base/log.hpp"
#include "pipeline/intake/arrival_watch.hpp"
#include "pipeline/intake/sample_time.hpp"
#include "pipeline/meters/counters.hpp"

namespace iqd {

/// The time of each sample, and how many samples are missing before those that arrive. Checks the driver's time stamps
/// and counts against the host's steady clock, which the caller reads. One thread.
class StreamClock {
 public:
  StreamClock(std::string name, const StreamInfo& info, Counters& counters);
  /// No gap leads beyond this position.
  void limit_gaps(SampleIndex most_position) noexcept { most_position_ = most_position; }

  /// Corrects impossible values in the result of a call for up to `most` samples. Returns why the driver can no longer
  /// be trusted, or nothing.
  std::string verify(Received& received, std::int64_t most);
  /// The driver reported a loss. The next time stamp, or the host's clock, shows how large it is.
  void expect_loss() noexcept { uncertain_ = true; }
  /// Returns how many samples are missing between `position` and those received. If the
  /// clock goes back, or further ahead than the host's, it was set: that is counted, and nothing is missing. Drops the
  /// time of samples whose time stamp jitters.
  std::int64_t missing_before(Received& received, SampleIndex position, std::int64_t now_ns, std::int64_t last_data_ns);
  /// The received samples begin at `position`.
  void arrived(const Received& received, SampleIndex position, std::int64_t now_ns) noexcept;
  /// The next samples have a time of their own.
  void end_piece() noexcept;
  /// The source was opened again; how long it was gone is not known yet.
  void reopened(TimeSource time) noexcept;

  std::int64_t time_of(SampleIndex sample) const noexcept;
  TimeSource source() const noexcept { return info_.time; }
  const SampleTime& durations() const noexcept { return durations_; }
  /// The first sample, at `position` or later, that was taken after `time_ns`. Without a time, the one after all
  /// samples that may have been taken during the last `idle_ns`.
  SampleIndex first_after(std::optional<std::int64_t> time_ns, SampleIndex position,
                          std::int64_t idle_ns) const noexcept;

 private:
  std::int64_t missing_by_stamp(Received& received, SampleIndex position, std::int64_t now_ns,
                                std::int64_t last_data_ns);
  std::int64_t missing_by_host(const Received& received, std::int64_t idle_ns) noexcept;
  bool was_set(const Received& received, std::int64_t ahead_ns, std::int64_t now_ns,
               std::int64_t last_data_ns) const noexcept;
  bool is_jitter(std::int64_t ahead_ns, SampleIndex position) noexcept;
  void note_jump(std::int64_t by_ns);
  void forget_arrivals() noexcept;

  std::string name_;
  StreamInfo info_;
  SampleTime durations_;
  SampleIndex most_position_ = kMostPosition;
  Counters& counters_;
  ArrivalWatch arrivals_;
  bool timed_ = false;
  SampleIndex time_index_ = 0;  // the sample that…
  std::int64_t time_ns_ = 0;    // …has this time
  std::int64_t jitter_ns_ = 0;  // of time stamps that go back and forth
  int in_step_ = 0;             // consecutive time stamps that agree with the count of samples
  bool uncertain_ = false;      // samples were lost; how many is not known yet
  log::RateLimit jump_lines_;
};

}  // namespace iqd
