// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

#include "base/driver.hpp"
#include "pipeline/intake/intake_options.hpp"
#include "pipeline/meters/counters.hpp"

namespace iqd {

/// Detects when samples stop coming: changes the state, logs it, and says for how long. All times are of the host's
/// steady clock, which the caller reads. One thread, except for the functions that are marked.
class SilenceWatch {
 public:
  /// A source that can be read late is never overdue, unless a peer feeds it.
  SilenceWatch(std::string name, const StreamInfo& source, Counters& counters)
      : name_(std::move(name)),
        can_stall_(!source.can_wait || source.from_peer),
        reconnects_(source.reconnects),
        sample_ns_(source.rate_hz > 0 ? static_cast<std::int64_t>(1e9 / source.rate_hz) : 0),
        counters_(counters) {}

  /// Samples are overdue `stalled_ns` after they could have come. By default that is two blocks, at least 50 ms and at
  /// most a second; more if the driver delivers more at once, or for two samples. A driver that delivers many at once
  /// may be ahead by up to half of `silent_ns`. The first samples after opening have more time.
  void set_patience(const IntakeOptions& options, std::int64_t block_ns) noexcept;
  void opened(std::int64_t now) noexcept;
  /// Samples with this duration have arrived. After many at once, the next ones may come that much later.
  void arrived(std::int64_t now, std::int64_t lasting_ns);
  /// A piece has ended: the next one may come at any time.
  void expect_nothing() noexcept { due_ns_.store(kNever, std::memory_order_relaxed); }
  /// iqd itself did not receive until now.
  void excuse(std::int64_t now) noexcept;
  /// No samples came, although the next ones are due. A source that is overdue has stalled.
  void look(std::int64_t now);
  /// Any thread, while a call into the driver does not return: the same.
  void look_during_call(std::int64_t now) {
    if (is_overdue(now)) stall(now);
  }

  /// Any thread.
  bool is_overdue(std::int64_t now) const noexcept {
    return can_stall_ && now > due_ns_.load(std::memory_order_relaxed);
  }
  /// Any thread: since when it is silent, in words, if it is overdue; else empty.
  std::string trouble(std::int64_t now) const;
  /// Any thread: how long no samples have been taken although more are due, also if the pipeline is at fault. 0 up to two
  /// seconds, and until a source that can stall is overdue.
  std::int64_t idle_ns(std::int64_t now) const noexcept;
  std::int64_t last_data_ns() const noexcept { return last_data_ns_.load(std::memory_order_relaxed); }
  /// How long ago samples came last, or the source was opened. Any thread.
  std::int64_t silent_ns(std::int64_t now) const noexcept;

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::int64_t patience_ns() const noexcept;
  void stall(std::int64_t now);

  std::string name_;  // for the log
  bool can_stall_;
  bool reconnects_;
  std::int64_t sample_ns_;
  Counters& counters_;
  std::int64_t blocks_ns_ = 0;   // two blocks, or as configured
  std::int64_t longest_ns_ = 0;  // the most that patience may be
  std::int64_t most_ahead_ns_ = 0;
  std::int64_t first_ns_ = 0;      // patience after opening
  std::int64_t tell_ns_ = kNever;  // silence that is logged
  std::atomic<bool> told_{false};
  std::int64_t ahead_ns_ = 0;  // when samples last came: how far their duration exceeded the elapsed time
  std::atomic<std::int64_t> last_data_ns_{0};
  std::atomic<std::int64_t> opened_ns_{0};
  std::atomic<std::int64_t> due_ns_{kNever};
};

}  // namespace iqd
